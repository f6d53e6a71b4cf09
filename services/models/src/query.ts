/** A checked query: columns and relations instead of names, encoded values instead of JSON. */

import type { Trashed } from "./access.ts";
import type { Column, ModelDefinition, Relation } from "./model.ts";
import type { Encoded } from "./value-codec.ts";

/** The way to the model that has a column, when it is not the queried one. */
export interface Related {
  readonly relation: Relation;
  readonly links: readonly LinkQuery[];
}

/** How a column is compared. */
export type Comparison =
  | { readonly kind: "compare"; readonly op: "=" | "<>" | ">" | "<" | ">=" | "<="; readonly value: Encoded }
  | { readonly kind: "pattern"; readonly pattern: string; readonly isNegated: boolean }
  | { readonly kind: "list"; readonly values: readonly Encoded[]; readonly isNegated: boolean }
  | { readonly kind: "null"; readonly isNegated: boolean };

/** One condition; `isOr` joins it to those before it by OR. AND binds tighter, as in SQL. */
export type Where =
  | { readonly kind: "group"; readonly isOr: boolean; readonly wheres: readonly Where[] }
  | {
      readonly kind: "test";
      readonly isOr: boolean;
      readonly column: Column;
      /** Set when the column is one of a related model: some related row must pass. */
      readonly related: Related | undefined;
      readonly comparison: Comparison;
    };

/** One order of rows. */
export interface Order {
  readonly column: Column;
  readonly related: Related | undefined;
  readonly isDescending: boolean;
}

/** Related rows to bring along. */
export interface With {
  readonly relation: Relation;
  /** The query of each link, the relation's own and the caller's put together; the last one is of the far end. */
  readonly links: readonly LinkQuery[];
}

/** One step of a relation with the model it leads to. */
export interface LinkQuery {
  readonly model: ModelDefinition;
  readonly key: Column;
  readonly foreign: Column;
  readonly query: Query;
}

/** A checked query. */
export interface Query {
  /** Undefined for all columns. */
  readonly select: readonly Column[] | undefined;
  readonly wheres: readonly Where[];
  readonly orders: readonly Order[];
  readonly limit: number | undefined;
  readonly page: number | undefined;
  readonly pageSize: number | undefined;
  readonly withs: readonly With[];
  readonly trashed: Trashed;
}
