/**
 * A model file → a validated model, or what is wrong with it.
 *
 * P1  It never throws for anything in the file; a model with an error is not given out.
 * P2  Every finding names the file and, when the model came as text, the line.
 */

import { isObject, type JsonObject, nearestName } from "@mesh/kernel";

import { columnType } from "./column-type.ts";
import {
  type Column,
  MANAGED,
  type ModelDefinition,
  type ModelIndex,
  type ModelProblem,
  type Relation,
} from "./model.ts";
import { readModelSource } from "./model-source.ts";
import { placeOf, tableName } from "./name.ts";
import { parseColumn } from "./parse-column.ts";
import { parseRelations } from "./parse-relation.ts";
import { ProblemList } from "./problem-list.ts";

const MAX_COLUMNS = 500;
const MAX_INDEXES = 60;
const MAX_VALUES = 1000;

/** The keys of a model file that mean something, or did once. */
export const MODEL_KEYS: readonly string[] = [
  "$schema",
  "id",
  "name",
  "label",
  "description",
  "tags",
  "builtin",
  "readonly",
  "sort",
  "table",
  "columns",
  "relations",
  "values",
  "indexes",
  "option",
  "uniqueness",
  "explain",
];
const TABLE_KEYS: readonly string[] = ["name", "comment", "engine", "charset", "collation", "prefix"];
/** The keys of `option`. */
export const OPTION_KEYS: readonly string[] = [
  "timestamps",
  "soft_deletes",
  "permission",
  "trackings",
  "tracking",
  "constraints",
  "readonly",
  "logging",
];
const INDEX_KEYS: readonly string[] = ["name", "columns", "type", "comment", "origin"];

/** What reading a model file gives. */
export interface ParsedModel {
  readonly model: ModelDefinition | undefined;
  readonly problems: readonly ModelProblem[];
}

/** Reads one `*.mod.yao` file; `path` is its place inside the app and decides the model's id. */
export function parseModel(input: string | JsonObject, { path }: { readonly path: string }): ParsedModel {
  const failed = (message: string, line?: number): ParsedModel => ({
    model: undefined,
    problems: [{ path, ...(line === undefined ? {} : { line }), message, severity: "error" }],
  });
  const place = placeOf(path);
  if (place === undefined) return failed("a model is a *.mod.yao file in models/ or in assistants/<id>/models/");
  const source = readModelSource(input);
  if ("message" in source) return failed(source.message, source.line);
  const list = new ProblemList(path, source);
  const { json } = source;
  list.checkKeys(json, MODEL_KEYS, []);
  const { columns, indexes } = parseColumns(json, list);
  const option = list.object(json, "option", []) ?? {};
  list.checkKeys(option, OPTION_KEYS, ["option"]);
  const switches = {
    hasTimestamps: list.flag(option, "timestamps", ["option"]),
    hasSoftDeletes: list.flag(option, "soft_deletes", ["option"]),
    hasPermission: list.flag(option, "permission", ["option"]),
    isReadonly: list.flag(option, "readonly", ["option"]),
  };
  addManagedColumns(columns, switches, list);
  const table = list.object(json, "table", []) ?? {};
  list.checkKeys(table, TABLE_KEYS, ["table"]);
  const name = list.text(json, "name", []) ?? place.baseName;
  const relations = parseRelations(json, columns, list);
  const model: ModelDefinition = {
    id: place.id,
    path,
    assistantId: place.assistantId,
    name,
    label: list.text(json, "label", []) ?? name,
    description: list.text(json, "description", []) ?? "",
    table: tableName(list.text(table, "name", ["table"]) || place.baseName, place.assistantId),
    tableComment: list.text(table, "comment", ["table"]) ?? "",
    columns,
    primaryKey: [...columns.values()].find((column) => column.isPrimary),
    relations,
    indexes: [...indexes, ...ownerIndex(switches.hasPermission), ...parseIndexes(json, columns, list)],
    values: parseValues(json, columns, relations, list),
    ...switches,
    source: json,
  };
  checkPrimaryKey(model, list);
  return { model: list.hasError ? undefined : model, problems: list.problems };
}

type Switches = Pick<ModelDefinition, "hasTimestamps" | "hasSoftDeletes" | "hasPermission">;

function parseColumns(json: JsonObject, list: ProblemList): { columns: Map<string, Column>; indexes: ModelIndex[] } {
  const columns = new Map<string, Column>();
  const indexes: ModelIndex[] = [];
  const written = list.objects(json, "columns", []);
  if (written.length === 0) list.error(["columns"], 'the model has no columns: add { "name": "id", "type": "ID" }');
  if (written.length > MAX_COLUMNS) list.error(["columns"], `a model has at most ${MAX_COLUMNS} columns`);
  for (const { item, at } of written.slice(0, MAX_COLUMNS)) {
    const parsed = parseColumn(item, at, list);
    if (parsed === undefined) continue;
    const { name } = parsed.column;
    if (columns.has(name)) {
      list.error(at, `the column "${name}" is defined twice`);
      continue;
    }
    columns.set(name, parsed.column);
    if (parsed.isUnique) indexes.push({ name: `${name}_unique`, columns: [name], type: "unique" });
    else if (parsed.isIndexed) indexes.push({ name: `${name}_index`, columns: [name], type: "index" });
  }
  return { columns, indexes };
}

function addManagedColumns(columns: Map<string, Column>, switches: Switches, list: ProblemList): void {
  const names = [
    ...(switches.hasTimestamps ? [MANAGED.createdAt, MANAGED.updatedAt] : []),
    ...(switches.hasSoftDeletes ? [MANAGED.deletedAt] : []),
    ...(switches.hasPermission ? [MANAGED.createdBy, MANAGED.updatedBy, MANAGED.teamId, MANAGED.tenantId] : []),
  ];
  for (const name of names) {
    if (columns.has(name)) {
      list.warn(["columns"], `the column "${name}" comes from an option; the one written here is not used`);
      columns.delete(name);
    }
    columns.set(name, managedColumn(name));
  }
  for (const name of columns.keys()) {
    if (name.startsWith("__yao_") && !names.includes(name as (typeof names)[number])) {
      list.error(["columns"], `the name "${name}" is reserved; set "permission": true in "option" instead`);
    }
  }
}

function managedColumn(name: string): Column {
  const type = columnType(name.endsWith("_at") ? "datetime" : "string");
  const size = { length: 255, precision: undefined, scale: undefined };
  return {
    name,
    kind: type?.kind ?? "text",
    sqlType: type?.sqlType(size) ?? "text",
    label: name,
    comment: "",
    isNullable: true,
    isPrimary: false,
    isGenerated: false,
    isManaged: true,
    maxLength: type?.maxLength?.(size),
    range: undefined,
    precision: undefined,
    scale: undefined,
    options: undefined,
    default: undefined,
    crypt: undefined,
    validations: [],
  };
}

// Every statement on such a model looks for rows of one owner.
function ownerIndex(hasPermission: boolean): readonly ModelIndex[] {
  return hasPermission ? [{ name: "owner", columns: [MANAGED.teamId, MANAGED.createdBy], type: "index" }] : [];
}

function parseIndexes(json: JsonObject, columns: Map<string, Column>, list: ProblemList): readonly ModelIndex[] {
  const written = list.objects(json, "indexes", []);
  if (written.length > MAX_INDEXES) list.error(["indexes"], `a model has at most ${MAX_INDEXES} indexes`);
  return written.slice(0, MAX_INDEXES).flatMap(({ item, at }) => {
    list.checkKeys(item, INDEX_KEYS, at);
    const names = list.names(item, "columns", at);
    const type = (list.text(item, "type", at) ?? "index").toLowerCase();
    const missing = names.find((name) => !columns.has(name));
    if (names.length === 0 || names.length > 32) list.error(at, "an index has 1 to 32 columns");
    else if (missing !== undefined) list.error([...at, "columns"], unknownColumn(missing, columns));
    else if (type === "primary") setPrimary(names, columns, at, list);
    else if (type === "index" || type === "unique" || type === "fulltext") {
      return [{ name: list.text(item, "name", at) ?? names.join("_"), columns: [...new Set(names)], type }];
    } else list.error([...at, "type"], 'the type of an index is "index", "unique", "fulltext" or "primary"');
    return [];
  });
}

function setPrimary(
  names: readonly string[],
  columns: Map<string, Column>,
  at: readonly (string | number)[],
  list: ProblemList,
): void {
  const [name] = names;
  const column = name === undefined || names.length > 1 ? undefined : columns.get(name);
  if (column === undefined) list.error(at, 'a primary key has one column; use an index of type "unique" for several');
  else columns.set(column.name, { ...column, isPrimary: true, isNullable: false });
}

function parseValues(
  json: JsonObject,
  columns: ReadonlyMap<string, Column>,
  relations: ReadonlyMap<string, Relation>,
  list: ProblemList,
): readonly JsonObject[] {
  const rows = list.objects(json, "values", []);
  if (rows.length > MAX_VALUES) list.error(["values"], `"values" has at most ${MAX_VALUES} rows`);
  for (const { item, at } of rows) {
    const unknown = Object.keys(item).find((key) => !columns.has(key) && !relations.has(key));
    if (unknown !== undefined) list.error([...at, unknown], unknownColumn(unknown, columns));
  }
  return rows.map(({ item }) => item);
}

function checkPrimaryKey(model: ModelDefinition, list: ProblemList): void {
  const keys = [...model.columns.values()].filter((column) => column.isPrimary);
  if (keys.length > 1) {
    list.error(["columns"], `only one column can be the primary key, not ${keys.map((key) => key.name).join(" and ")}`);
  }
  if (keys.length === 0 && isObject(model.source)) {
    list.warn(
      ["columns"],
      "without a primary key rows cannot be found, updated or saved by id; add a column of type ID",
    );
  }
  if (model.primaryKey?.crypt !== undefined || model.primaryKey?.kind === "json") {
    list.error(["columns"], "a primary key is neither json nor protected with crypt");
  }
}

function unknownColumn(name: string, columns: ReadonlyMap<string, Column>): string {
  const guess = nearestName(name, columns.keys());
  const hint = guess === undefined ? `the columns are ${[...columns.keys()].join(", ")}` : `did you mean "${guess}"?`;
  return `there is no column "${name}"; ${hint}`;
}
