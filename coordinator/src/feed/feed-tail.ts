/**
 * Wakes followers of feeds and reads for them.
 *
 * The database is the only source: a hint says "look", never what is there, so a lost one only costs time.
 */

import { type Bus, subjects, workspaceOfSubject } from "@mesh/bus";
import { type Clock, Doorbell, type Service } from "@mesh/kernel";
import type { Sql, Store } from "@mesh/store";

import { SharedRead } from "../shared-read.ts";
import { type FeedCursor, type FeedRow, readFeeds } from "./feed-store.ts";

const PAGE = 200;
/** Followers look this often even without a hint. */
const POLL_MS = 2000;

/** The followers of this replica. */
export class FeedTail implements Service {
  readonly name = "feed-tail";
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #bells = new Map<string, Set<Doorbell>>();
  readonly #pages: SharedRead<FeedCursor, FeedRow[]>;

  constructor(deps: { readonly store: Pick<Store, "sql">; readonly bus: Bus; readonly clock: Clock }) {
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#pages = new SharedRead(nameOf, async (cursors) => readPages(deps.store.sql, cursors));
  }

  /** These workspaces' feeds grew. */
  grown(workspaceIds: readonly string[]): void {
    for (const id of workspaceIds) for (const bell of this.#bells.get(id) ?? []) bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const hints = this.#bus.subscribe(subjects.anyFeed, (_data, subject) =>
      this.grown([`ws_${workspaceOfSubject(subject)}`]),
    );
    try {
      await new Doorbell().wait(signal);
    } finally {
      hints.stop();
    }
  }

  /** Pages of events after the cursor, oldest first, without end; a page is empty when nothing came for a while. */
  async *follow(workspaceId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<readonly FeedRow[]> {
    const bell = new Doorbell(this.#clock);
    const bells = this.#bells.get(workspaceId) ?? new Set();
    this.#bells.set(workspaceId, bells.add(bell));
    let cursor = afterSeq;
    try {
      while (!signal.aborted) {
        const rows = (await this.#pages.get({ workspaceId, afterSeq: cursor })) ?? [];
        cursor = rows.at(-1)?.seq ?? cursor;
        yield rows;
        if (rows.length < PAGE) await bell.wait(signal, POLL_MS);
      }
    } finally {
      bells.delete(bell);
      if (bells.size === 0) this.#bells.delete(workspaceId);
    }
  }
}

function nameOf({ workspaceId, afterSeq }: FeedCursor): string {
  return `${workspaceId} ${afterSeq}`;
}

async function readPages(sql: Sql, cursors: readonly FeedCursor[]): Promise<ReadonlyMap<string, FeedRow[]>> {
  const pages = new Map<string, FeedRow[]>();
  for (const row of await readFeeds(sql, cursors, PAGE)) {
    const page = pages.get(nameOf(row));
    if (page === undefined) pages.set(nameOf(row), [row]);
    else page.push(row);
  }
  return pages;
}
