/** One run: where it ran and why there, what it said, and everything that happened. */

import type { PendingItem, Run } from "@mesh/proto";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation, useParams } from "wouter";

import { answerRun, cancelRun, getRun, retryRun } from "../../api/runs.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Markdown } from "../../markdown/markdown.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Facts, Line, Note, Problem, Section } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { toast, toastError } from "../../ui/toast.tsx";
import { isActive, RunStateBadge } from "../work/run-state.tsx";
import { type Answer, PendingView } from "../task/pending-card.tsx";
import { EventList } from "./event-list.tsx";
import { PlacementTable } from "./placement-table.tsx";
import { Took } from "./run-rows.tsx";
import style from "./runs.module.css";
import { useText } from "./text.ts";

/** The page. */
export default function RunPage(): ReactNode {
  const say = useText();
  const { run: id = "" } = useParams();
  const query = useQuery({ queryKey: ["run", id], queryFn: () => getRun({ run: id }) });
  const run = query.data?.run;
  return (
    <Page
      title={run === undefined ? say("title") : run.assistant}
      actions={
        <>
          <LinkButton href="/runs" icon="back" kind="quiet">
            {say("toList")}
          </LinkButton>
          {run !== undefined && <RunActions run={run} />}
        </>
      }
    >
      <Loaded query={query} lines={8}>
        {() => (run === undefined ? <Empty icon="play" title={say("notFound")} /> : <RunView key={run.id} run={run} />)}
      </Loaded>
    </Page>
  );
}

function RunActions({ run }: { readonly run: Run }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const [, go] = useLocation();
  const again = (): Promise<void> => queries.invalidateQueries({ queryKey: ["run", run.id] });
  const stop = useMutation({ mutationFn: () => cancelRun({ run: run.id }), onSuccess: again, onError: toastError });
  const retry = useMutation({
    mutationFn: () => retryRun({ run: run.id }),
    onSuccess: (answer) => {
      toast(say("retried"));
      if (answer.run !== undefined) go(`/runs/${answer.run.id}`);
    },
    onError: toastError,
  });
  if (!isActive(run.state)) {
    return (
      <Button icon="retry" busy={retry.isPending} onClick={() => retry.mutate()}>
        {say("retry")}
      </Button>
    );
  }
  return (
    <Button icon="stop" busy={stop.isPending} disabled={run.cancel_requested} onClick={() => stop.mutate()}>
      {say(run.cancel_requested ? "stopping" : "stop")}
    </Button>
  );
}

function RunView({ run }: { readonly run: Run }): ReactNode {
  const say = useText();
  return (
    <>
      <Line>
        <RunStateBadge state={run.state} />
        {run.node_id !== undefined && <Link href={`/devices/${run.node_id}`}>{run.node}</Link>}
        <Note>{run.reason}</Note>
      </Line>
      {run.error !== undefined && (
        <Problem>
          {run.error.message} <code>{run.error.code}</code>
        </Problem>
      )}
      {run.pending.map((item) => (
        <Pending key={item.id} run={run.id} item={item} />
      ))}
      <RunFacts run={run} />
      <Section title={say("events")}>
        <EventList run={run.id} lastSeq={run.last_seq} />
      </Section>
      <Section title={say("input")}>
        <p className={style.input}>{run.input}</p>
      </Section>
      <Section title={say("output")}>
        {run.output === "" ? (
          <Note>{say("noOutput")}</Note>
        ) : (
          <div className={style.output}>
            <Markdown text={run.output} />
          </div>
        )}
      </Section>
      <Section title={say("placement")}>
        <PlacementTable placement={run.placement} />
      </Section>
    </>
  );
}

function RunFacts({ run }: { readonly run: Run }): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const tokens: unknown = run.usage?.["total_tokens"];
  const cost: unknown = run.usage?.["cost_usd"];
  const money = { style: "currency", currency: "USD", maximumFractionDigits: 4 } as const;
  return (
    <Facts
      facts={[
        [
          say("assistant"),
          <Link key="assistant" href={`/assistants/${run.assistant}`}>
            {run.assistant}
          </Link>,
        ],
        [say("app"), run.app === "" ? "" : `${run.app} ${run.app_version}`],
        [say("attempt"), run.attempt],
        [say("by"), run.created_by],
        [say("created"), <Time key="created" at={run.created_at} exact />],
        [say("finished"), run.finished_at === undefined ? "" : <Time at={run.finished_at} exact />],
        [say("duration"), run.finished_at === undefined ? "" : <Took run={run} />],
        [say("tokens"), typeof tokens === "number" ? new Intl.NumberFormat(locale).format(tokens) : ""],
        [say("cost"), typeof cost === "number" ? new Intl.NumberFormat(locale, money).format(cost) : ""],
        [say("retryOf"), run.retry_of === undefined ? "" : <Link href={`/runs/${run.retry_of}`}>{run.retry_of}</Link>],
      ]}
    />
  );
}

function Pending({ run, item }: { readonly run: string; readonly item: PendingItem }): ReactNode {
  const say = useText();
  const queries = useQueryClient();
  const answer = useMutation({
    mutationFn: ({ arguments: changed, ...given }: Answer) =>
      answerRun({ run, call_id: item.id, ...given, arguments: changed === undefined ? undefined : { ...changed } }),
    onSuccess: () => {
      toast(say("answered"));
      return queries.invalidateQueries({ queryKey: ["run", run] });
    },
    onError: toastError,
  });
  return <PendingView item={item} isBusy={answer.isPending} onAnswer={answer.mutate} />;
}
