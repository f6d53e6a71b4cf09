/**
 * What events of the feed do to what was loaded.
 *
 * P1  An object takes the place of an older revision of itself, wherever it is cached; an older one is ignored.
 *     One of the same revision takes it too: the state of runs and the last line change without a revision of their own.
 * P2  What cannot be patched is loaded again, at most twice a second per kind.
 *
 * Keys of queries begin with the name of what they hold: ["task", id], ["nodes", workspace]. A folder with caches of its
 * own form adds a handler with `onFeed`.
 */

import type { FeedEvent } from "@mesh/proto";
import type { QueryClient, QueryKey } from "@tanstack/react-query";

import { isRecord } from "../api/error.ts";
import type { Clock } from "../app/clock.ts";

/** Patches caches; true when nothing needs to be loaded again. */
export type FeedHandler = (event: FeedEvent, client: QueryClient) => boolean;

interface Rule {
  /** Key prefix of lists, and the field of their response that holds the objects. */
  readonly lists: readonly (readonly [key: string, field: string])[];
  /** Key prefix of single objects, and the field of their response. */
  readonly single?: readonly [key: string, field: string];
}

const RULES: Readonly<Record<string, Rule>> = {
  task: { lists: [], single: ["task", "task"] },
  board: { lists: [["boards", "boards"]], single: ["board", "board"] },
  run: {
    lists: [
      ["runs", "runs"],
      ["task-runs", "runs"],
    ],
    single: ["run", "run"],
  },
  node: { lists: [["nodes", "nodes"]], single: ["node", "node"] },
  inbox: { lists: [["inbox", "entries"]] },
  document: { lists: [["documents", "documents"]], single: ["document", "document"] },
  file: { lists: [["files", "files"]] },
  eval: { lists: [["evals", "evals"]], single: ["eval", "eval"] },
  workspace: { lists: [["workspaces", "workspaces"]] },
};

const AGAIN_MS = 500;

/** Applies the events of one tab. */
export class FeedApplier {
  readonly #client: QueryClient;
  readonly #clock: Clock;
  readonly #handlers = new Map<string, Set<FeedHandler>>();
  readonly #waiting = new Set<string>();

  constructor(client: QueryClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Adds a handler for objects of a kind, such as task; returns what removes it. */
  onFeed(object: string, handler: FeedHandler): () => void {
    const handlers = this.#handlers.get(object) ?? new Set();
    this.#handlers.set(object, handlers.add(handler));
    return () => handlers.delete(handler);
  }

  /** Applies one event. */
  apply(event: FeedEvent): void {
    const [object = "", what = ""] = event.kind.split(".");
    for (const handler of this.#handlers.get(object) ?? []) handler(event, this.#client);
    const rule = RULES[object];
    if (rule === undefined) return;
    const isGone = what === "deleted" || what === "removed";
    this.#patch(rule, event, isGone ? undefined : event.data);
    // What hangs on a task besides its fields.
    if (object === "task" && !isGone) for (const key of ["activity", "task-runs"]) this.#again(key, event.object);
  }

  #patch(rule: Rule, event: FeedEvent, patched: FeedEvent["data"]): void {
    if (rule.single !== undefined) this.#single(rule.single, event.object, patched);
    for (const [key, field] of rule.lists) {
      const isKnown = patched !== undefined && patchLists(this.#client, [key], field, patched);
      if (!isKnown) this.#again(key);
    }
  }

  /** Loads everything again that is shown. */
  reload(): void {
    void this.#client.invalidateQueries();
  }

  #single(
    [key, field]: readonly [string, string],
    id: string,
    data: Readonly<Record<string, unknown>> | undefined,
  ): void {
    if (data === undefined) {
      this.#again(key, id);
      return;
    }
    // A task may be cached under its key, such as T-12, too.
    this.#client.setQueriesData<Readonly<Record<string, unknown>>>({ queryKey: [key] }, (old) => {
      const known = old?.[field];
      if (old === undefined || !isRecord(known) || known["id"] !== id || !isNewer(data, known)) return old;
      return { ...old, [field]: { ...known, ...data } };
    });
    // Lists leave out what only the single object has, such as pending questions.
    if (key === "task" || key === "run") this.#again(key, id);
  }

  #again(key: string, id?: string): void {
    const name = id === undefined ? key : `${key} ${id}`;
    if (this.#waiting.has(name)) return;
    this.#waiting.add(name);
    this.#clock.after(AGAIN_MS, () => {
      this.#waiting.delete(name);
      void this.#client.invalidateQueries({
        queryKey: [key],
        predicate: ({ state, queryKey }) => concerns(queryKey, state.data, id),
      });
    });
  }
}

function concerns(key: QueryKey, data: unknown, id: string | undefined): boolean {
  if (id === undefined || key[1] === id) return true;
  return isRecord(data) && Object.values(data).some((value) => isRecord(value) && value["id"] === id);
}

/** Whether an object takes the place of another: by revision, and where there is none by the time of its last change. */
export function isNewer(next: Readonly<Record<string, unknown>>, known: Readonly<Record<string, unknown>>): boolean {
  const [a, b] = [next["revision"], known["revision"]];
  if (typeof a === "number" && typeof b === "number") return a >= b;
  const [at, knownAt] = [next["updated_at"], known["updated_at"]];
  return typeof at === "string" && typeof knownAt === "string" ? Date.parse(at) >= Date.parse(knownAt) : true;
}

function patchLists(
  client: QueryClient,
  queryKey: QueryKey,
  field: string,
  object: Readonly<Record<string, unknown>>,
): boolean {
  let found = false;
  client.setQueriesData<Readonly<Record<string, unknown>>>({ queryKey }, (old) => {
    const list: unknown = old?.[field];
    if (old === undefined || !Array.isArray(list)) return old;
    const at = list.findIndex((entry: unknown) => isRecord(entry) && entry["id"] === object["id"]);
    const known: unknown = list[at];
    if (!isRecord(known)) return old;
    found = true;
    return isNewer(object, known) ? { ...old, [field]: list.with(at, { ...known, ...object }) } : old;
  });
  return found;
}
