/** `Store`: values of a workspace that outlive its runs, in stores with names of your choice. */

import type { TimeToLive } from "./memory.ts";
import { outside } from "./outside.ts";
import type { Value, Values } from "./value.ts";

/** A store; the same names work as processes, as in `Process("stores.cache.Get", "key")`. */
export interface Store {
  /**
   * The value, or null.
   * @example
   * const rate = new Store("cache").Get("rate");
   */
  Get(key: string): Value;
  /**
   * Sets a value, for so many seconds if given.
   * @example
   * new Store("cache").Set("rate", 1.08, 600);
   */
  Set(key: string, value: Value, ttl?: TimeToLive): void;
  /**
   * The value; when there is none, what the function makes, which is then kept.
   * @example
   * const rate = new Store("cache").GetSet("rate", () => http.Get("https://api.example.com/rate").data, 600);
   */
  GetSet<T = Value>(key: string, make: (key: string) => T, ttl?: number): T;
  /** Whether there is such a key. */
  Has(key: string): boolean;
  /** Removes a key; `*` stands for anything. */
  Del(key: string): void;
  /** The value, removed at once. */
  GetDel(key: string): Value;
  /** All keys. */
  Keys(): string[];
  /** How many keys there are. */
  Len(): number;
  /** Removes everything. */
  Clear(): void;
  /**
   * Several values at once; missing keys are left out.
   * @example
   * const { a, b } = new Store("cache").GetMulti(["a", "b"]);
   */
  GetMulti(keys: string[]): Values;
  /** Sets several at once. */
  SetMulti(values: Values, ttl?: TimeToLive): void;
  /** Removes several at once. */
  DelMulti(keys: string[]): void;
  /** Several values; what is missing is made by the function and kept. */
  GetSetMulti(keys: string[], make: (key: string) => Value, ttl?: number): Values;
  /** Counts up and gives the new number. */
  Incr(key: string, delta?: number): number;
  /** Counts down and gives the new number. */
  Decr(key: string, delta?: number): number;
  /**
   * Appends to a list and gives its new length.
   * @example
   * new Store("queue").Push("jobs", { id: 1 }, { id: 2 });
   */
  Push(key: string, ...values: Value[]): number;
  /** Takes the last element, or with -1 the first; null when there is none. */
  Pop(key: string, position?: 1 | -1): Value;
  /** Removes every element equal to the value. */
  Pull(key: string, value: Value): number;
  /** Removes every element equal to one of the values. */
  PullAll(key: string, values: Value[]): number;
  /** Appends what is not in the list yet. */
  AddToSet(key: string, ...values: Value[]): number;
  /** Length of a list. */
  ArrayLen(key: string): number;
  /** One element; -1 is the last. */
  ArrayGet(key: string, index: number): Value;
  /** Replaces one element. */
  ArraySet(key: string, index: number, value: Value): void;
  /** Up to `limit` elements after the first `skip`. */
  ArraySlice(key: string, skip: number, limit: number): Value[];
  /** One page of a list; the first page is 1. */
  ArrayPage(key: string, page: number, size: number): Value[];
  /** The whole list. */
  ArrayAll(key: string): Value[];
}

/** See {@link Store}. */
export interface StoreConstructor {
  new (id: string): Store;
  (id: string): Store;
}

/**
 * Opens a store by name.
 *
 * @example
 * const cache = new Store("cache");
 * cache.Set("seen", true, 3600);
 */
export const Store: StoreConstructor = outside("Store");
