/** One eval: how far it is, on which devices, and each of its results. */

import type { Eval } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useEffect, useMemo, useRef } from "react";
import { useParams, useSearchParams } from "wouter";

import { getEval } from "../../api/evals.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Line, Note, Problem } from "../../ui/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Failure, Loaded } from "../../ui/state.tsx";
import { announce } from "../../ui/toast.tsx";
import { CaseDialog } from "./case-dialog.tsx";
import { CompareView } from "./compare-view.tsx";
import { DeviceStrip } from "./device-strip.tsx";
import { EvalActions } from "./eval-actions.tsx";
import { EvalFacts } from "./eval-facts.tsx";
import { countsByNode, type EvalLog } from "./eval-log.ts";
import { CountList, EvalStateBadge, nameOf, PassRate, ProgressBar } from "./eval-view.tsx";
import { GridSection } from "./grid-section.tsx";
import { type Counts, countsIn, isLive, settled } from "./status.ts";
import { useText } from "./text.ts";
import { useBatchNews } from "./use-batch-news.ts";
import { useEvalLog } from "./use-eval-log.ts";

/** The page. */
export default function EvalPage(): ReactNode {
  const say = useText();
  const { eval: id = "" } = useParams();
  const query = useQuery({ queryKey: ["eval", id], queryFn: () => getEval({ eval: id }) });
  const known = query.data?.eval;
  // While it runs the stream tells; one that is over may be gone on with elsewhere.
  const isOver = known !== undefined && !isLive(known.state);
  useBatchNews(isOver ? [known.assistant] : [], () => void query.refetch({ cancelRefetch: false }));
  return (
    <Page
      title={known === undefined ? say("title") : nameOf(known)}
      actions={
        <>
          <LinkButton href="/evals" icon="back" kind="quiet">
            {say("toList")}
          </LinkButton>
          {known !== undefined && <EvalActions known={known} />}
        </>
      }
    >
      <Loaded query={query} lines={8}>
        {() =>
          known === undefined ? <Empty icon="eval" title={say("notFound")} /> : <EvalView key={id} known={known} />
        }
      </Loaded>
    </Page>
  );
}

function EvalView({ known }: { readonly known: Eval }): ReactNode {
  const say = useText();
  const [search, setSearch] = useSearchParams();
  const { log, isCutOff, error } = useEvalLog(known);
  useStateAnnounced(known);
  const set = useSearchChange(setSearch);
  const open = useCallback(
    (ordinal: number, seq?: number) => set({ case: String(ordinal + 1), result: seq === undefined ? "" : String(seq) }),
    [set],
  );
  // The results are the newer ones as soon as all that the eval knows of are there.
  const isCaughtUp = log.lastSeq >= known.last_seq;
  const counts = isCaughtUp ? log.counts : countsIn(known.counts);
  const byNode = useMemo(() => (isCaughtUp ? countsByNode(log) : undefined), [isCaughtUp, log]);
  const other = search.get("vs");
  const shown = Number(search.get("case") ?? 0) - 1;
  return (
    <>
      <Summary known={known} counts={counts} log={log} />
      {error !== undefined && <Failure error={error} />}
      {isCutOff && <Note>{say("reconnecting")}</Note>}
      {known.nodes.length > 0 && (
        <DeviceStrip
          nodes={known.nodes}
          countsOf={byNode}
          chosen={search.get("device") ?? ""}
          onChoose={(device) => set({ device })}
        />
      )}
      {other === null ? (
        <GridSection known={known} log={log} search={search} onChange={set} onOpen={open} />
      ) : (
        <CompareView
          known={known}
          log={log}
          other={other}
          onChange={(vs) => set({ vs })}
          onClose={() => set({ vs: "" })}
        />
      )}
      {shown >= 0 && shown < Math.max(known.cases, log.rows.length) && (
        <CaseDialog
          known={known}
          log={log}
          ordinal={shown}
          seq={Number(search.get("result") ?? 0)}
          onChoose={(seq) => open(shown, seq)}
          onClose={() => set({ case: "", result: "" })}
        />
      )}
    </>
  );
}

type SetSearch = ReturnType<typeof useSearchParams>[1];

/** Changes some of what the address says and leaves the rest; what is empty is left out. Always the same function. */
function useSearchChange(setSearch: SetSearch): (change: Readonly<Record<string, string>>) => void {
  const latest = useRef(setSearch);
  latest.current = setSearch;
  return useCallback((change) => {
    latest.current((before) => {
      const all = { ...Object.fromEntries(before), ...change };
      // A comparison without its other eval is one that is still to be chosen.
      return Object.entries(all).filter(
        ([name, value]) => value !== "" || (name === "vs" && change["vs"] === undefined),
      );
    });
  }, []);
}

interface SummaryProps {
  readonly known: Eval;
  readonly counts: Counts;
  readonly log: EvalLog;
}

function Summary({ known, counts, log }: SummaryProps): ReactNode {
  const say = useText();
  const total = known.counts?.total ?? 0;
  const done = settled(counts);
  const running = isLive(known.state) ? (known.counts?.running ?? 0) : 0;
  const observations = Math.max(
    known.counts?.observations ?? 0,
    log.rows.reduce((sum, row) => sum + (row?.observations.length ?? 0), 0),
  );
  return (
    <>
      <Line>
        <EvalStateBadge state={known.state} />
        <PassRate counts={counts} />
        <Note>{known.reason}</Note>
      </Line>
      <ProgressBar counts={counts} total={total} />
      <CountList counts={counts} running={running} open={Math.max(0, total - done)} observations={observations} />
      {known.warnings.map((warning) => (
        <Problem key={warning}>{warning}</Problem>
      ))}
      <details>
        <summary>{say("details")}</summary>
        <EvalFacts known={known} />
      </details>
    </>
  );
}

/** Tells readers when the eval begins, stops or ends; results alone would be too much. */
function useStateAnnounced(known: Eval): void {
  const say = useText();
  const last = useRef(known.state);
  useEffect(() => {
    if (last.current === known.state) return;
    last.current = known.state;
    const state = (["running", "cancelling", "ended", "cancelled", "failed"] as const).find(
      (name) => name === known.state,
    );
    if (state !== undefined) announce(say("nowInState", { state: say(`state_${state}`) }));
  }, [known.state, say]);
}
