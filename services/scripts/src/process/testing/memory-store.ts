/**
 * Stores in memory, for tests: the whole of {@link StorePort} in one process.
 *
 * M1  Values are copied on the way in and out: nobody changes a stored value by accident.
 * M2  The number of keys of a store is bounded; the oldest write goes first.
 */

import { canonicalJson, type Clock, type Json, MeshError } from "@mesh/kernel";

import type { Scope } from "../process-caller.ts";
import type { StoreOperations, StorePort, StoreRequest } from "../store-port.ts";

const MAX_KEYS = 10_000;
const FOR_GOOD = Number.POSITIVE_INFINITY;

interface Cell {
  readonly value: Json;
  readonly expiresMs: number;
}

type Cells = Map<string, Cell>;

/** Stores of all workspaces of one process. */
export class MemoryStore implements StorePort {
  readonly #clock: Pick<Clock, "now">;
  readonly #workspaces = new Map<string, Map<string, Cells>>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  async call(scope: Scope, request: StoreRequest): Promise<Json> {
    const stores = this.#workspaces.get(scope.workspaceId) ?? new Map<string, Cells>();
    this.#workspaces.set(scope.workspaceId, stores);
    const cells: Cells = stores.get(request.store) ?? new Map();
    stores.set(request.store, cells);
    const now = this.#clock.now();
    for (const [key, cell] of cells) if (cell.expiresMs <= now) cells.delete(key);
    // The table pairs every operation with its own arguments; the compiler cannot follow the pair through the lookup.
    const handler = HANDLERS[request.op] as Handler<keyof StoreOperations>;
    const answer = structuredClone(handler(cells, request, now));
    for (const key of cells.keys()) {
      if (cells.size <= MAX_KEYS) break;
      cells.delete(key);
    }
    return answer;
  }
}

type Handler<Op extends keyof StoreOperations> = (cells: Cells, request: StoreOperations[Op], now: number) => Json;

const HANDLERS: { readonly [Op in keyof StoreOperations]: Handler<Op> } = {
  get: (cells, { key }) => valueOf(cells, key),
  has: (cells, { key }) => cells.has(key),
  keys: (cells) => [...cells.keys()].toSorted(),
  len: (cells) => cells.size,
  getMulti: (cells, { keys }) =>
    Object.fromEntries(keys.filter((it) => cells.has(it)).map((it) => [it, valueOf(cells, it)])),
  set: (cells, { key, value, ttlMs }, now) => put(cells, key, { value, expiresMs: expiry(ttlMs, now) }),
  setMulti: (cells, { values, ttlMs }, now) => {
    for (const [key, value] of Object.entries(values)) put(cells, key, { value, expiresMs: expiry(ttlMs, now) });
    return null;
  },
  getDel: (cells, { key }) => {
    const value = valueOf(cells, key);
    cells.delete(key);
    return value;
  },
  del: (cells, { key }) => {
    for (const name of matching(cells, key)) cells.delete(name);
    return null;
  },
  delMulti: (cells, { keys }) => {
    for (const key of keys) cells.delete(key);
    return null;
  },
  clear: (cells) => {
    cells.clear();
    return null;
  },
  incr: (cells, { key, by }) => {
    const before = valueOf(cells, key);
    const value = (typeof before === "number" ? before : 0) + by;
    put(cells, key, { value, expiresMs: cells.get(key)?.expiresMs ?? FOR_GOOD });
    return value;
  },
  push: (cells, { key, values }) => replaceList(cells, key, [...listOf(cells, key), ...values]),
  addToSet: (cells, { key, values }) => {
    const list = listOf(cells, key);
    const known = new Set(list.map(canonicalJson));
    const fresh = values.filter((value) => {
      const text = canonicalJson(value);
      return !known.has(text) && known.add(text);
    });
    return replaceList(cells, key, [...list, ...fresh]);
  },
  pop: (cells, { key, end }) => {
    const list = listOf(cells, key);
    replaceList(cells, key, end === "last" ? list.slice(0, -1) : list.slice(1));
    return (end === "last" ? list.at(-1) : list[0]) ?? null;
  },
  pull: (cells, { key, values }) => {
    const gone = new Set(values.map(canonicalJson));
    const kept = listOf(cells, key).filter((value) => !gone.has(canonicalJson(value)));
    return replaceList(cells, key, kept);
  },
  arrayLen: (cells, { key }) => listOf(cells, key).length,
  arrayAll: (cells, { key }) => listOf(cells, key),
  arrayGet: (cells, { key, index }) => {
    const list = listOf(cells, key);
    return list[position(list, index)] ?? null;
  },
  arraySet: (cells, { key, index, value }) => {
    const list = listOf(cells, key);
    replaceList(cells, key, list.with(position(list, index), value));
    return null;
  },
  arraySlice: (cells, { key, skip, limit }) => listOf(cells, key).slice(skip, skip + limit),
};

/** Writes a list and gives its length; taking from a list that is not there does not make one. */
function replaceList(cells: Cells, key: string, values: readonly Json[]): number {
  if (cells.has(key) || values.length > 0) {
    put(cells, key, { value: values, expiresMs: cells.get(key)?.expiresMs ?? FOR_GOOD });
  }
  return values.length;
}

function valueOf(cells: Cells, key: string): Json {
  return cells.get(key)?.value ?? null;
}

function put(cells: Cells, key: string, cell: Cell): null {
  // Deleted first, so that the order of the map is the order of writing.
  cells.delete(key);
  cells.set(key, { ...cell, value: structuredClone(cell.value) });
  return null;
}

function expiry(ttlMs: number | undefined, now: number): number {
  return ttlMs === undefined ? FOR_GOOD : now + ttlMs;
}

function listOf(cells: Cells, key: string): readonly Json[] {
  const value = valueOf(cells, key);
  if (value === null) return [];
  if (Array.isArray(value)) return value as readonly Json[];
  throw new MeshError(
    "failed_precondition",
    `"${key}" holds something that is not a list; delete it or use another key`,
  );
}

function position(list: readonly Json[], index: number): number {
  const at = index < 0 ? list.length + index : index;
  if (at >= 0 && at < list.length) return at;
  throw new MeshError("out_of_range", `the list has ${list.length} elements; there is none at ${index}`);
}

function matching(cells: Cells, pattern: string): readonly string[] {
  if (!pattern.includes("*")) return [pattern];
  const parts = pattern.split("*");
  return [...cells.keys()].filter((key) => matches(key, parts));
}

/** Whether the parts occur in order, the first at the start and the last at the end; linear, unlike a regular expression. */
function matches(key: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!key.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = key.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return key.length - last.length >= at && key.endsWith(last);
}
