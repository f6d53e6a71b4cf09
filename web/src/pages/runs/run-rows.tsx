/** Runs as rows. */

import type { Run } from "@mesh/proto";
import type { ReactNode } from "react";
import { Link } from "wouter";

import { useLocale } from "../../i18n/locale.ts";
import { Line, Main, Note, Problem, Row, Rows } from "../../ui/list.tsx";
import { Time } from "../../ui/time.tsx";
import { RunStateBadge } from "../work/run-state.tsx";
import { useText } from "./text.ts";

const INPUT_CHARS = 120;

/** The list. */
export function RunRows({ runs, label }: { readonly runs: readonly Run[]; readonly label: string }): ReactNode {
  return (
    <Rows label={label}>
      {runs.map((run) => (
        <Row key={run.id}>
          <RunRow run={run} />
        </Row>
      ))}
    </Rows>
  );
}

function RunRow({ run }: { readonly run: Run }): ReactNode {
  const say = useText();
  return (
    <>
      <RunStateBadge state={run.state} />
      <Main>
        <Link href={`/runs/${run.id}`}>
          {run.assistant}: {run.input === "" ? run.id : run.input.slice(0, INPUT_CHARS)}
        </Link>
        {run.error !== undefined && <Problem>{run.error.message}</Problem>}
        <Note>{run.reason === "" ? run.placement?.summary : run.reason}</Note>
      </Main>
      <Line>
        {run.node !== undefined && <span>{run.node}</span>}
        <Note>
          {say(run.started_at === undefined ? "queued" : "started")} <Time at={run.started_at ?? run.created_at} />
          <Took run={run} before={`, ${say("took")} `} />
        </Note>
      </Line>
    </>
  );
}

/** How long a run took; nothing while it goes on. */
export function Took({ run, before = "" }: { readonly run: Run; readonly before?: string }): ReactNode {
  const locale = useLocale((state) => state.locale);
  if (run.started_at === undefined || run.finished_at === undefined) return null;
  const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
  const isShort = seconds < 120;
  const format = { style: "unit", unit: isShort ? "second" : "minute", maximumFractionDigits: 1 } as const;
  return before + new Intl.NumberFormat(locale, format).format(isShort ? seconds : seconds / 60);
}
