/** `utils.arr.*`, `utils.map.*`, `utils.tree.*`: shaping of lists, objects and trees. Pure. */

import { canonicalJson, isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import type { ProcessFunction } from "./process-group.ts";

const MAX_TREE_DEPTH = 100;

/** Functions of `utils.arr`. */
export const arrFunctions: Readonly<Record<string, ProcessFunction>> = {
  "arr.Get": (args) => args.list(0, "list").at(args.integer(1, "index")) ?? null,
  "arr.Unique": (args) => unique(args.list(0, "list")),
  "arr.Column": (args) => {
    const key = args.text(1, "column");
    return args.objects(0, "records").map((record) => own(record, key));
  },
  "arr.Keep": (args) => {
    const columns = args.texts(1, "columns");
    return args
      .objects(0, "records")
      .map((record) =>
        Object.fromEntries(columns.filter((it) => Object.hasOwn(record, it)).map((it) => [it, own(record, it)])),
      );
  },
  "arr.Split": (args) => {
    const records = args.objects(0, "records");
    const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
    return { columns, values: records.map((record) => columns.map((column) => own(record, column))) };
  },
  "arr.Pluck": pluck,
  "arr.MapSet": (args) => {
    const key = args.text(1, "key");
    return args.objects(0, "records").map((record) => withKey(record, key, args.json(2)));
  },
  "arr.Tree": tree,
};

/** Functions of `utils.map`. */
export const mapFunctions: Readonly<Record<string, ProcessFunction>> = {
  "map.Get": (args) => own(args.object(0, "map"), args.text(1, "key")),
  "map.Set": (args) => withKey(args.object(0, "map"), args.text(1, "key"), args.json(2)),
  "map.Keys": (args) => Object.keys(args.object(0, "map")),
  "map.Values": (args) => Object.values(args.object(0, "map")),
  "map.Del": (args) => without(args.object(0, "map"), [args.text(1, "key")]),
  "map.DelMany": (args) => without(args.object(0, "map"), args.texts(1, "keys")),
  "map.Array": (args) => Object.entries(args.object(0, "map")).map(([key, value]) => ({ key, value })),
};

/** Functions of `utils.tree`. */
export const treeFunctions: Readonly<Record<string, ProcessFunction>> = { "tree.Flatten": flatten };

function own(record: JsonObject, key: string): Json {
  return Object.hasOwn(record, key) ? (record[key] ?? null) : null;
}

// Rebuilt through `fromEntries`, which makes `__proto__` an ordinary key.
function withKey(record: JsonObject, key: string, value: Json): JsonObject {
  return Object.fromEntries(new Map(Object.entries(record)).set(key, value));
}

function without(record: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}

function unique(values: readonly Json[]): Json {
  const seen = new Set<string>();
  return values.filter((value) => {
    const text = canonicalJson(value);
    return !seen.has(text) && seen.add(text);
  });
}

/** Joins one series per column into rows: the first column is the key, the others the values found under it. */
function pluck(args: ProcessArgs): Json {
  const [keyColumn, ...columns] = args.texts(0, "columns");
  if (keyColumn === undefined) args.refuse("argument 1 (columns) must name at least one column");
  const series = args.object(1, "pluck");
  const rows = new Map<string, Map<string, Json>>();
  for (const column of columns) {
    const { key, value, items } = seriesOf(args, series, column);
    for (const item of items) {
      const id = own(item, key);
      const row = rows.get(JSON.stringify(id)) ?? new Map<string, Json>([[keyColumn, id]]);
      rows.set(JSON.stringify(id), row.set(column, own(item, value)));
    }
  }
  return [...rows.values()].map((row) => Object.fromEntries(row));
}

function seriesOf(
  args: ProcessArgs,
  all: JsonObject,
  column: string,
): { readonly key: string; readonly value: string; readonly items: readonly JsonObject[] } {
  const series = own(all, column);
  const { key, value, items } = isObject(series) ? series : {};
  if (typeof key !== "string" || typeof value !== "string" || !Array.isArray(items) || !items.every(isObject)) {
    return args.refuse(`argument 2 (pluck) must have {key, value, items: [object, …]} under "${column}"`);
  }
  return { key, value, items: items as readonly JsonObject[] };
}

interface TreeKeys {
  readonly primary: string;
  readonly parent: string;
  readonly children: string;
  readonly empty: Json;
}

function treeKeys(args: ProcessArgs): TreeKeys {
  const given = args.object(1, "settings", {});
  const name = (key: string, fallback: string): string => {
    const value = own(given, key);
    return typeof value === "string" && value !== "" ? value : fallback;
  };
  return {
    primary: name("primary", "id"),
    parent: name("parent", "parent"),
    children: name("children", "children"),
    empty: own(given, "empty"),
  };
}

/** Nests records under their parents; a record whose parent is not in the list is a root. */
function tree(args: ProcessArgs): Json {
  const keys = treeKeys(args);
  const nodes = args.objects(0, "records").map((record) => {
    const children: Json[] = [];
    return { record, children, node: withKey(record, keys.children, children) };
  });
  const byId = new Map(nodes.map((it) => [JSON.stringify(own(it.record, keys.primary)), it]));
  const roots: Json[] = [];
  for (const it of nodes) {
    const parent = own(it.record, keys.parent);
    const isRoot = parent === null || parent === 0 || parent === "" || parent === keys.empty;
    const above = isRoot ? undefined : byId.get(JSON.stringify(parent));
    (above === undefined ? roots : above.children).push(it.node);
  }
  const reached = countNodes(roots, keys.children);
  if (reached < nodes.length) args.refuse("the records name each other as parents in a circle");
  return roots;
}

function countNodes(roots: readonly Json[], children: string): number {
  const pending = [...roots];
  let count = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    count += 1;
    const below = isObject(next) ? own(next, children) : null;
    if (Array.isArray(below)) pending.push(...(below as readonly Json[]));
  }
  return count;
}

/** Lists every record of a tree, parents before children, without the nesting. */
function flatten(args: ProcessArgs): Json {
  const keys = treeKeys(args);
  const flat: Json[] = [];
  const walk = (records: readonly Json[], parent: Json, depth: number): void => {
    if (depth > MAX_TREE_DEPTH) args.refuse(`the tree is deeper than ${MAX_TREE_DEPTH} levels`);
    for (const record of records) {
      if (!isObject(record)) args.refuse("argument 1 (tree) must hold objects only");
      const below = own(record, keys.children);
      const bare = without(record, [keys.children]);
      flat.push(Object.hasOwn(bare, keys.parent) ? bare : withKey(bare, keys.parent, parent));
      if (Array.isArray(below)) walk(below as readonly Json[], own(record, keys.primary), depth + 1);
    }
  };
  walk(args.list(0, "tree"), keys.empty, 0);
  return flat;
}
