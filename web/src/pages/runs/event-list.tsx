/** The events of a run as one long list; only the rows on the screen are there. */

import type { RunEvent } from "@mesh/proto";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Code, Line, Note } from "../../ui/list.tsx";
import { Empty, Failure, Skeleton } from "../../ui/state.tsx";
import { eventText, KINDS, type Kind, kindOf } from "./event-line.ts";
import style from "./runs.module.css";
import { useText } from "./text.ts";
import { type RunEvents, useRunEvents } from "./use-run-events.ts";

const ROW_PX = 26;

/** Follows the run as long as it is shown; `kind` is what is shown at first. */
export function EventList({
  run,
  lastSeq,
  kind: first = "all",
}: {
  readonly run: string;
  readonly lastSeq: number;
  readonly kind?: Kind;
}): ReactNode {
  const say = useText();
  // Where the run was when the list was opened: what comes later is followed.
  const [from] = useState(lastSeq);
  const [kind, setKind] = useState<Kind>(first);
  const events = useRunEvents(run, from);
  const shown = useMemo(
    () => events.window?.events.filter((event) => kind === "all" || kindOf(event) === kind) ?? [],
    [events.window, kind],
  );
  if (events.error !== undefined) return <Failure error={events.error} onRetry={events.reload} />;
  if (events.window === undefined) return <Skeleton lines={8} />;
  if (events.window.newestSeq === 0) return <Empty icon="play" title={say("noEvents")} text={say("noEventsText")} />;
  return (
    <div className={style.frame}>
      <Line>
        <SelectField
          label={say("show")}
          hideLabel
          value={kind}
          options={KINDS.map((name) => [name, say(name)] as const)}
          onChange={({ target }) => setKind(KINDS.find((name) => name === target.value) ?? "all")}
        />
        <Jumps events={events} />
      </Line>
      {kind !== "all" && <Note>{say("filtered", { shown: shown.length, held: events.window.events.length })}</Note>}
      <Log run={run} shown={shown} events={events} />
    </div>
  );
}

function Jumps({ events: { window, older, toStart, toEnd } }: { readonly events: RunEvents }): ReactNode {
  const say = useText();
  const first = window?.events[0]?.seq ?? 1;
  return (
    <>
      <Button kind="quiet" disabled={first <= 1} onClick={toStart}>
        {say("toStart")}
      </Button>
      <Button kind="quiet" disabled={first <= 1} onClick={older}>
        {say("older")}
      </Button>
      <Button kind="quiet" onClick={toEnd}>
        {say("toEnd")}
      </Button>
      <span className={style.count}>{say("held", { from: first, newest: window?.newestSeq ?? 0 })}</span>
    </>
  );
}

interface LogProps {
  readonly run: string;
  readonly shown: readonly RunEvent[];
  readonly events: RunEvents;
}

function Log({ run, shown, events }: LogProps): ReactNode {
  const say = useText();
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isAtEnd = useRef(true);
  const [open, setOpen] = useState<RunEvent>();
  const lastSeq = shown.at(-1)?.seq;
  const opensAt = events.window?.opensAt;
  useEffect(() => {
    if (opensAt !== undefined) isAtEnd.current = opensAt === "end";
    if (opensAt === "start") list.current?.scrollToIndex(0);
    else if (lastSeq !== undefined && isAtEnd.current) list.current?.scrollToIndex(shown.length - 1, { align: "end" });
    // Once per new end: rows that come before it keep their place.
  }, [lastSeq, opensAt]);
  const onScroll = (): void => {
    const element = box.current;
    if (element === null) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    isAtEnd.current = below < ROW_PX * 2 && events.window?.isAtEnd === true;
    if (element.scrollTop < ROW_PX * 10) events.older();
    if (below < ROW_PX * 10) events.newer();
  };
  return (
    <>
      <div
        ref={box}
        className={style.events}
        role="group"
        tabIndex={0}
        aria-label={say("eventsOf", { run })}
        onScroll={onScroll}
      >
        <Virtualizer
          ref={list}
          data={shown}
          itemSize={ROW_PX}
          shift={events.window?.isPrepended === true}
          scrollRef={box}
        >
          {(event) => (
            <button
              key={event.seq}
              type="button"
              className={style.event}
              data-seq={event.seq}
              onClick={() => setOpen(event)}
            >
              <span className={style.seq}>{event.seq}</span>
              <span className={style.kind}>{event.kind}</span>
              <span className={style.eventText}>{eventText(event)}</span>
            </button>
          )}
        </Virtualizer>
      </div>
      {open !== undefined && (
        <Dialog wide title={say("event", { seq: open.seq, kind: open.kind })} onClose={() => setOpen(undefined)}>
          <Note>{open.at}</Note>
          <Code label={say("content")}>{JSON.stringify(open.data ?? {}, null, 2)}</Code>
        </Dialog>
      )}
    </>
  );
}
