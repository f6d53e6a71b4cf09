/**
 * Named stores as a port: what a process or `new Store(id)` asks for, as plain JSON that can travel.
 *
 * Every request is atomic. A store belongs to the workspace of the scope; a missing key, a key whose time is over and a
 * key never set are the same. Lists are ordinary values; an operation on a list that finds another kind of value fails
 * with `failed_precondition`, a position outside a list with `out_of_range`.
 */

import type { Json } from "@mesh/kernel";

import type { Scope } from "./process-caller.ts";

/** What each operation takes besides the store, and what it answers. */
export interface StoreOperations {
  /** The value, or null. */
  readonly get: { readonly key: string };
  /** The value that was there, or null. */
  readonly getDel: { readonly key: string };
  /** Null. */
  readonly set: { readonly key: string; readonly value: Json; readonly ttlMs?: number };
  /** A boolean. */
  readonly has: { readonly key: string };
  /** Null; `*` in the key stands for anything. */
  readonly del: { readonly key: string };
  /** All keys, sorted. */
  readonly keys: unknown;
  /** Number of keys. */
  readonly len: unknown;
  /** Null. */
  readonly clear: unknown;
  /** An object of the keys that were found. */
  readonly getMulti: { readonly keys: readonly string[] };
  /** Null. */
  readonly setMulti: { readonly values: Readonly<Record<string, Json>>; readonly ttlMs?: number };
  /** Null. */
  readonly delMulti: { readonly keys: readonly string[] };
  /** The new number; a missing value, and one that is no number, count as 0. Keeps the time to live. */
  readonly incr: { readonly key: string; readonly by: number };
  /** The new length. */
  readonly push: { readonly key: string; readonly values: readonly Json[] };
  /** The new length; values equal to one that is there are left out. */
  readonly addToSet: { readonly key: string; readonly values: readonly Json[] };
  /** The element taken, or null when there is none. */
  readonly pop: { readonly key: string; readonly end: "first" | "last" };
  /** The new length, without every element equal to one of the values. */
  readonly pull: { readonly key: string; readonly values: readonly Json[] };
  /** The length. */
  readonly arrayLen: { readonly key: string };
  /** The whole list. */
  readonly arrayAll: { readonly key: string };
  /** The element; a negative index counts from the end. */
  readonly arrayGet: { readonly key: string; readonly index: number };
  /** Null. */
  readonly arraySet: { readonly key: string; readonly index: number; readonly value: Json };
  /** Up to `limit` elements after the first `skip`. */
  readonly arraySlice: { readonly key: string; readonly skip: number; readonly limit: number };
}

/** One operation, without the store it is for. */
export type StoreOperation = {
  [Op in keyof StoreOperations]: { readonly op: Op } & StoreOperations[Op];
}[keyof StoreOperations];

/** One operation on one store. */
export type StoreRequest = StoreOperation & { readonly store: string };

/** Serves store requests of a scope. */
export interface StorePort {
  call(scope: Scope, request: StoreRequest, signal: AbortSignal): Promise<Json>;
}
