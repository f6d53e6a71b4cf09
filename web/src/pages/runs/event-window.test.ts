import type { RunEvent } from "@mesh/proto";
import { expect, test } from "vitest";

import { addLive, addNewer, addOlder, EVENT_PAGE, olderPage, openWindow } from "./event-window.ts";

const range = (from: number, to: number): RunEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({
    run_id: "run_1",
    seq: from + index,
    epoch: 1,
    at: "",
    kind: "message",
    data: {},
  }));
const ends = ({ events }: { readonly events: readonly RunEvent[] }): unknown => [events[0]?.seq, events.at(-1)?.seq];

test("of 100,000 events the newest page is held, and the page before it is asked for", () => {
  const window = openWindow(range(99_501, 100_000), 100_000);
  expect(window.isAtEnd).toBe(true);
  expect(olderPage(window)).toEqual({ after_seq: 99_000, limit: EVENT_PAGE });
  expect(olderPage(openWindow(range(201, 700), 700))).toEqual({ after_seq: 0, limit: 200 });
  expect(olderPage(openWindow(range(1, 500), 500))).toBeUndefined();
});

test("W1: after the newest were dropped, what happens now is counted and not held, until the pages between have come", () => {
  let window = openWindow(range(9_501, 10_000), 10_000);
  for (let from = 9_001; from >= 4_501; from -= 500) window = addOlder(window, range(from, from + 499));
  expect(ends(window)).toEqual([4_501, 9_500]);
  window = addLive(window, range(10_001, 10_002));
  expect([ends(window), window.newestSeq, window.isAtEnd]).toEqual([[4_501, 9_500], 10_002, false]);
  window = addNewer(window, range(9_501, 10_000));
  expect(window.isAtEnd).toBe(false);
  window = addNewer(window, range(10_001, 10_002));
  window = addLive(window, range(10_003, 10_003));
  expect([ends(window), window.isAtEnd]).toEqual([[5_004, 10_003], true]);
  for (const [index, event] of window.events.entries()) expect(event.seq).toBe(5_004 + index);
});

test("W3: a page and the live events may overlap", () => {
  const window = addLive(openWindow(range(1, 5), 5), range(4, 7));
  expect(window.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(addOlder(window, range(1, 3)).events).toHaveLength(7);
});
