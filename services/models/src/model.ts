/** A data model as validated, immutable data; everything else in this package works from it. */

import type { Json, JsonObject } from "@mesh/kernel";

/** One finding in a model file. */
export interface ModelProblem {
  /** Path inside the app, with forward slashes. */
  readonly path: string;
  /** From 1; absent when the finding is about the file as a whole or the model was not given as text. */
  readonly line?: number;
  readonly message: string;
  /** A model with an error is not loaded; a warning is worth a look. */
  readonly severity: "error" | "warning";
}

/** What a column holds, as far as reading, writing and comparing values differ. */
export type ColumnKind =
  | "integer"
  | "bigint"
  | "decimal"
  | "float"
  | "boolean"
  | "text"
  | "date"
  | "datetime"
  | "time"
  | "json"
  | "enum"
  | "uuid"
  | "binary";

/** What a new row gets when a value is not given. */
export type ColumnDefault =
  | { readonly kind: "value"; readonly value: Json }
  | { readonly kind: "now" }
  | { readonly kind: "uuid" };

/** One rule for the values of a column. */
export interface Validation {
  readonly method: string;
  /** May hold `{{input}}` and `{{label}}`. */
  readonly message: string | undefined;
  readonly accepts: (value: Json) => boolean;
}

/** One column of a model's table. */
export interface Column {
  readonly name: string;
  readonly kind: ColumnKind;
  /** As `format_type` of PostgreSQL writes it. */
  readonly sqlType: string;
  readonly label: string;
  readonly comment: string;
  readonly isNullable: boolean;
  readonly isPrimary: boolean;
  /** Filled by the database when not given: an auto-increment key. */
  readonly isGenerated: boolean;
  /** Kept by this system (times, deletion, owner): what a caller writes there is not taken. */
  readonly isManaged: boolean;
  readonly maxLength: number | undefined;
  readonly range: { readonly min: bigint; readonly max: bigint } | undefined;
  readonly precision: number | undefined;
  readonly scale: number | undefined;
  readonly options: readonly string[] | undefined;
  readonly default: ColumnDefault | undefined;
  readonly crypt: "AES" | "PASSWORD" | undefined;
  readonly validations: readonly Validation[];
}

/** One step of a relation: rows of `model` whose column `key` equals the column `foreign` of the row before. */
export interface RelationLink {
  /** As written; the catalog knows which model is meant. */
  readonly model: string;
  readonly key: string;
  readonly foreign: string;
  /** Default query of the related rows. */
  readonly query: JsonObject;
}

/** What links rows of a model with rows of others. */
export interface Relation {
  readonly name: string;
  readonly type: "hasOne" | "hasMany" | "hasOneThrough" | "hasManyThrough";
  /** One link, or the way from link to link of a `…Through` relation. */
  readonly links: readonly RelationLink[];
  readonly line: number | undefined;
}

/** One index of a model's table. */
export interface ModelIndex {
  readonly name: string;
  readonly columns: readonly string[];
  readonly type: "index" | "unique" | "fulltext";
}

/** A validated model. */
export interface ModelDefinition {
  /** `agents.<assistant>.<path>` or, for a model of the app itself, its path with dots. */
  readonly id: string;
  readonly path: string;
  /** The assistant whose folder it is in. */
  readonly assistantId: string | undefined;
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly table: string;
  readonly tableComment: string;
  /** In the order of the file, the managed ones last. */
  readonly columns: ReadonlyMap<string, Column>;
  readonly primaryKey: Column | undefined;
  readonly relations: ReadonlyMap<string, Relation>;
  readonly indexes: readonly ModelIndex[];
  /** Rows a new table starts with. */
  readonly values: readonly JsonObject[];
  readonly hasTimestamps: boolean;
  readonly hasSoftDeletes: boolean;
  readonly hasPermission: boolean;
  readonly isReadonly: boolean;
  /** The file as it was parsed. */
  readonly source: JsonObject;
}

/** The columns this system keeps; their names are part of the documented interface. */
export const MANAGED = {
  createdAt: "created_at",
  updatedAt: "updated_at",
  deletedAt: "deleted_at",
  createdBy: "__yao_created_by",
  updatedBy: "__yao_updated_by",
  teamId: "__yao_team_id",
  tenantId: "__yao_tenant_id",
} as const;
