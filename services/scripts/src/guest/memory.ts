/** `ctx.memory` and `ctx.space`: namespaces kept by the host, and the one that lives here; one API for both. */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { type MemoryChanges, MemoryNamespace } from "../memory/memory-namespace.ts";
import type { OpName } from "../op.ts";
import { api, isRecord, jsonOf, keyOf, later, numberOf } from "./api.ts";
import { invokeNamed } from "./bridge.ts";
import { Exception } from "./exception.ts";

type MemoryMethod = OpName extends infer Name ? (Name extends `memory.${infer Method}` ? Method : never) : never;

type Methods = Record<string, unknown>;

const now = (): number => new Date().getTime();

let space: MemoryNamespace | undefined;

/** `ctx.memory.context` of this call, a copy of the run's; made for the first who asks. */
export function contextSpace(): MemoryNamespace {
  return (space ??= new MemoryNamespace(now));
}

/** Changes of {@link contextSpace} since the last time. */
export function takeSpaceChanges(): MemoryChanges | undefined {
  return space?.takeChanges();
}

type Ask = (method: MemoryMethod, ...args: readonly Json[]) => Json | undefined;

/** One namespace: the methods scripts use, each asked of who keeps the values. */
function namespaceOf(space: "user" | "team" | "chat" | "context", id: string, ask: Ask): Methods {
  const name = `ctx.memory.${space}`;
  const key = (value: unknown): string => keyOf(value, `${name}: the key`);
  const number = (value: unknown, what: string): number => numberOf(value, `${name}: ${what}`);
  return api(name, {
    __proto__: null,
    id,
    space,
    Get: (at: unknown) => ask("Get", key(at)) ?? null,
    Set: (at: unknown, value: unknown, ttl?: unknown) => void ask("Set", key(at), jsonOf(value), secondsOf(ttl)),
    Del: (at: unknown) => void ask("Del", key(at)),
    Has: (at: unknown) => ask("Has", key(at)) === true,
    GetDel: (at: unknown) => ask("GetDel", key(at)) ?? null,
    Keys: () => ask("Keys") ?? [],
    Len: () => ask("Len") ?? 0,
    Clear: () => void ask("Clear"),
    Incr: (at: unknown, by: unknown = 1) => ask("Incr", key(at), number(by, "the delta")),
    Decr: (at: unknown, by: unknown = 1) => ask("Decr", key(at), number(by, "the delta")),
    Push: (at: unknown, ...values: readonly unknown[]) => ask("Push", key(at), valuesOf(values)),
    Pop: (at: unknown) => ask("Pop", key(at)) ?? null,
    Pull: (at: unknown, count: unknown) => ask("Pull", key(at), number(count, "the count")) ?? [],
    PullAll: (at: unknown) => ask("PullAll", key(at)) ?? [],
    AddToSet: (at: unknown, ...values: readonly unknown[]) => ask("AddToSet", key(at), valuesOf(values)),
    ArrayLen: (at: unknown) => ask("ArrayLen", key(at)) ?? 0,
    ArrayGet: (at: unknown, index: unknown) => ask("ArrayGet", key(at), number(index, "the index")) ?? null,
    ArraySet: (at: unknown, index: unknown, value: unknown) =>
      void ask("ArraySet", key(at), number(index, "the index"), jsonOf(value)),
    ArraySlice: (at: unknown, start: unknown, end: unknown = -1) =>
      ask("ArraySlice", key(at), number(start, "the start"), number(end, "the end")) ?? [],
    ArrayPage: (at: unknown, page: unknown, size: unknown) =>
      ask("ArrayPage", key(at), number(page, "the page"), number(size, "the size")) ?? [],
    ArrayAll: (at: unknown) => ask("ArrayAll", key(at)) ?? [],
  });
}

/** `ctx.space`, the older name of the request's memory, with the older methods. */
export function spaceOf(memory: () => MemoryNamespace): Methods {
  const ask = askOf(memory);
  const key = (value: unknown): string => keyOf(value, "ctx.space: the key");
  return api("ctx.space", {
    __proto__: null,
    Get: (name: unknown) => ask("Get", key(name)),
    Set: (name: unknown, value: unknown) => void ask("Set", key(name), jsonOf(value)),
    Delete: (name: unknown) => void ask("Del", key(name)),
    GetDel: (name: unknown) => ask("GetDel", key(name)),
  });
}

/** Asks a namespace that lives here: no call of it leaves the context, and it fails as one of the host's does. */
function askOf(memory: () => MemoryNamespace): Ask {
  return (method, ...args) => {
    try {
      return memory().call(method, args);
    } catch (error) {
      throw error instanceof MeshError ? new Exception(error.message, error.code) : error;
    }
  };
}

/** Seconds as a number, or said outright: `{seconds: 5}`, `{ms: 500}`. */
function secondsOf(ttl: unknown): number | null {
  if (ttl === undefined || ttl === null) return null;
  if (!isRecord(ttl)) return numberOf(ttl, "the time to live (seconds)");
  const { seconds, ms } = ttl;
  return seconds === undefined ? numberOf(ms, "the time to live (ms)") / 1000 : numberOf(seconds, "seconds");
}

/** `Push(key, [a, b])` and `Push(key, a, b)` mean the same. */
function valuesOf(values: readonly unknown[]): readonly Json[] {
  const [first] = values;
  return (values.length === 1 && Array.isArray(first) ? first : values).map(jsonOf);
}

/** Namespaces of a context, by the ids it has. */
export function memoryOf(ids: JsonObject, context: () => MemoryNamespace): Methods {
  const memory = {};
  for (const space of ["user", "team", "chat"] as const) {
    const id = ids[space];
    const ask: Ask = (method, ...args) => invokeNamed(`memory.${method}`, [space, ...args]);
    if (typeof id === "string") later(memory, space, () => namespaceOf(space, id, ask));
  }
  const id = ids["context"];
  later(memory, "context", () => namespaceOf("context", typeof id === "string" ? id : "", askOf(context)));
  return api("ctx.memory", memory);
}
