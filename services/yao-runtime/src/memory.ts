/** `ctx.memory` and `ctx.space`: what assistants remember. */

import type { Value } from "./value.ts";

/**
 * What an assistant remembers, at four distances. Values are anything JSON can hold; the first three outlive the run.
 *
 * @example
 * const visits = ctx.memory.user.Incr("visits");
 */
export interface Memory {
  /** Of this person, in every conversation. */
  readonly user: MemoryNamespace;
  /** Of this person's team; undefined for people without one. */
  readonly team: MemoryNamespace;
  /** Of this conversation. */
  readonly chat: MemoryNamespace;
  /** Of this request: shared by its hooks, gone when it ends, and as fast as a variable. */
  readonly context: MemoryNamespace;
}

/** How long something is kept: seconds, or with the unit said outright. */
export type TimeToLive = number | { seconds: number } | { ms: number };

/** One distance of {@link Memory}. Every method is atomic, also between devices. */
export interface MemoryNamespace {
  /** Whose memory this is. */
  readonly id: string;
  /** Which distance this is. */
  readonly space: "user" | "team" | "chat" | "context";

  /**
   * The value, or null.
   * @example
   * const theme = ctx.memory.user.Get("theme") ?? "light";
   */
  Get(key: string): Value;
  /**
   * Remembers a value, for so many seconds if given.
   * @example
   * ctx.memory.chat.Set("draft", { title: "Plan" }, 3600);
   */
  Set(key: string, value: Value, ttl?: TimeToLive): void;
  /**
   * Forgets a key; `*` stands for anything.
   * @example
   * ctx.memory.chat.Del("cache:*");
   */
  Del(key: string): void;
  /**
   * Whether there is such a key.
   * @example
   * if (!ctx.memory.user.Has("welcomed")) ctx.Send("Welcome!");
   */
  Has(key: string): boolean;
  /**
   * The value, forgotten in the same moment: of two who ask, one gets it.
   * @example
   * const token = ctx.memory.context.GetDel("token");
   */
  GetDel(key: string): Value;

  /**
   * All keys.
   * @example
   * const drafts = ctx.memory.chat.Keys().filter((key) => key.startsWith("draft:"));
   */
  Keys(): string[];
  /**
   * How many keys there are.
   * @example
   * console.log(ctx.memory.user.Len());
   */
  Len(): number;
  /**
   * Forgets everything here.
   * @example
   * ctx.memory.context.Clear();
   */
  Clear(): void;

  /**
   * Counts up, by 1 unless told otherwise, and gives the new number; a missing key counts as 0.
   * @example
   * if (ctx.memory.user.Incr("requests") > 100) throw new Exception("Come back tomorrow", 429);
   */
  Incr(key: string, delta?: number): number;
  /**
   * Counts down.
   * @example
   * const left = ctx.memory.team.Decr("credits", 5);
   */
  Decr(key: string, delta?: number): number;

  /**
   * Appends to a list and gives its new length.
   * @example
   * ctx.memory.chat.Push("topics", ["prices", "dates"]);
   */
  Push(key: string, values: Value[]): number;
  Push(key: string, ...values: Value[]): number;
  /**
   * Takes the last element; null when there is none.
   * @example
   * const task = ctx.memory.chat.Pop("tasks");
   */
  Pop(key: string): Value;
  /**
   * Takes the last `count` elements.
   * @example
   * const newest = ctx.memory.chat.Pull("notes", 5);
   */
  Pull(key: string, count: number): Value[];
  /**
   * Takes everything in the list.
   * @example
   * for (const job of ctx.memory.context.PullAll("jobs")) console.log(job);
   */
  PullAll(key: string): Value[];
  /**
   * Appends what is not in the list yet, and gives the new length.
   * @example
   * ctx.memory.user.AddToSet("visited", ["/home", "/about"]);
   */
  AddToSet(key: string, values: Value[]): number;
  AddToSet(key: string, ...values: Value[]): number;

  /**
   * Length of a list.
   * @example
   * const count = ctx.memory.chat.ArrayLen("notes");
   */
  ArrayLen(key: string): number;
  /**
   * One element; -1 is the last.
   * @example
   * const last = ctx.memory.chat.ArrayGet("notes", -1);
   */
  ArrayGet(key: string, index: number): Value;
  /**
   * Replaces one element.
   * @example
   * ctx.memory.chat.ArraySet("notes", 0, "changed");
   */
  ArraySet(key: string, index: number, value: Value): void;
  /**
   * A part of a list; negative positions count from the end.
   * @example
   * const recent = ctx.memory.chat.ArraySlice("notes", -10, -1);
   */
  ArraySlice(key: string, start: number, end?: number): Value[];
  /**
   * One page of a list; the first page is 1.
   * @example
   * const page = ctx.memory.chat.ArrayPage("notes", 1, 20);
   */
  ArrayPage(key: string, page: number, size: number): Value[];
  /**
   * The whole list.
   * @example
   * const notes = ctx.memory.chat.ArrayAll("notes");
   */
  ArrayAll(key: string): Value[];
}

/**
 * Values shared by the hooks of a request and the assistants it calls. New scripts use `ctx.memory.context`.
 *
 * @example
 * ctx.space.Set("plan", ["search", "write"]);
 */
export interface Space {
  /**
   * The value, or null.
   * @example
   * const plan = ctx.space.Get("plan");
   */
  Get(key: string): Value;
  /**
   * Sets a value.
   * @example
   * ctx.space.Set("step", 1);
   */
  Set(key: string, value: Value): void;
  /**
   * Removes a key.
   * @example
   * ctx.space.Delete("step");
   */
  Delete(key: string): void;
  /**
   * The value, removed at once.
   * @example
   * const plan = ctx.space.GetDel("plan");
   */
  GetDel(key: string): Value;
}
