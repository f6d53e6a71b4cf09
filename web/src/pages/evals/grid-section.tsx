/** The grid with what narrows and orders it. The look is in the address, so that it can be shared and gone back to. */

import type { Eval } from "@mesh/proto";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";

import { browserClock } from "../../app/clock.ts";
import { Button } from "../../ui/button.tsx";
import { SelectField, TextField } from "../../ui/field.tsx";
import { Note, Section } from "../../ui/list.tsx";
import { Empty } from "../../ui/state.tsx";
import { CaseGrid } from "./case-grid.tsx";
import type { EvalLog } from "./eval-log.ts";
import style from "./evals.module.css";
import { AXES, columnsOf, type GridColumn, type GridLook, lookOf, ORDERS, rowsOf, SHOWN } from "./grid-view.ts";
import { isLive } from "./status.ts";
import { useText } from "./text.ts";
import { useCaseNames } from "./use-case-names.ts";

const TYPING_MS = 150;

/** What the part is given; keep the functions the same. */
export interface GridSectionProps {
  readonly known: Eval;
  readonly log: EvalLog;
  readonly search: URLSearchParams;
  readonly onChange: (change: Readonly<Record<string, string>>) => void;
  readonly onOpen: (ordinal: number, seq?: number) => void;
}

/** The part. */
export function GridSection({ known, log, search, onChange, onOpen }: GridSectionProps): ReactNode {
  const say = useText();
  const names = useCaseNames(known.id);
  const look = lookOf(search, (known.settings?.runs ?? 1) > 1);
  const { shown, order, axis, node, text } = look;
  const unitsPerCase = known.cases === 0 ? 0 : (known.counts?.total ?? 0) / known.cases;
  const rows = useMemo(
    () => rowsOf(log, { cases: known.cases, unitsPerCase }, { shown, order, axis, node, text }, names.nameOf),
    [log, known.cases, unitsPerCase, shown, order, axis, node, text, names.nameOf],
  );
  const columns = useColumns(known, log, look);
  const total = Math.max(known.cases, log.rows.length);
  return (
    <Section title={say("results")}>
      <GridFilters known={known} look={look} onChange={onChange} />
      {/* While results come in, a reader would be told all the time. */}
      <p className={style.muted} role={isLive(known.state) ? undefined : "status"}>
        {rows.length === total
          ? say("allCases", { count: total })
          : say("someCases", { shown: rows.length, count: total })}
      </p>
      {rows.length === 0 ? (
        <Empty icon="search" title={say(total === 0 ? "noCases" : "noCaseFits")}>
          {total > 0 && <Button onClick={() => onChange({ show: "", device: "", q: "" })}>{say("showAll")}</Button>}
        </Empty>
      ) : (
        <CaseGrid rows={rows} columns={columns} node={node} axis={axis} names={names} onOpen={onOpen} />
      )}
      <Note>{say("signs")}</Note>
    </Section>
  );
}

/** The columns; as long as they are the same they are the same object, so that rows are not drawn for other changes of the eval. */
function useColumns(known: Eval, log: EvalLog, { axis, node }: GridLook): readonly GridColumn[] {
  const next = useMemo(() => columnsOf(known, log, { axis, node }), [known, log, axis, node]);
  const held = useRef(next);
  const names = (columns: readonly GridColumn[]): string =>
    JSON.stringify(columns.map(({ key, label }) => [key, label]));
  if (names(held.current) !== names(next)) held.current = next;
  return held.current;
}

interface FiltersProps {
  readonly known: Eval;
  readonly look: GridLook;
  readonly onChange: (change: Readonly<Record<string, string>>) => void;
}

function GridFilters({ known, look, onChange }: FiltersProps): ReactNode {
  const say = useText();
  return (
    <search className={style.filters}>
      <LateField label={say("find")} value={look.text} onChange={(q) => onChange({ q })} />
      <SelectField
        label={say("show")}
        value={look.shown}
        options={SHOWN.map((name) => [name, say(name)] as const)}
        onChange={({ target }) => onChange({ show: target.value === "all" ? "" : target.value })}
      />
      <SelectField
        label={say("device")}
        value={look.node}
        options={[["", say("anyDevice")], ...known.nodes.map(({ node_id: id, name }) => [id, name] as const)]}
        onChange={({ target }) => onChange({ device: target.value })}
      />
      <SelectField
        label={say("order")}
        value={look.order}
        options={ORDERS.map((name) => [name, say(`order_${name}`)] as const)}
        onChange={({ target }) => onChange({ order: target.value === "written" ? "" : target.value })}
      />
      <SelectField
        label={say("columns")}
        value={look.axis}
        options={AXES.map((name) => [name, say(`by_${name}`)] as const)}
        onChange={({ target }) => onChange({ by: target.value })}
      />
    </search>
  );
}

/** A field whose text counts a moment after the last key. */
function LateField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactNode {
  const [text, setText] = useState(value);
  const latest = useRef(onChange);
  latest.current = onChange;
  // What the address says wins when it changes otherwise, such as by going back.
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return undefined;
    return browserClock.after(TYPING_MS, () => latest.current(text));
  }, [text, value]);
  return <TextField label={label} type="search" value={text} onChange={({ target }) => setText(target.value)} />;
}
