/**
 * The results of an eval as a grid of cases and runs or devices. Only the rows in sight exist.
 *
 * K1  The grid is one stop of the tab key; arrows, Home, End and the page keys move inside it, Enter opens the case.
 */

import {
  type KeyboardEvent,
  memo,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import { classes } from "../../ui/class.ts";
import { type Cell, isFlaky } from "./eval-log.ts";
import { Sign, useDuration, usePercent } from "./eval-view.tsx";
import style from "./evals.module.css";
import { cellLook, cellsOn, durationOf, type GridColumn, type GridRow, rateOf } from "./grid-view.ts";
import type { CaseNames } from "./use-case-names.ts";
import { useText } from "./text.ts";

/** Below this many rows all of them exist. */
const PLAIN = 40;
const ROW_PX = 32;
/** Columns before those of the results: the case, its rate, its duration. */
const HEADS = 3;

/** What the grid is given; keep `onOpen` and `names` the same. */
export interface CaseGridProps {
  readonly rows: readonly GridRow[];
  readonly columns: readonly GridColumn[];
  /** Rates and durations are of this device; empty for all. */
  readonly node: string;
  readonly axis: "run" | "device";
  readonly names: CaseNames;
  readonly onOpen: (ordinal: number, seq?: number) => void;
}

/** The grid. */
export function CaseGrid(props: CaseGridProps): ReactNode {
  const { rows, columns, node, axis, names } = props;
  const say = useText();
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const isVirtual = rows.length > PLAIN;
  const { at, isInside, handlers } = usePlace(props, id, box, isVirtual ? list : undefined);
  const draw = (row: GridRow, index: number): ReactElement => (
    <RowView
      key={row.ordinal}
      row={row}
      index={index}
      columns={columns}
      node={node}
      axis={axis}
      name={row.row?.id ?? names.nameOf(row.ordinal)}
      want={names.want}
      active={isInside && index === at.row ? at.column : undefined}
      id={id}
    />
  );
  return (
    <div
      ref={box}
      role="grid"
      tabIndex={0}
      className={style.grid}
      aria-label={say("grid")}
      aria-rowcount={rows.length + 1}
      aria-colcount={columns.length + HEADS}
      aria-activedescendant={isInside && rows.length > 0 ? `${id}-at` : undefined}
      {...handlers}
    >
      <Head columns={columns} axis={axis} />
      {isVirtual ? (
        <Virtualizer
          ref={list}
          data={rows}
          itemSize={ROW_PX}
          startMargin={ROW_PX}
          keepMounted={[at.row]}
          scrollRef={box}
        >
          {draw}
        </Virtualizer>
      ) : (
        rows.map(draw)
      )}
    </div>
  );
}

interface Handlers {
  readonly onFocus: () => void;
  readonly onBlur: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  readonly onClick: (event: MouseEvent) => void;
}

/** Where the keys are, and what moves them. `list` is there when not all rows exist. */
function usePlace(
  { rows, columns, onOpen }: CaseGridProps,
  id: string,
  box: RefObject<HTMLDivElement | null>,
  list: RefObject<VirtualizerHandle | null> | undefined,
): { readonly at: Place; readonly isInside: boolean; readonly handlers: Handlers } {
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [isInside, setInside] = useState(false);
  const within = ({ row, column }: Place): Place => ({
    row: Math.max(0, Math.min(row, rows.length - 1)),
    column: Math.max(0, Math.min(column, columns.length)),
  });
  const at = within(active);
  useEffect(() => {
    // Sideways, and where all rows exist.
    if (isInside) document.getElementById(`${id}-at`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [id, isInside, at.row, at.column]);
  const open = (place: Place): void => {
    const row = rows[place.row];
    const column = columns[place.column - 1];
    if (row !== undefined) onOpen(row.ordinal, column === undefined ? undefined : newest(row, column));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / ROW_PX) - 2);
    const target = targetOf(event, at, { page, rows: rows.length, columns: columns.length });
    if (target !== undefined) {
      const next = within(target);
      setActive(next);
      list?.current?.scrollToIndex(next.row, { align: "nearest" });
    } else if (event.key === "Enter" || event.key === " ") open(at);
    else return;
    event.preventDefault();
  };
  // One listener for all cells; which one was pressed stands in its attributes.
  const onClick = ({ target }: MouseEvent): void => {
    const cell = target instanceof Element ? target.closest<HTMLElement>("[data-column]") : null;
    const line = cell?.closest<HTMLElement>("[data-index]");
    if (cell === null || line === undefined || line === null) return;
    const place = { row: Number(line.dataset["index"]), column: Number(cell.dataset["column"]) };
    setActive(place);
    open(place);
  };
  return {
    at,
    isInside,
    handlers: { onFocus: () => setInside(true), onBlur: () => setInside(false), onKeyDown, onClick },
  };
}

interface Place {
  readonly row: number;
  readonly column: number;
}

function targetOf(
  { key, ctrlKey, metaKey }: KeyboardEvent,
  { row, column }: Place,
  size: { readonly page: number; readonly rows: number; readonly columns: number },
): Place | undefined {
  const isFar = ctrlKey || metaKey;
  const targets: Readonly<Record<string, Place>> = {
    ArrowDown: { row: row + 1, column },
    ArrowUp: { row: row - 1, column },
    ArrowRight: { row, column: column + 1 },
    ArrowLeft: { row, column: column - 1 },
    PageDown: { row: row + size.page, column },
    PageUp: { row: row - size.page, column },
    Home: { row: isFar ? 0 : row, column: 0 },
    End: { row: isFar ? size.rows - 1 : row, column: size.columns },
  };
  return Object.hasOwn(targets, key) ? targets[key] : undefined;
}

function newest({ row }: GridRow, column: GridColumn): number | undefined {
  return row?.cells.filter(column.holds).at(-1)?.seq;
}

function Head({ columns, axis }: Pick<CaseGridProps, "columns" | "axis">): ReactNode {
  const say = useText();
  return (
    <div role="row" aria-rowindex={1} className={classes(style.gridRow, style.gridHead)}>
      <span role="columnheader" className={style.case}>
        {say("case")}
      </span>
      <span role="columnheader" className={style.rate}>
        {say("rate")}
      </span>
      <span role="columnheader" className={style.duration}>
        {say("duration")}
      </span>
      {columns.map(({ key, label }) => (
        <span
          key={key}
          role="columnheader"
          className={axis === "run" ? style.cell : style.wideCell}
          aria-label={axis === "run" ? say("run", { n: Number(label) }) : label}
          title={label}
        >
          {label}
        </span>
      ))}
    </div>
  );
}

interface RowProps extends Pick<CaseGridProps, "columns" | "node" | "axis"> {
  readonly row: GridRow;
  readonly index: number;
  readonly name: string | undefined;
  readonly want: (ordinal: number) => void;
  /** Column of the row that the keys are at. */
  readonly active: number | undefined;
  readonly id: string;
}

const RowView = memo(function RowView(props: RowProps): ReactNode {
  const { row, index, columns, node, axis, name, want, active, id } = props;
  const say = useText();
  const percent = usePercent({ maximumFractionDigits: 0 });
  const duration = useDuration();
  const { ordinal } = row;
  useEffect(() => {
    if (name === undefined) want(ordinal);
  }, [name, ordinal, want]);
  const own = cellsOn(row.row, node);
  const rate = rateOf(own);
  const label = name ?? say("caseNumber", { n: ordinal + 1 });
  const takes = durationOf(own);
  return (
    <div role="row" aria-rowindex={index + 2} className={style.gridRow} data-index={index} data-case={ordinal}>
      <span
        role="rowheader"
        id={active === 0 ? `${id}-at` : undefined}
        className={classes(style.case, active === 0 && style.active)}
        title={row.row?.message === undefined || row.row.message === "" ? label : `${label}\n${row.row.message}`}
        data-column={0}
      >
        {isFlaky(own) && <span className={style.flaky}>{say("flakyMark")}</span>} {label}
      </span>
      <span role="gridcell" className={style.rate}>
        {rate === undefined ? "" : percent(rate.passed / rate.scored)}
      </span>
      <span role="gridcell" className={style.duration}>
        {own.length === 0 ? "" : duration(takes)}
      </span>
      {columns.map((column, at) => (
        <CellView
          key={column.key}
          cells={row.row?.cells.filter(column.holds) ?? []}
          label={`${label}, ${axis === "run" ? say("run", { n: Number(column.label) }) : column.label}`}
          isWide={axis === "device"}
          isActive={active === at + 1}
          id={id}
          column={at + 1}
        />
      ))}
    </div>
  );
});

interface CellProps {
  readonly cells: readonly Cell[];
  readonly label: string;
  readonly isWide: boolean;
  readonly isActive: boolean;
  readonly id: string;
  readonly column: number;
}

function CellView({ cells, label, isWide, isActive, id, column }: CellProps): ReactNode {
  const say = useText();
  const { status, passed, count } = cellLook(cells);
  const many = count > 1 ? `${passed}/${count}` : "";
  const word = say(status ?? "open");
  return (
    <span
      role="gridcell"
      id={isActive ? `${id}-at` : undefined}
      data-status={status ?? "open"}
      className={classes(isWide ? style.wideCell : style.cell, style.result, isActive && style.active)}
      aria-label={`${label}: ${word}${many === "" ? "" : `, ${say("ofPassed", { passed, count })}`}`}
      data-column={column}
    >
      <Sign status={status ?? "open"} />
      {many}
    </span>
  );
}
