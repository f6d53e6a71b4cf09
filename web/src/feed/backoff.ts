/** How long to wait before the next try: 1 s doubling to 30 s, each between half and all of it. Pure. */

const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/** What reaches the server; the browser's `fetch` is one. */
export type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** Milliseconds before try number `attempt`, from 0; `random` is at least 0 and below 1. */
export function backoffMs(attempt: number, random: number): number {
  const full = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  return Math.round(full * (0.5 + random / 2));
}
