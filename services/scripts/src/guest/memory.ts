/** `ctx.memory` and `ctx.space`: namespaces kept by the host, and the one that lives here. */

import { MemoryNamespace } from "../memory/memory-namespace.ts";
import { api, isRecord, jsonOf, keyOf, numberOf } from "./api.ts";
import { invoke } from "./bridge.ts";
import type { Json, JsonObject } from "@mesh/kernel";

type Methods = Record<string, unknown>;

const now = (): number => new Date().getTime();

/** `ctx.memory.context` of this call, a copy of the run's. */
export const contextSpace: MemoryNamespace = new MemoryNamespace(now);

/** A namespace the host keeps. */
export function remoteMemory(space: "user" | "team" | "chat", id: string): Methods {
  const key = (value: unknown): string => keyOf(value, `ctx.memory.${space}: the key`);
  const number = (value: unknown, what: string): number => numberOf(value, `ctx.memory.${space}: ${what}`);
  return api(`ctx.memory.${space}`, {
    id,
    space,
    Get: (name: unknown) => orNull(invoke("memory.Get", space, key(name))),
    Set: (name: unknown, value: unknown, ttl?: unknown) =>
      void invoke("memory.Set", space, key(name), jsonOf(value), secondsOf(ttl)),
    Del: (name: unknown) => void invoke("memory.Del", space, key(name)),
    Has: (name: unknown) => invoke("memory.Has", space, key(name)) === true,
    GetDel: (name: unknown) => orNull(invoke("memory.GetDel", space, key(name))),
    Keys: () => invoke("memory.Keys", space) ?? [],
    Len: () => invoke("memory.Len", space) ?? 0,
    Clear: () => void invoke("memory.Clear", space),
    Incr: (name: unknown, by: unknown = 1) => invoke("memory.Incr", space, key(name), number(by, "the delta")),
    Decr: (name: unknown, by: unknown = 1) => invoke("memory.Decr", space, key(name), number(by, "the delta")),
    Push: (name: unknown, ...values: readonly unknown[]) => invoke("memory.Push", space, key(name), valuesOf(values)),
    Pop: (name: unknown) => orNull(invoke("memory.Pop", space, key(name))),
    Pull: (name: unknown, count: unknown) => invoke("memory.Pull", space, key(name), number(count, "the count")) ?? [],
    PullAll: (name: unknown) => invoke("memory.PullAll", space, key(name)) ?? [],
    AddToSet: (name: unknown, ...values: readonly unknown[]) =>
      invoke("memory.AddToSet", space, key(name), valuesOf(values)),
    ArrayLen: (name: unknown) => invoke("memory.ArrayLen", space, key(name)) ?? 0,
    ArrayGet: (name: unknown, at: unknown) =>
      orNull(invoke("memory.ArrayGet", space, key(name), number(at, "the index"))),
    ArraySet: (name: unknown, at: unknown, value: unknown) =>
      void invoke("memory.ArraySet", space, key(name), number(at, "the index"), jsonOf(value)),
    ArraySlice: (name: unknown, start: unknown, end: unknown = -1) =>
      invoke("memory.ArraySlice", space, key(name), number(start, "the start"), number(end, "the end")) ?? [],
    ArrayPage: (name: unknown, page: unknown, size: unknown) =>
      invoke("memory.ArrayPage", space, key(name), number(page, "the page"), number(size, "the size")) ?? [],
    ArrayAll: (name: unknown) => invoke("memory.ArrayAll", space, key(name)) ?? [],
  });
}

/** The namespace of the request; no call of it leaves the context. */
export function contextMemory(id: string, memory: MemoryNamespace): Methods {
  const key = (value: unknown): string => keyOf(value, "ctx.memory.context: the key");
  const number = (value: unknown, what: string): number => numberOf(value, `ctx.memory.context: ${what}`);
  return api("ctx.memory.context", {
    id,
    space: "context",
    Get: (name: unknown) => memory.get(key(name)),
    Set: (name: unknown, value: unknown, ttl?: unknown) => memory.set(key(name), plain(value), secondsOf(ttl)),
    Del: (name: unknown) => memory.del(key(name)),
    Has: (name: unknown) => memory.has(key(name)),
    GetDel: (name: unknown) => memory.getDel(key(name)),
    Keys: () => memory.keys(),
    Len: () => memory.len(),
    Clear: () => memory.clear(),
    Incr: (name: unknown, by: unknown = 1) => memory.incr(key(name), number(by, "the delta")),
    Decr: (name: unknown, by: unknown = 1) => memory.incr(key(name), -number(by, "the delta")),
    Push: (name: unknown, ...values: readonly unknown[]) => memory.push(key(name), valuesOf(values).map(plain)),
    Pop: (name: unknown) => memory.pop(key(name)),
    Pull: (name: unknown, count: unknown) => memory.pull(key(name), number(count, "the count")),
    PullAll: (name: unknown) => memory.pullAll(key(name)),
    AddToSet: (name: unknown, ...values: readonly unknown[]) => memory.addToSet(key(name), valuesOf(values).map(plain)),
    ArrayLen: (name: unknown) => memory.arrayLen(key(name)),
    ArrayGet: (name: unknown, at: unknown) => memory.arrayGet(key(name), number(at, "the index")),
    ArraySet: (name: unknown, at: unknown, value: unknown) =>
      memory.arraySet(key(name), number(at, "the index"), plain(value)),
    ArraySlice: (name: unknown, start: unknown, end: unknown = -1) =>
      memory.arraySlice(key(name), number(start, "the start"), number(end, "the end")),
    ArrayPage: (name: unknown, page: unknown, size: unknown) =>
      memory.arrayPage(key(name), number(page, "the page"), number(size, "the size")),
    ArrayAll: (name: unknown) => memory.arrayAll(key(name)),
  });
}

/** `ctx.space`, the older name of the request's memory, with the older methods. */
export function spaceOf(memory: MemoryNamespace): Methods {
  const key = (value: unknown): string => keyOf(value, "ctx.space: the key");
  return api("ctx.space", {
    Get: (name: unknown) => memory.get(key(name)),
    Set: (name: unknown, value: unknown) => memory.set(key(name), plain(value), null),
    Delete: (name: unknown) => memory.del(key(name)),
    GetDel: (name: unknown) => memory.getDel(key(name)),
  });
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

/** The value as JSON would carry it: dates as text, no functions, no shared objects. */
function plain(value: unknown): Json {
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" || typeof value === "boolean" || Number.isFinite(value) ? (value as Json) : null;
  }
  const text = JSON.stringify(value) as string | undefined;
  return text === undefined ? null : (JSON.parse(text) as Json);
}

function orNull(value: Json | undefined): Json {
  return value ?? null;
}

/** Namespaces of a context, by the ids it has. */
export function memoryOf(ids: JsonObject, context: MemoryNamespace): Methods {
  const remote = (space: "user" | "team" | "chat"): Methods => {
    const id = ids[space];
    return typeof id === "string" ? { [space]: remoteMemory(space, id) } : {};
  };
  return api("ctx.memory", {
    ...remote("user"),
    ...remote("team"),
    ...remote("chat"),
    context: contextMemory(typeof ids["context"] === "string" ? ids["context"] : "", context),
  });
}
