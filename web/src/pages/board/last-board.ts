/** The board as it was last seen, kept by this browser for reading without a network. */

import type { Board, Column, Task } from "@mesh/proto";

import { isRecord } from "../../api/error.ts";
import { browserClock } from "../../app/clock.ts";

/** What is kept. */
export interface LastBoard {
  readonly at: string;
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly cards: readonly LastCard[] }[];
}

/** What of a card is kept. */
export type LastCard = Pick<Task, "id" | "key" | "title" | "run_state" | "summary">;

const CACHE = "last-board";
const ADDRESS = "/last-board.json";
const MAX_CARDS = 50;
const QUIET_MS = 2_000;
let cancel: (() => void) | undefined;

/** Keeps the first cards of each column, once nothing changes for a moment. */
export function keepBoard(board: Board, loaded: ReadonlyMap<string, readonly Task[]>): void {
  if (!("caches" in globalThis)) return;
  cancel?.();
  cancel = browserClock.after(QUIET_MS, () => {
    const kept: LastBoard = {
      at: new Date(browserClock.now()).toISOString(),
      name: board.name,
      columns: board.columns.map((column: Column) => ({
        name: column.name,
        cards: (loaded.get(column.id) ?? []).slice(0, MAX_CARDS).map(lastCard),
      })),
    };
    // A full disk is no reason to bother anybody.
    caches
      .open(CACHE)
      .then((cache) => cache.put(ADDRESS, Response.json(kept)))
      .catch(() => undefined);
  });
}

function lastCard({ id, key, title, run_state, summary }: Task): LastCard {
  return { id, key, title, run_state, summary };
}

/** What was kept; undefined when nothing was. */
export async function lastBoard(): Promise<LastBoard | undefined> {
  if (!("caches" in globalThis)) return undefined;
  const kept = await caches.match(ADDRESS, { cacheName: CACHE });
  const value: unknown = await kept?.json().catch(() => undefined);
  return isRecord(value) && Array.isArray(value["columns"]) ? (value as unknown as LastBoard) : undefined;
}
