/**
 * The query language of models: a caller's JSON → a checked query in terms of the model's columns and relations.
 *
 * Q1  Nothing of the caller's text goes on as a name: names are looked up, values are encoded for their column.
 * Q2  What is not understood is refused, saying what there is, never ignored.
 * Q3  Size and depth are bounded over the whole query.
 */

import { isObject, type Json, type JsonObject, MeshError, nearestName } from "@mesh/kernel";

import type { Trashed } from "./access.ts";
import type { ModelCatalog } from "./catalog.ts";
import { parseComparison } from "./comparison.ts";
import type { CipherSource } from "./crypt.ts";
import { shownJson } from "./json-text.ts";
import type { Column, ModelDefinition, Relation } from "./model.ts";
import type { LinkQuery, Order, Query, Related, Where, With } from "./query.ts";

const MAX_CONDITIONS = 200;
const MAX_GROUP_DEPTH = 8;
const MAX_WITHS = 20;
const MAX_WITH_DEPTH = 4;
const MAX_ORDERS = 20;
const MAX_PAGE = 1_000_000;

const QUERY_KEYS: readonly string[] = [
  "select",
  "wheres",
  "orders",
  "limit",
  "page",
  "pagesize",
  "withs",
  "withTrashed",
  "onlyTrashed",
  "debug",
];
const WHERE_KEYS: readonly string[] = ["rel", "column", "value", "method", "op", "wheres", "comment"];
const ORDER_KEYS: readonly string[] = ["rel", "column", "option", "comment"];
const WITH_KEYS: readonly string[] = ["name", "query"];
const OR_METHODS: readonly string[] = ["orwhere", "or"];
const AND_METHODS: readonly string[] = ["where", "and"];

/** What queries are checked against. */
export interface QueryContext {
  readonly catalog: ModelCatalog;
  readonly ciphers: CipherSource;
}

/** Checks a caller's query; absent or null asks for everything. Throws `invalid_argument`. */
export function parseQuery(context: QueryContext, model: ModelDefinition, input: Json | undefined): Query {
  return new QueryParser(context).query(model, objectOf(input ?? {}, "the query"), 0);
}

/** The column of this name, or `invalid_argument` saying which there are. */
export function requireColumn(model: ModelDefinition, name: Json | undefined): Column {
  if (typeof name !== "string") throw invalid(`${model.id}: a column must be named by text`);
  const column = model.columns.get(name);
  if (column !== undefined) return column;
  const names = [...model.columns.keys()];
  const guess = nearestName(name, names);
  const hint = `${guess === undefined ? "" : `did you mean "${guess}"? `}The columns are ${names.join(", ")}`;
  throw invalid(`${model.id} has no column "${name.slice(0, 100)}"; ${hint}`);
}

class QueryParser {
  readonly #context: QueryContext;
  #conditionCount = 0;
  #withCount = 0;

  constructor(context: QueryContext) {
    this.#context = context;
  }

  query(model: ModelDefinition, json: JsonObject, depth: number): Query {
    checkKeys(json, QUERY_KEYS, "the query");
    return {
      select: this.#select(model, json["select"]),
      wheres: this.#wheres(model, json["wheres"], 0),
      orders: this.#orders(model, json["orders"]),
      limit: wholeOf(json["limit"], "limit", [0, Number.MAX_SAFE_INTEGER]),
      page: wholeOf(json["page"], "page", [1, MAX_PAGE]),
      pageSize: wholeOf(json["pagesize"], "pagesize", [1, Number.MAX_SAFE_INTEGER]),
      withs: this.#withs(model, json["withs"], depth),
      trashed: trashedOf(json),
    };
  }

  #select(model: ModelDefinition, json: Json | undefined): readonly Column[] | undefined {
    const names = typeof json === "string" ? json.split(",").map((name) => name.trim()) : listOf(json, "select");
    if (names.length === 0 || names.includes("*")) return undefined;
    return [...new Set(names.map((name) => requireColumn(model, name)))];
  }

  #wheres(model: ModelDefinition, json: Json | undefined, depth: number): readonly Where[] {
    // A single condition may stand for a list of one.
    const items = isObject(json) ? [json] : listOf(json, "wheres");
    if (depth > MAX_GROUP_DEPTH) throw invalid(`wheres are nested more than ${MAX_GROUP_DEPTH} levels deep`);
    return items.map((item) => this.#where(model, objectOf(item, "a condition in wheres"), depth));
  }

  #where(model: ModelDefinition, json: JsonObject, depth: number): Where {
    this.#conditionCount += 1;
    if (this.#conditionCount > MAX_CONDITIONS) throw invalid(`a query has at most ${MAX_CONDITIONS} conditions`);
    checkKeys(json, WHERE_KEYS, "a condition in wheres");
    const isOr = isOrMethod(json["method"]);
    const { wheres, rel } = json;
    if (wheres !== undefined && wheres !== null) {
      if (json["column"] !== undefined) throw invalid('a condition has either "column" or "wheres", not both');
      return { kind: "group", isOr, wheres: this.#wheres(model, wheres, depth + 1) };
    }
    const related = this.#related(model, rel);
    const holder = related?.links.at(-1)?.model ?? model;
    const column = requireColumn(holder, json["column"]);
    const comparison = parseComparison(this.#context.ciphers, holder, column, json);
    return { kind: "test", isOr, column, related, comparison };
  }

  #orders(model: ModelDefinition, json: Json | undefined): readonly Order[] {
    const items = isObject(json) ? [json] : listOf(json, "orders");
    if (items.length > MAX_ORDERS) throw invalid(`a query has at most ${MAX_ORDERS} orders`);
    return items.map((item) => {
      const order = objectOf(item, "an order");
      checkKeys(order, ORDER_KEYS, "an order");
      const related = this.#related(model, order["rel"]);
      if (related !== undefined && related.relation.type !== "hasOne") {
        throw invalid(`rows can be ordered by a hasOne relation only, and "${related.relation.name}" is none`);
      }
      const column = requireColumn(related?.links.at(-1)?.model ?? model, order["column"]);
      return { column, related, isDescending: isDescending(order["option"]) };
    });
  }

  #related(model: ModelDefinition, rel: Json | undefined): Related | undefined {
    if (rel === undefined || rel === null || rel === "") return undefined;
    const relation = requireRelation(model, rel);
    return { relation, links: this.#links(model, relation, {}, MAX_WITH_DEPTH) };
  }

  #withs(model: ModelDefinition, json: Json | undefined, depth: number): readonly With[] {
    if (json === undefined || json === null || depth >= MAX_WITH_DEPTH) {
      if (isObject(json) && Object.keys(json).length > 0)
        throw invalid(`withs are nested more than ${MAX_WITH_DEPTH} levels deep`);
      return [];
    }
    return Object.entries(objectOf(json, "withs")).map(([name, value]) => {
      this.#withCount += 1;
      if (this.#withCount > MAX_WITHS) throw invalid(`a query has at most ${MAX_WITHS} withs`);
      const relation = requireRelation(model, name);
      const item = objectOf(value ?? {}, `withs.${name}`);
      checkKeys(item, WITH_KEYS, `withs.${name}`);
      const query = objectOf(item["query"] ?? {}, `withs.${name}.query`);
      return { relation, links: this.#links(model, relation, query, depth + 1) };
    });
  }

  #links(model: ModelDefinition, relation: Relation, given: JsonObject, depth: number): readonly LinkQuery[] {
    let from = model;
    return relation.links.map((link, index) => {
      const target = this.#context.catalog.target(from, link);
      const foreign = requireColumn(from, link.foreign);
      const isLast = index === relation.links.length - 1;
      const own = depth >= MAX_WITH_DEPTH ? { ...link.query, withs: {} } : link.query;
      const query = this.query(target, isLast ? merged(own, given) : own, depth);
      from = target;
      return { model: target, key: requireColumn(target, link.key), foreign, query };
    });
  }
}

// Conditions add up; for the rest the caller's word replaces the relation's.
function merged(own: JsonObject, given: JsonObject): JsonObject {
  const wheres = [own["wheres"], given["wheres"]].flatMap((group) =>
    group === undefined || group === null ? [] : [{ wheres: group }],
  );
  return { ...own, ...given, wheres };
}

function requireRelation(model: ModelDefinition, name: Json): Relation {
  const relation = typeof name === "string" ? model.relations.get(name) : undefined;
  if (relation !== undefined) return relation;
  const names = [...model.relations.keys()];
  const hint = names.length === 0 ? "it has none" : `its relations are ${names.join(", ")}`;
  throw invalid(`${model.id} has no relation ${shownJson(name)}; ${hint}`);
}

function trashedOf(json: JsonObject): Trashed {
  if (json["onlyTrashed"] === true) return "only";
  return json["withTrashed"] === true ? "included" : "hidden";
}

function isOrMethod(method: Json | undefined): boolean {
  if (method === undefined || method === null || method === "") return false;
  const word = typeof method === "string" ? method.toLowerCase() : "";
  if (OR_METHODS.includes(word)) return true;
  if (AND_METHODS.includes(word)) return false;
  throw invalid(`unknown method ${shownJson(method)} in wheres; the methods are where and orwhere`);
}

function isDescending(option: Json | undefined): boolean {
  if (option === undefined || option === null || option === "") return false;
  const word = typeof option === "string" ? option.toLowerCase() : "";
  if (word === "asc" || word === "desc") return word === "desc";
  throw invalid(`unknown option ${shownJson(option)} in orders; the options are asc and desc`);
}

function checkKeys(json: JsonObject, known: readonly string[], what: string): void {
  for (const key of Object.keys(json)) {
    if (known.includes(key)) continue;
    const guess = nearestName(key, known);
    const hint = guess === undefined ? `the keys are ${known.join(", ")}` : `did you mean "${guess}"?`;
    throw invalid(`${what} has an unknown key "${key.slice(0, 100)}"; ${hint}`);
  }
}

function wholeOf(json: Json | undefined, name: string, [min, max]: readonly [number, number]): number | undefined {
  if (json === undefined || json === null) return undefined;
  const value = typeof json === "string" && /^\d{1,15}$/.test(json) ? Number(json) : json;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw invalid(`${name} must be a whole number of at least ${min}, not ${shownJson(json)}`);
}

function objectOf(json: Json, what: string): JsonObject {
  if (isObject(json)) return json;
  throw invalid(`${what} must be an object, not ${shownJson(json)}`);
}

function listOf(json: Json | undefined, what: string): readonly Json[] {
  if (json === undefined || json === null) return [];
  if (Array.isArray(json)) return json as readonly Json[];
  throw invalid(`${what} must be a list, not ${shownJson(json)}`);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
