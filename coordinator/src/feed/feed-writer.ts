/**
 * Gives recorded changes their numbers and tells every replica. Works on the leader only.
 *
 * F1  Each workspace's events are dense: 1, 2, 3 … in the order of their commit.
 * F2  A committed change has an event after it whose data is at least as new as the change: data is read under the lock under
 *     which numbers are given, so a later event never holds older data.
 * F3  Several changes of one object in a batch are one event.
 * F4  Two writers at once do no harm: the lock is the database's.
 */

import { type Bus, subjects } from "@mesh/bus";
import { type Clock, Doorbell, errorText, type JsonObject, type Service, ulidOf } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store, Tx } from "@mesh/store";

import { type FeedKey, feedKeyName, type FeedKind } from "./feed-object.ts";
import { appendFeed, dropOldFeed, lockFeeds, type NewFeedEvent, type OutboxRow, takeOutbox } from "./feed-store.ts";

/** What the writer uses. */
export interface FeedWriterDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  readonly kinds: readonly FeedKind[];
  /** Told which workspaces' feeds grew, here; the other replicas hear it over the bus. */
  readonly grown: (workspaceIds: readonly string[]) => void;
}

const BATCH = 500;
/** How long a change waits for its number at most, when nobody rings. */
const LOOK_MS = 100;
const HOUSEKEEPING_MS = 60_000;
const KEEP_MS = 7 * 86_400_000;
const KEEP_EVENTS = 100_000;
const DROP_BATCH = 20_000;

/** See the guarantees above. */
export class FeedWriter implements Service {
  readonly name = "feed-writer";
  readonly #deps: FeedWriterDeps;
  readonly #kinds: ReadonlyMap<string, FeedKind>;
  readonly #bell: Doorbell;

  constructor(deps: FeedWriterDeps) {
    this.#deps = deps;
    this.#kinds = new Map(deps.kinds.map((kind) => [kind.noun, kind]));
    this.#bell = new Doorbell(deps.clock);
  }

  /** Something was just committed here. */
  poke(): void {
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    let cleanedMs = this.#deps.clock.monotonic();
    while (!signal.aborted) {
      const isFull = this.#deps.isLeader() && (await this.#attempt(() => this.number())) === BATCH;
      if (this.#deps.clock.monotonic() - cleanedMs >= HOUSEKEEPING_MS && this.#deps.isLeader()) {
        cleanedMs = this.#deps.clock.monotonic();
        await this.#attempt(() => dropOldFeed(this.#deps.store.sql, KEEP_MS, KEEP_EVENTS, DROP_BATCH));
      }
      if (!isFull) await this.#bell.wait(signal, LOOK_MS);
    }
  }

  /** Numbers one batch; how many recorded changes it took. */
  async number(): Promise<number> {
    const { taken, workspaces } = await this.#deps.store.sql.begin(async (tx) => {
      if (!(await lockFeeds(tx))) return { taken: 0, workspaces: [] };
      const batch = await takeOutbox(tx, BATCH);
      const events = await this.#read(tx, batch.rows);
      if (events.length > 0) await appendFeed(tx, events);
      return { taken: batch.taken, workspaces: [...new Set(events.map((event) => event.workspaceId))] };
    });
    this.#deps.grown(workspaces);
    for (const id of workspaces) this.#deps.bus.publish(subjects.feed(ulidOf(id)), Buffer.alloc(0));
    return taken;
  }

  async #read(tx: Tx, rows: readonly OutboxRow[]): Promise<NewFeedEvent[]> {
    const byNoun = new Map<string, Map<string, FeedKey>>();
    for (const { workspace_id: workspaceId, kind, object } of rows) {
      const keys = byNoun.get(kind) ?? new Map<string, FeedKey>();
      byNoun.set(kind, keys.set(feedKeyName({ workspaceId, object }), { workspaceId, object }));
    }
    const events: NewFeedEvent[] = [];
    for (const [noun, keys] of byNoun) {
      const kind = this.#kinds.get(noun);
      const found = kind === undefined ? undefined : await kind.read(tx, [...keys.values()]);
      for (const [name, key] of keys) events.push(toEvent(noun, kind, key, found?.get(name)));
    }
    return events;
  }

  async #attempt(work: () => Promise<number>): Promise<number> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, "changes cannot be numbered; tried again");
      return 0;
    }
  }
}

// A kind that nobody reads is still told: it says that the object is to be read again.
function toEvent(noun: string, kind: FeedKind | undefined, key: FeedKey, data: JsonObject | undefined): NewFeedEvent {
  const isGone = kind !== undefined && data === undefined;
  return {
    ...key,
    kind: isGone ? kind.gone : `${noun}.changed`,
    data: JSON.stringify(data ?? { id: key.object }),
  };
}
