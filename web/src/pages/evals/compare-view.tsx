/** Compares an eval with an earlier one of the same cases. */

import type { Eval } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";

import { getEval, listEvals } from "../../api/evals.ts";
import { useLocale } from "../../i18n/locale.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Facts, Main, Note, Row, Rows, Section } from "../../ui/list.tsx";
import { Badge, Empty, Loaded, type Tone } from "../../ui/state.tsx";
import { ResultOf } from "./case-dialog.tsx";
import { compareEvals, type Comparison, type Flip } from "./compare-evals.ts";
import { type CaseRow, countsOf, type EvalLog } from "./eval-log.ts";
import { nameOf, usePercent } from "./eval-view.tsx";
import { loadLog } from "./load-log.ts";
import { scoredOf } from "./status.ts";
import { useText } from "./text.ts";

/** What the part is given. */
export interface CompareViewProps {
  readonly known: Eval;
  readonly log: EvalLog;
  /** Id of the eval that it is compared with; empty while it is still to be chosen. */
  readonly other: string;
  readonly onChange: (id: string) => void;
  readonly onClose: () => void;
}

/** The part. */
export function CompareView({ known, log, other, onChange, onClose }: CompareViewProps): ReactNode {
  const say = useText();
  return (
    <Section
      title={say("comparison")}
      actions={
        <Button icon="close" onClick={onClose}>
          {say("closeComparison")}
        </Button>
      }
    >
      <OtherField known={known} other={other} onChange={onChange} />
      {other !== "" && <Compared key={other} known={known} log={log} other={other} />}
    </Section>
  );
}

function OtherField({ known, other, onChange }: Pick<CompareViewProps, "known" | "other" | "onChange">): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const { workspace_id: workspace, assistant, suite, id } = known;
  const evals = useQuery({
    queryKey: ["eval-candidates", workspace, assistant],
    queryFn: () => listEvals({ workspace, assistant, page_size: 100 }),
    staleTime: 0,
  });
  const time = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  return (
    <Loaded query={evals}>
      {({ evals: all }) => {
        const same = all.filter((one) => one.id !== id && one.suite === suite && one.state !== "draft");
        const options = same.map(
          (one) => [one.id, `${nameOf(one)}, ${time.format(new Date(one.created_at))}`] as const,
        );
        if (options.length === 0 && other === "") return <Note>{say("noOther")}</Note>;
        const isListed = options.some(([value]) => value === other);
        return (
          <SelectField
            label={say("compareWith")}
            hint={say("sameSuite")}
            value={other}
            options={[...(isListed ? [] : [[other, other === "" ? say("choose") : other] as const]), ...options]}
            onChange={({ target }) => onChange(target.value)}
          />
        );
      }}
    </Loaded>
  );
}

interface ComparedProps {
  readonly known: Eval;
  readonly log: EvalLog;
  readonly other: string;
}

function Compared({ known, log, other }: ComparedProps): ReactNode {
  const before = useQuery({
    queryKey: ["eval-log", other],
    queryFn: async () => ({ known: (await getEval({ eval: other })).eval, log: await loadLog(other) }),
    // An eval that still runs has more results the next time.
    staleTime: 0,
    gcTime: 60_000,
  });
  return (
    <Loaded query={before} lines={6}>
      {(old) => <Outcome known={known} log={log} otherId={other} other={old.log} />}
    </Loaded>
  );
}

interface OutcomeProps {
  readonly known: Eval;
  readonly log: EvalLog;
  readonly otherId: string;
  readonly other: EvalLog;
}

function Outcome({ known, log, otherId, other }: OutcomeProps): ReactNode {
  const say = useText();
  const comparison = useMemo(() => compareEvals(other, log), [other, log]);
  const [open, setOpen] = useState<Flip>();
  const { compared, onlyBefore, onlyAfter, changed, broken, mended } = comparison;
  if (compared === 0) return <Empty icon="eval" title={say("nothingShared")} />;
  return (
    <>
      <Rates comparison={comparison} />
      {onlyBefore + onlyAfter + changed > 0 && (
        <Note>{say("notCompared", { before: onlyBefore, after: onlyAfter, changed })}</Note>
      )}
      <Flips title={say("broken", { count: broken.length })} flips={broken} onOpen={setOpen} />
      <Flips title={say("mended", { count: mended.length })} flips={mended} onOpen={setOpen} />
      {open !== undefined && (
        <Dialog wide title={open.id} onClose={() => setOpen(undefined)}>
          <Side title={say("before")} id={otherId} row={open.before} />
          <Side title={say("after")} id={known.id} row={open.after} />
        </Dialog>
      )}
    </>
  );
}

const TONES: Readonly<Record<Comparison["verdict"], Tone>> = {
  worse: "danger",
  better: "good",
  same: "plain",
  tooFew: "plain",
};

function Rates({ comparison }: { readonly comparison: Comparison }): ReactNode {
  const say = useText();
  const percent = usePercent();
  const signed = usePercent({ signDisplay: "exceptZero" });
  const { interval, verdict, pValue } = comparison;
  const locale = useLocale((state) => state.locale);
  const p = new Intl.NumberFormat(locale, { maximumSignificantDigits: 2 }).format(pValue);
  const range =
    interval === undefined ? "" : say("interval", { low: signed(interval.low), high: signed(interval.high) });
  return (
    <Facts
      facts={[
        [say("before"), <strong key="before">{percent(comparison.rateBefore)}</strong>],
        [say("after"), <strong key="after">{percent(comparison.rateAfter)}</strong>],
        [
          say("difference"),
          <span key="difference">
            <strong>{signed(comparison.difference)}</strong> {range}
          </span>,
        ],
        [
          say("verdict"),
          <span key="verdict" title={say("pValue", { p })}>
            <Badge tone={TONES[verdict]}>{say(`verdict_${verdict}`)}</Badge>
          </span>,
        ],
        [say("comparedCases"), comparison.compared],
      ]}
    />
  );
}

interface FlipsProps {
  readonly title: string;
  readonly flips: readonly Flip[];
  readonly onOpen: (flip: Flip) => void;
}

const MAX_FLIPS = 200;

function Flips({ title, flips, onOpen }: FlipsProps): ReactNode {
  const say = useText();
  const [max, setMax] = useState(MAX_FLIPS);
  return (
    <Section title={title}>
      {flips.length === 0 ? (
        <Note>{say("noFlips")}</Note>
      ) : (
        <Rows label={title}>
          {flips.slice(0, max).map((flip) => (
            <Row key={flip.id}>
              <Main>
                <span>
                  <Button onClick={() => onOpen(flip)}>{flip.id}</Button>
                </span>
                {flip.after.message !== "" && <Note>{flip.after.message}</Note>}
              </Main>
              <span>{say("fromTo", { before: shareOf(flip.before), after: shareOf(flip.after) })}</span>
            </Row>
          ))}
        </Rows>
      )}
      {flips.length > max && <Button onClick={() => setMax(max + MAX_FLIPS)}>{say("more")}</Button>}
    </Section>
  );
}

function shareOf({ cells }: CaseRow): string {
  const counts = countsOf(cells);
  return `${counts.passed}/${scoredOf(counts)}`;
}

interface SideProps {
  readonly title: string;
  readonly id: string;
  readonly row: CaseRow;
}

/** What one of the two said: the first result that is not a pass, else the first. */
function Side({ title, id, row }: SideProps): ReactNode {
  const cell = row.cells.find(({ status }) => status !== "passed") ?? row.cells[0];
  return (
    <Section title={title}>{cell !== undefined && <ResultOf id={id} row={row} cell={cell} prefix={title} />}</Section>
  );
}
