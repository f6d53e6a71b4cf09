/** `Query`: queries over data models. */

import { outside } from "./outside.ts";
import type { Value, Values } from "./value.ts";

/** One page of rows. */
export interface Page {
  data: Value[];
  total: number;
  page: number;
  pagesize: number;
  pagecnt: number;
  /** The next page, -1 on the last. */
  next: number;
  /** The page before, -1 on the first. */
  prev: number;
}

/** Queries of one connection. */
export interface Query {
  /**
   * All rows.
   * @example
   * const rows = new Query().Get({ select: ["id", "name"], from: "$user", wheres: [{ field: "age", op: ">", value: 17 }] });
   */
  Get(dsl: Values): Value[];
  /** Whatever the statement gives. */
  Run(dsl: Values): Value;
  /**
   * One page of rows.
   * @example
   * const { data, total } = new Query().Paginate({ select: ["id"], from: "$user", page: 1, pagesize: 20 });
   */
  Paginate(dsl: Values): Page;
  /** The first row, or null. */
  First(dsl: Values): Value;
}

/** See {@link Query}. */
export interface QueryConstructor {
  new (connector?: string): Query;
  (connector?: string): Query;
}

/**
 * Queries over the data models of the workspace.
 *
 * @example
 * const oldest = new Query().First({ select: ["name"], from: "$user", orders: [{ field: "age", sort: "desc" }] });
 */
export const Query: QueryConstructor = outside("Query");
