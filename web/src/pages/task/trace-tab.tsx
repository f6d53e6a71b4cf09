/** All events of a run: opens at the newest, however many there are; older ones come when one scrolls up. */

import type { RunEvent, Task } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import { useSearchParams } from "wouter";

import { getRun, listRunEvents } from "../../api/runs.ts";
import { runSocket } from "../../feed/runs.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Failure, Loaded, Skeleton } from "../../ui/state.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";

const PAGE = 500;
const MAX_HELD = 5_000;
const ROW_PX = 26;

/** The tab: of the run in the address, else of the task's newest. */
export default function TraceTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const [search] = useSearchParams();
  const id = search.get("run") ?? task.run_id;
  if (id === undefined || id === "") return <Empty icon="play" title={say("noRuns")} />;
  return <TraceOf key={id} id={id} />;
}

function TraceOf({ id }: { readonly id: string }): ReactNode {
  const run = useQuery({ queryKey: ["run", id], queryFn: () => getRun({ run: id }) });
  // Where the run was when the tab was opened; what comes later is followed.
  const [first, setFirst] = useState<number>();
  const lastSeq = run.data?.run?.last_seq;
  useEffect(() => {
    if (first === undefined && lastSeq !== undefined) setFirst(lastSeq);
  }, [first, lastSeq]);
  return <Loaded query={run}>{() => (first === undefined ? <Skeleton /> : <Events id={id} lastSeq={first} />)}</Loaded>;
}

interface Held {
  readonly events: readonly RunEvent[];
  /** The last change was at the beginning: the place on the screen is kept. */
  readonly isPrepended: boolean;
}

/** A window of the events: the newest pages, and older ones as far as one went back. */
function useEvents(id: string, lastSeq: number) {
  const [held, setHeld] = useState<Held>();
  const [error, setError] = useState<unknown>();
  const isBusy = useRef(false);
  const round = useRef(0);
  const load = useCallback(
    async (after: number, limit: number, place: "only" | "before") => {
      // A jump does not wait for what was being loaded, which is then dropped.
      if ((isBusy.current && place === "before") || limit <= 0) return;
      isBusy.current = true;
      round.current += 1;
      const own = round.current;
      try {
        const { events } = await listRunEvents({ run: id, after_seq: after, limit });
        if (own !== round.current) return;
        setHeld((before) =>
          place === "only" || before === undefined
            ? { events, isPrepended: false }
            : { events: [...events, ...before.events].slice(0, MAX_HELD), isPrepended: true },
        );
      } catch (thrown) {
        setError(thrown);
      } finally {
        if (own === round.current) isBusy.current = false;
      }
    },
    [id],
  );
  useEffect(() => {
    if (lastSeq === 0) setHeld({ events: [], isPrepended: false });
    void load(Math.max(0, lastSeq - PAGE), PAGE, "only");
    const waiting: RunEvent[] = [];
    return runSocket.follow(id, lastSeq, {
      onEvent: (event) => {
        waiting.push(event);
        if (waiting.length > 1) return;
        requestAnimationFrame(() => {
          const added = waiting.splice(0);
          setHeld((before) => ({
            events: [...(before?.events ?? []), ...added].slice(-MAX_HELD),
            isPrepended: false,
          }));
        });
      },
      onEnd: () => undefined,
      onError: (message) => setError(new Error(message)),
    });
  }, [id, lastSeq, load]);
  const firstSeq = held?.events[0]?.seq ?? 0;
  const older = useCallback(() => {
    const from = Math.max(0, firstSeq - 1 - PAGE);
    void load(from, firstSeq - 1 - from, "before");
  }, [firstSeq, load]);
  return {
    held,
    error,
    older,
    firstSeq,
    toStart: () => void load(0, PAGE, "only"),
    toEnd: () => void load(Math.max(0, lastSeq - PAGE), PAGE, "only"),
  };
}

function Events({ id, lastSeq }: { readonly id: string; readonly lastSeq: number }): ReactNode {
  const say = useText();
  const { held, error, older, firstSeq, toStart, toEnd } = useEvents(id, lastSeq);
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isAtEnd = useRef(true);
  const events = held?.events;
  useEffect(() => {
    if (events !== undefined && isAtEnd.current) list.current?.scrollToIndex(events.length - 1, { align: "end" });
  }, [events]);
  if (error !== undefined) return <Failure error={error} />;
  if (events === undefined) return <Skeleton lines={8} />;
  if (events.length === 0) return <Empty icon="play" title={say("noEvents")} />;
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < ROW_PX * 2;
    if (element.scrollTop < ROW_PX * 10 && firstSeq > 1) older();
  };
  return (
    <div className={style.trace}>
      <div className={style.row}>
        <Button
          kind="quiet"
          onClick={() => {
            isAtEnd.current = false;
            toStart();
          }}
        >
          {say("toStart")}
        </Button>
        <Button
          kind="quiet"
          onClick={() => {
            isAtEnd.current = true;
            toEnd();
          }}
        >
          {say("toEnd")}
        </Button>
        {firstSeq > 1 && (
          <Button kind="quiet" onClick={older}>
            {say("older")}
          </Button>
        )}
      </div>
      <div
        ref={box}
        className={style.events}
        role="group"
        tabIndex={0}
        aria-label={say("events", { run: id })}
        onScroll={onScroll}
      >
        <Virtualizer ref={list} data={events} itemSize={ROW_PX} shift={held?.isPrepended === true} scrollRef={box}>
          {(event) => (
            <div className={style.event} data-seq={event.seq}>
              <span className={style.seq}>{event.seq}</span>
              <span className={style.kind}>{event.kind}</span>
              <span className={style.eventText}>{JSON.stringify(event.data ?? {}).slice(0, 400)}</span>
            </div>
          )}
        </Virtualizer>
      </div>
    </div>
  );
}
