/**
 * The part of a run's events that the page holds: it begins at the newest and grows towards the older ones, however many
 * there are. Pure.
 *
 * W1  What is held has no hole: an event that does not follow the last held one is left out and only counted.
 * W2  At most 5,000 events are held; what grows at one end is dropped at the other.
 * W3  No event is held twice.
 */

import type { RunEvent } from "@mesh/proto";

/** See the file comment. */
export interface EventWindow {
  readonly events: readonly RunEvent[];
  /** The newest event that is known of, held or not. */
  readonly newestSeq: number;
  /** The newest event is held, so that the next one follows it. */
  readonly isAtEnd: boolean;
  /** The last change was at the beginning: a list keeps its place on the screen. */
  readonly isPrepended: boolean;
  /** Just opened, at this end: that is what is looked at. Undefined once it grew. */
  readonly opensAt?: "start" | "end" | undefined;
}

/** Number of events that one call loads. */
export const EVENT_PAGE = 500;

const MAX_HELD = 5_000;

/** A window that begins with a page. */
export function openWindow(
  events: readonly RunEvent[],
  newestSeq: number,
  opensAt: "start" | "end" = "end",
): EventWindow {
  const last = events.at(-1)?.seq ?? 0;
  return { events, newestSeq: Math.max(newestSeq, last), isAtEnd: last >= newestSeq, isPrepended: false, opensAt };
}

/** The request for the page before what is held; undefined when there is none. */
export function olderPage({ events }: EventWindow): { after_seq: number; limit: number } | undefined {
  const first = events[0]?.seq ?? 1;
  if (first <= 1) return undefined;
  const after = Math.max(0, first - 1 - EVENT_PAGE);
  return { after_seq: after, limit: first - 1 - after };
}

/** Adds older events at the beginning. */
export function addOlder(window: EventWindow, older: readonly RunEvent[]): EventWindow {
  const first = window.events[0]?.seq ?? Number.POSITIVE_INFINITY;
  const all = [...older.filter(({ seq }) => seq < first), ...window.events];
  const events = all.slice(0, MAX_HELD);
  return {
    ...window,
    events,
    isAtEnd: window.isAtEnd && events.length === all.length,
    isPrepended: true,
    opensAt: undefined,
  };
}

/** Adds a page that follows what is held. */
export function addNewer(window: EventWindow, newer: readonly RunEvent[]): EventWindow {
  const last = window.events.at(-1)?.seq ?? 0;
  const events = [...window.events, ...newer.filter(({ seq }) => seq > last)].slice(-MAX_HELD);
  const newest = events.at(-1)?.seq ?? 0;
  const newestSeq = Math.max(window.newestSeq, newest);
  return { events, newestSeq, isAtEnd: newest >= newestSeq, isPrepended: false };
}

/** Takes events as they happen. */
export function addLive(window: EventWindow, live: readonly RunEvent[]): EventWindow {
  if (live.length === 0) return window;
  if (window.isAtEnd) return addNewer(window, live);
  return { ...window, newestSeq: Math.max(window.newestSeq, live.at(-1)?.seq ?? 0), isPrepended: false };
}
