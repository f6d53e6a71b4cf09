/** The relations of a model file. Whether the models they name exist is only known to the catalog. */

import { nearestName } from "@mesh/kernel";

import type { JsonObject } from "@mesh/kernel";

import type { Column, Relation, RelationLink } from "./model.ts";
import type { JsonPath } from "./model-source.ts";
import { describe, type ProblemList } from "./problem-list.ts";

const MAX_RELATIONS = 100;
const MAX_LINKS = 4;

const TYPES: readonly string[] = ["hasOne", "hasMany", "hasOneThrough", "hasManyThrough"];
const RELATION_KEYS: readonly string[] = [
  "type",
  "model",
  "key",
  "foreign",
  "select",
  "query",
  "links",
  "name",
  "label",
];
const LINK_KEYS: readonly string[] = ["type", "model", "key", "foreign", "select", "query"];

/** Reads `relations`; those with an error are reported and left out. */
export function parseRelations(
  json: JsonObject,
  columns: ReadonlyMap<string, Column>,
  list: ProblemList,
): ReadonlyMap<string, Relation> {
  const relations = new Map<string, Relation>();
  const written = list.object(json, "relations", []) ?? {};
  const names = Object.keys(written);
  if (names.length > MAX_RELATIONS) list.error(["relations"], `a model has at most ${MAX_RELATIONS} relations`);
  for (const name of names.slice(0, MAX_RELATIONS)) {
    const at = ["relations", name];
    const item = list.object(written, name, ["relations"]);
    if (item === undefined) continue;
    if (columns.has(name))
      list.warn(at, `the relation has the name of a column; its rows replace "${name}" when asked for`);
    const relation = parseRelation(item, name, at, list);
    if (relation === undefined) continue;
    const first = relation.links[0]?.foreign;
    if (first !== undefined && !columns.has(first)) list.error(at, `"foreign": there is no column "${first}" here`);
    else relations.set(name, relation);
  }
  return relations;
}

function parseRelation(json: JsonObject, name: string, at: JsonPath, list: ProblemList): Relation | undefined {
  list.checkKeys(json, RELATION_KEYS, at);
  const written = list.text(json, "type", at) ?? "";
  const type = TYPES.find((known) => known.toLowerCase() === written.toLowerCase());
  if (type === undefined) {
    const guess = nearestName(written, TYPES);
    const hint = guess === undefined ? `the types are ${TYPES.join(", ")}` : `did you mean "${guess}"?`;
    list.error([...at, "type"], `unknown relation type ${describe(written)}; ${hint}`);
    return undefined;
  }
  const isThrough = type.endsWith("Through");
  const links = isThrough ? parseLinks(json, at, list) : one(parseLink(json, at, list));
  if (isThrough && (links.length < 2 || links.length > MAX_LINKS)) {
    list.error(at, `a ${type} relation needs "links": 2 to ${MAX_LINKS} steps, each with model, key and foreign`);
    return undefined;
  }
  if (links.length === 0) return undefined;
  return { name, type: type as Relation["type"], links, line: list.lineOf(at) };
}

function parseLinks(json: JsonObject, at: JsonPath, list: ProblemList): readonly RelationLink[] {
  return list.objects(json, "links", at).flatMap(({ item, at: itemAt }) => {
    list.checkKeys(item, LINK_KEYS, itemAt);
    return one(parseLink(item, itemAt, list));
  });
}

function parseLink(json: JsonObject, at: JsonPath, list: ProblemList): RelationLink | undefined {
  const [model, key, foreign] = ["model", "key", "foreign"].map((name) => {
    const text = list.text(json, name, at);
    if (text === undefined || text === "") list.error(at, `the relation has no "${name}"`);
    return text;
  });
  if (!model || !key || !foreign) return undefined;
  const query = list.object(json, "query", at) ?? {};
  const select = list.names(json, "select", at);
  return {
    model,
    key,
    // A column may be written behind the name of the step before: "user.id".
    foreign: foreign.slice(foreign.lastIndexOf(".") + 1),
    query: select.length > 0 && query["select"] === undefined ? { ...query, select } : query,
  };
}

function one<T>(value: T | undefined): readonly T[] {
  return value === undefined ? [] : [value];
}
