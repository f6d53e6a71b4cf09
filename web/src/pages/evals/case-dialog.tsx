/** One case of an eval: its results, and all that is known of the chosen one. */

import type { Eval } from "@mesh/proto";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { listEvalCases, listEvalResults } from "../../api/evals.ts";
import { classes } from "../../ui/class.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Line, Note } from "../../ui/list.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import type { CaseRow, Cell, EvalLog } from "./eval-log.ts";
import { Sign, useDuration } from "./eval-view.tsx";
import style from "./evals.module.css";
import { JsonText, ResultView } from "./result-view.tsx";
import { useText } from "./text.ts";

/** What the dialog is given. */
export interface CaseDialogProps {
  readonly known: Eval;
  readonly log: EvalLog;
  readonly ordinal: number;
  /** Number of the chosen result in the log; 0 for the newest that counts. */
  readonly seq: number;
  readonly onChoose: (seq: number) => void;
  readonly onClose: () => void;
}

/** The dialog. */
export function CaseDialog({ known, log, ordinal, seq, onChoose, onClose }: CaseDialogProps): ReactNode {
  const say = useText();
  const row = log.rows[ordinal];
  const cells = row === undefined ? [] : [...row.cells, ...row.observations];
  const chosen = cells.find((cell) => cell.seq === seq) ?? row?.cells[0] ?? cells[0];
  return (
    <Dialog wide title={row?.id ?? say("caseNumber", { n: ordinal + 1 })} onClose={onClose}>
      <Line>
        <CopyButton text={linkOf(known.id, ordinal, seq)} label={say("copyLink")} />
      </Line>
      {row === undefined || chosen === undefined ? (
        <Empty icon="clock" title={say("noResult")} />
      ) : (
        <>
          <CellList row={row} chosen={chosen} onChoose={onChoose} />
          <ResultOf id={known.id} row={row} cell={chosen} />
        </>
      )}
      <WrittenCase id={known.id} ordinal={ordinal} isOpen={row === undefined} />
    </Dialog>
  );
}

function linkOf(id: string, ordinal: number, seq: number): string {
  const result = seq === 0 ? "" : `&result=${seq}`;
  return `${location.origin}/evals/${id}?case=${ordinal + 1}${result}`;
}

interface CellListProps {
  readonly row: CaseRow;
  readonly chosen: Cell;
  readonly onChoose: (seq: number) => void;
}

/** All results of the case; those that do not count are said to be observations. */
function CellList({ row, chosen, onChoose }: CellListProps): ReactNode {
  const say = useText();
  const duration = useDuration();
  const all = [
    ...row.cells.map((cell) => ({ cell, counts: true })),
    ...row.observations.map((cell) => ({ cell, counts: false })),
  ];
  if (all.length < 2) return null;
  return (
    <ul className={style.units} aria-label={say("resultsOf", { name: row.id })}>
      {all.map(({ cell, counts }) => (
        <li key={cell.seq}>
          <button
            type="button"
            className={classes(style.unit, cell.seq === chosen.seq && style.chosen)}
            aria-pressed={cell.seq === chosen.seq}
            onClick={() => onChoose(cell.seq)}
          >
            <Sign status={cell.status} /> {say(cell.status)}, {say("run", { n: cell.run })}
            {cell.copy > 1 && `, ${say("copy", { n: cell.copy })}`}, {cell.node}, {duration(cell.durationMs)}
            {!counts && ` (${say("observation")})`}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** What {@link ResultOf} is given. */
export interface ResultOfProps {
  /** Id of the eval. */
  readonly id: string;
  readonly row: CaseRow;
  readonly cell: Cell;
  readonly prefix?: string;
}

/** One result with all its details, loaded when it is looked at. */
export function ResultOf({ id, row, cell, prefix = "" }: ResultOfProps): ReactNode {
  const say = useText();
  const query = useQuery({
    queryKey: ["eval-result", id, cell.seq],
    // The next of this case after the one before it is the one.
    queryFn: () => listEvalResults({ eval: id, case_id: row.id, after_seq: cell.seq - 1, page_size: 1 }),
    // Results may be large, and what is in the log does not change.
    gcTime: 60_000,
  });
  return (
    <Loaded query={query} lines={8}>
      {({ results: [result] }) =>
        result === undefined ? (
          <Note>{say("noResult")}</Note>
        ) : (
          <ResultView result={result} cell={cell} prefix={prefix} />
        )
      }
    </Loaded>
  );
}

interface WrittenCaseProps {
  readonly id: string;
  readonly ordinal: number;
  readonly isOpen: boolean;
}

/** The case as it was written. */
function WrittenCase({ id, ordinal, isOpen }: WrittenCaseProps): ReactNode {
  const say = useText();
  const query = useQuery({
    queryKey: ["eval-case", id, ordinal],
    queryFn: () => listEvalCases({ eval: id, at: ordinal, page_size: 1 }),
  });
  return (
    <details open={isOpen}>
      <summary>{say("written")}</summary>
      <Loaded query={query}>
        {({ cases: [written] }) =>
          written === undefined ? <Note>{say("noCase")}</Note> : <JsonText label={say("written")} value={written} />
        }
      </Loaded>
    </details>
  );
}
