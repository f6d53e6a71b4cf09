/** Loads and follows the events of a run. */

import type { RunEvent } from "@mesh/proto";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";

import { listRunEvents } from "../../api/runs.ts";
import { runSocket } from "../../feed/runs.ts";
import { addLive, addNewer, addOlder, EVENT_PAGE, type EventWindow, olderPage, openWindow } from "./event-window.ts";

/** What a list of events is given. */
export interface RunEvents {
  readonly window: EventWindow | undefined;
  readonly error: unknown;
  readonly older: () => void;
  readonly newer: () => void;
  readonly toStart: () => void;
  readonly toEnd: () => void;
  readonly reload: () => void;
}

interface Page {
  readonly after_seq: number;
  readonly limit: number;
}

interface Pages extends Omit<RunEvents, "reload" | "newer"> {
  readonly newer: () => void;
  readonly setWindow: (change: (before: EventWindow | undefined) => EventWindow) => void;
  readonly setError: (error: unknown) => void;
  /** The reader is at the newest event. */
  readonly wantsEnd: RefObject<boolean>;
}

/** Opens at the newest event; `lastSeq` is where the run was when the page asked, and must stay the same. */
export function useRunEvents(run: string, lastSeq: number): RunEvents {
  const pages = usePages(run, lastSeq);
  const { window, toEnd, newer, wantsEnd, setWindow, setError } = pages;
  const [round, setRound] = useState(0);
  useEffect(() => {
    setError(undefined);
    toEnd();
    const waiting: RunEvent[] = [];
    return runSocket.follow(run, lastSeq, {
      onEvent: (event) => {
        waiting.push(event);
        if (waiting.length > 1) return;
        requestAnimationFrame(() => {
          const live = waiting.splice(0);
          setWindow((before) => addLive(before ?? openWindow([], lastSeq), live));
        });
      },
      onEnd: () => undefined,
      onError: (message) => setError(new Error(message)),
    });
  }, [run, lastSeq, toEnd, setWindow, setError, round]);
  useEffect(() => {
    // What came between the page and the first live event is loaded without being asked for.
    if (wantsEnd.current && window !== undefined && window.events.length > 0) newer();
  }, [window, wantsEnd, newer]);
  return { ...pages, reload: () => setRound((before) => before + 1) };
}

function usePages(run: string, lastSeq: number): Pages {
  const [window, setWindow] = useState<EventWindow>();
  const [error, setError] = useState<unknown>();
  const latest = useRef<EventWindow>(undefined);
  latest.current = window;
  const isBusy = useRef(false);
  const jumps = useRef(0);
  const wantsEnd = useRef(true);
  const load = useCallback(
    async (page: Page, take: (events: readonly RunEvent[]) => EventWindow, isJump = false) => {
      if (isBusy.current && !isJump) return;
      // A jump does not wait, and what was on its way before it is not wanted any more.
      if (isJump) jumps.current += 1;
      const jump = jumps.current;
      isBusy.current = true;
      try {
        const { events } = await listRunEvents({ run, ...page });
        if (jump === jumps.current) setWindow(take(events));
      } catch (thrown) {
        setError(thrown);
      } finally {
        if (jump === jumps.current) isBusy.current = false;
      }
    },
    [run],
  );
  const toEnd = useCallback(() => {
    wantsEnd.current = true;
    const newest = latest.current?.newestSeq ?? lastSeq;
    const page = { after_seq: Math.max(0, newest - EVENT_PAGE), limit: EVENT_PAGE };
    void load(page, (events) => openWindow(events, latest.current?.newestSeq ?? newest), true);
  }, [lastSeq, load]);
  const newer = useCallback(() => {
    const held = latest.current;
    if (held === undefined || held.isAtEnd) return;
    const page = { after_seq: held.events.at(-1)?.seq ?? 0, limit: EVENT_PAGE };
    void load(page, (events) => addNewer(latest.current ?? held, events));
  }, [load]);
  const older = (): void => {
    const page = window === undefined ? undefined : olderPage(window);
    if (page === undefined) return;
    void load(page, (events) => {
      const grown = addOlder(latest.current ?? openWindow([], lastSeq), events);
      wantsEnd.current = grown.isAtEnd;
      return grown;
    });
  };
  const toStart = (): void => {
    wantsEnd.current = false;
    const page = { after_seq: 0, limit: EVENT_PAGE };
    void load(page, (events) => openWindow(events, latest.current?.newestSeq ?? lastSeq, "start"), true);
  };
  return { window, setWindow, error, setError, wantsEnd, older, newer, toStart, toEnd };
}
