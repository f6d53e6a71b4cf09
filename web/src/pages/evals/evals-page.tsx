/** The evals of a workspace, the newest first. */

import type { Eval, FeedEvent, ListEvalsResponse } from "@mesh/proto";
import { type InfiniteData, type QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link, useSearchParams } from "wouter";

import { listAssistants } from "../../api/apps.ts";
import { listEvals } from "../../api/evals.ts";
import { useWorkspace } from "../../app/workspace.ts";
import { useFeed } from "../../feed/use-feed.tsx";
import { Button } from "../../ui/button.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Line, Main, Note, Row, Rows } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Time } from "../../ui/time.tsx";
import { EVAL_STATES, EvalStateBadge, nameOf, PassRate, ProgressBar } from "./eval-view.tsx";
import { StartDialog } from "./start-dialog.tsx";
import { countsIn, isLive } from "./status.ts";
import { useText } from "./text.ts";
import { useBatchNews } from "./use-batch-news.ts";

/** The page. */
export default function EvalsPage(): ReactNode {
  const say = useText();
  const workspace = useWorkspace();
  const [search, setSearch] = useSearchParams();
  const [isStarting, setStarting] = useState(false);
  const state = search.get("state") ?? "";
  const assistant = search.get("assistant") ?? "";
  useFeed("eval", patchEvalPages);
  const evals = useInfiniteQuery({
    queryKey: ["eval-pages", workspace, state, assistant],
    queryFn: ({ pageParam }) => listEvals({ workspace, state, assistant, page_size: 50, page_token: pageParam }),
    initialPageParam: "",
    getNextPageParam: ({ next_page_token: next }) => (next === "" ? undefined : next),
  });
  const live = evals.data?.pages.flatMap((page) => page.evals.filter((one) => isLive(one.state))) ?? [];
  useBatchNews(
    live.map((one) => one.assistant),
    () => void evals.refetch({ cancelRefetch: false }),
  );
  const start = (
    <Button kind="primary" icon="plus" onClick={() => setStarting(true)}>
      {say("start")}
    </Button>
  );
  return (
    <Page
      title={say("title")}
      actions={
        <>
          <Filters workspace={workspace} state={state} assistant={assistant} onChange={setSearch} />
          {start}
        </>
      }
    >
      <Loaded query={evals} lines={8}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.evals);
          if (all.length > 0) return <EvalRows evals={all} />;
          return state === "" && assistant === "" ? (
            <Empty icon="eval" title={say("none")} text={say("noneText")}>
              {start}
            </Empty>
          ) : (
            <Empty icon="search" title={say("noneFit")}>
              <Button onClick={() => setSearch({})}>{say("showAll")}</Button>
            </Empty>
          );
        }}
      </Loaded>
      {evals.hasNextPage && (
        <Button busy={evals.isFetchingNextPage} onClick={() => void evals.fetchNextPage()}>
          {say("more")}
        </Button>
      )}
      {isStarting && <StartDialog workspace={workspace} assistant={assistant} onClose={() => setStarting(false)} />}
    </Page>
  );
}

interface FilterProps {
  readonly workspace: string;
  readonly state: string;
  readonly assistant: string;
  readonly onChange: (search: Record<string, string>) => void;
}

function Filters({ workspace, state, assistant, onChange }: FilterProps): ReactNode {
  const say = useText();
  const assistants = useQuery({ queryKey: ["assistants", workspace], queryFn: () => listAssistants({ workspace }) });
  const ids = assistants.data?.assistants.map(({ id }) => id) ?? [];
  const set = (change: { state?: string; assistant?: string }): void => {
    const all = { state, assistant, ...change };
    onChange(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== "")));
  };
  return (
    <>
      <SelectField
        label={say("assistant")}
        hideLabel
        value={assistant}
        options={[
          ["", say("anyAssistant")],
          ...(assistant === "" || ids.includes(assistant) ? ids : [assistant, ...ids]).map((id) => [id, id] as const),
        ]}
        onChange={({ target }) => set({ assistant: target.value })}
      />
      <SelectField
        label={say("state")}
        hideLabel
        value={state}
        options={[["", say("anyState")], ...EVAL_STATES.map((name) => [name, say(`state_${name}`)] as const)]}
        onChange={({ target }) => set({ state: target.value })}
      />
    </>
  );
}

function EvalRows({ evals }: { readonly evals: readonly Eval[] }): ReactNode {
  const say = useText();
  return (
    <Rows label={say("title")}>
      {evals.map((one) => (
        <Row key={one.id}>
          <EvalRow known={one} />
        </Row>
      ))}
    </Rows>
  );
}

function EvalRow({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const counts = countsIn(known.counts);
  const devices = known.nodes.filter(({ state }) => state !== "unfit").map(({ name }) => name);
  return (
    <>
      <EvalStateBadge state={known.state} />
      <Main>
        <Link href={`/evals/${known.id}`}>{nameOf(known)}</Link>
        <Note>
          {known.name === "" ? "" : `${known.assistant} · `}
          {say("casesAndRuns", { cases: known.cases, runs: Math.max(1, known.settings?.runs ?? 1) })}
          {devices.length > 0 && ` · ${devices.join(", ")}`}
        </Note>
        {known.reason !== "" && <Note>{known.reason}</Note>}
        <ProgressBar counts={counts} total={known.counts?.total ?? 0} />
      </Main>
      <Line>
        <PassRate counts={counts} />
        <Note>
          <Time at={known.started_at ?? known.created_at} /> · {known.created_by}
        </Note>
      </Line>
    </>
  );
}

/** Patches an eval where it is listed; one that is not listed, or is gone, has the pages loaded again. */
function patchEvalPages(event: FeedEvent, client: QueryClient): boolean {
  let isListed = false;
  const isGone = event.kind === "eval.removed" || event.kind === "eval.deleted";
  client.setQueriesData<InfiniteData<ListEvalsResponse>>({ queryKey: ["eval-pages"] }, (old) => {
    const holds = old?.pages.some((page) => page.evals.some(({ id }) => id === event.object)) ?? false;
    if (old === undefined || !holds || isGone) return old;
    isListed = true;
    const evals = (page: ListEvalsResponse): readonly Eval[] =>
      page.evals.map((known) => (known.id === event.object ? { ...known, ...event.data } : known));
    return { ...old, pages: old.pages.map((page) => ({ ...page, evals: evals(page) })) };
  });
  if (!isListed) void client.invalidateQueries({ queryKey: ["eval-pages"] }, { cancelRefetch: false });
  return true;
}
