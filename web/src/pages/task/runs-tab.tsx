/** The runs of a task: attempts, where each ran and why there, what it cost. */

import type { Run, Task } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "wouter";

import { getRun } from "../../api/runs.ts";
import { listTaskRuns } from "../../api/tasks.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Button } from "../../ui/button.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { RunStateBadge } from "../work/run-state.tsx";
import style from "./task.module.css";
import { useText } from "./text.ts";

/** The tab. */
export function RunsTab({ task }: { readonly task: Task }): ReactNode {
  const say = useText();
  const runs = useQuery({
    queryKey: ["task-runs", task.id, task.run_id, task.run_state],
    queryFn: () => listTaskRuns({ task: task.id, limit: 100 }),
    placeholderData: (before) => before,
  });
  return (
    <Loaded query={runs}>
      {(answer) =>
        answer.runs.length === 0 ? (
          <Empty icon="play" title={say("noRuns")} />
        ) : (
          <ul className={style.list}>
            {answer.runs.map((run, index) => (
              <li key={run.id} className={style.run}>
                <RunRow run={run} number={answer.runs.length - index} />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}

function RunRow({ run, number }: { readonly run: Run; readonly number: number }): ReactNode {
  const say = useText();
  const [, setSearch] = useSearchParams();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <div className={style.row}>
        <strong>{say("attempt", { n: number })}</strong>
        <RunStateBadge state={run.state} />
        {run.node !== undefined && <span>{run.node}</span>}
        <span className={style.note}>
          {say("started")} <Time at={run.started_at ?? run.created_at} />
        </span>
        <Took run={run} />
        <Cost usage={run.usage} />
      </div>
      {run.reason !== "" && <p className={style.note}>{run.reason}</p>}
      {run.error !== undefined && (
        <p className={style.error}>
          {run.error.message} <code>{run.error.code}</code>
        </p>
      )}
      <div className={style.row}>
        <Button kind="quiet" onClick={() => setSearch({ tab: "trace", run: run.id })}>
          {say("showTrace")}
        </Button>
        <Button kind="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {say("placement")}
        </Button>
      </div>
      {isOpen && <PlacementView id={run.id} />}
    </>
  );
}

function Took({ run }: { readonly run: Run }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  if (run.started_at === undefined || run.finished_at === undefined) return null;
  const seconds = (Date.parse(run.finished_at) - Date.parse(run.started_at)) / 1000;
  const format = { style: "unit", unit: seconds < 120 ? "second" : "minute", maximumFractionDigits: 1 } as const;
  return (
    <span className={style.note}>
      {say("took")} {new Intl.NumberFormat(locale, format).format(seconds < 120 ? seconds : seconds / 60)}
    </span>
  );
}

function Cost({ usage }: { readonly usage: Run["usage"] }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const tokens: unknown = usage?.["total_tokens"];
  const cost: unknown = usage?.["cost_usd"];
  if (typeof tokens !== "number") return null;
  const money = { style: "currency", currency: "USD", maximumFractionDigits: 4 } as const;
  return (
    <span className={style.note}>
      {say("tokens")} {new Intl.NumberFormat(locale).format(tokens)}
      {typeof cost === "number" && `, ${say("cost")} ${new Intl.NumberFormat(locale, money).format(cost)}`}
    </span>
  );
}

/** Why a run is on its device, and why not on the others. */
function PlacementView({ id }: { readonly id: string }): ReactNode {
  const say = useText();
  const run = useQuery({ queryKey: ["run", id], queryFn: () => getRun({ run: id }) });
  return (
    <Loaded query={run}>
      {(answer) => {
        const placement = answer.run?.placement;
        if (placement === undefined) return <p className={style.note}>{say("nothing")}</p>;
        return (
          <>
            <p>{placement.summary}</p>
            <table className={style.table}>
              <caption className={style.spoken}>{say("candidates")}</caption>
              <thead>
                <tr>
                  <th scope="col">{say("device")}</th>
                  <th scope="col">{say("reasonColumn")}</th>
                </tr>
              </thead>
              <tbody>
                {placement.candidates.map(({ node, eligible, reason }) => (
                  <tr key={node}>
                    <th scope="row">{node}</th>
                    <td>
                      {eligible ? say("chosen") : say("notChosen")}: {reason}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </>
        );
      }}
    </Loaded>
  );
}
