/** The group `query`: `Query(connector).Get(dsl)`, handed on as it is; the port checks the query. */

import type { Json, JsonObject } from "@mesh/kernel";

import { addressedGroup, type ProcessGroup } from "./process-group.ts";
import type { Scope } from "./process-caller.ts";

/** Ways to run a query: all rows, any statement, one page, the first row. */
export const QUERY_METHODS = ["Get", "Run", "Paginate", "First"] as const;

/** One query of a script. */
export interface QueryRequest {
  /** Connector named in `Query(connector)`; absent means the workspace's own database. */
  readonly connector?: string;
  readonly method: (typeof QUERY_METHODS)[number];
  readonly dsl: JsonObject;
}

/** Runs queries of a scope. */
export interface QueryPort {
  run(scope: Scope, request: QueryRequest, signal: AbortSignal): Promise<Json>;
}

/** `query.<connector>.Get Run Paginate First`. */
export function queryGroup(port: QueryPort): ProcessGroup {
  return addressedGroup(({ id, method, args }, { scope, signal }) => {
    const found = QUERY_METHODS.find((it) => it === method) ?? args.refuse(`queries have no method ${method}`);
    const dsl = args.object(0, "query");
    return port.run(scope, { method: found, dsl, ...(id === "" ? {} : { connector: id }) }, signal);
  }, QUERY_METHODS);
}
