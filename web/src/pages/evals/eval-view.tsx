/** How evals, their results and rates look wherever they are shown. */

import type { Eval } from "@mesh/proto";
import type { ReactNode } from "react";

import { useLocale } from "../../i18n/locale.ts";
import { classes } from "../../ui/class.ts";
import type { IconName } from "../../ui/icon.tsx";
import { Badge, type Tone } from "../../ui/state.tsx";
import style from "./evals.module.css";
import { wilson } from "./statistic.ts";
import { type Counts, scoredOf, settled, type Status, STATUSES } from "./status.ts";
import { useText } from "./text.ts";

const STATES = {
  draft: ["plain", "edit"],
  running: ["info", "play"],
  cancelling: ["warn", "stop"],
  ended: ["good", "check"],
  cancelled: ["plain", "stop"],
  failed: ["danger", "warning"],
} as const satisfies Readonly<Record<string, readonly [Tone, IconName]>>;

/** States that evals can be listed by. */
export const EVAL_STATES = ["draft", "running", "cancelling", "ended", "cancelled", "failed"] as const;

/** What an eval is called. */
export function nameOf({ name, assistant }: Pick<Eval, "name" | "assistant">): string {
  return name === "" ? assistant : name;
}

/** The state of an eval. */
export function EvalStateBadge({ state }: { readonly state: string }): ReactNode {
  const say = useText();
  const known = EVAL_STATES.find((name) => name === state) ?? "draft";
  const [tone, icon] = STATES[known];
  return (
    <Badge tone={tone} icon={icon}>
      {say(`state_${known}`)}
    </Badge>
  );
}

/** The sign of a status: its shape says it without its colour. */
export const SIGNS: Readonly<Record<Status | "open", string>> = {
  passed: "✓",
  failed: "✗",
  error: "!",
  timeout: "◷",
  skipped: "–",
  open: "·",
};

/** The sign of a status with its colour; the text beside it or the label around it says the word. */
export function Sign({ status }: { readonly status: Status | "open" }): ReactNode {
  return (
    <span className={classes(style.sign, style[status])} aria-hidden="true">
      {SIGNS[status]}
    </span>
  );
}

/** A status as sign and word. */
export function StatusText({ status }: { readonly status: Status }): ReactNode {
  const say = useText();
  return (
    <span className={style.status}>
      <Sign status={status} />
      {say(status)}
    </span>
  );
}

/** The passed of those that could be judged, with the interval at 95 %. */
export function PassRate({ counts, brief = false }: { readonly counts: Counts; readonly brief?: boolean }): ReactNode {
  const say = useText();
  const percent = usePercent();
  const scored = scoredOf(counts);
  const interval = wilson(counts.passed, scored);
  if (interval === undefined) return <span className={style.muted}>{say("noRate")}</span>;
  const range = say("interval", { low: percent(interval.low), high: percent(interval.high) });
  return (
    <span title={say("intervalHint", { range, count: scored })}>
      <strong>{percent(counts.passed / scored)}</strong> {!brief && <span className={style.muted}>{range}</span>}
    </span>
  );
}

/** Writes rates as the language does. */
export function usePercent(options: Intl.NumberFormatOptions = {}): (rate: number) => string {
  const locale = useLocale((state) => state.locale);
  const format = new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: 1, ...options });
  return (rate) => format.format(rate);
}

/** Writes a duration as the language does. */
export function useDuration(): (ms: number) => string {
  const locale = useLocale((state) => state.locale);
  return (ms) => {
    const [value, unit] =
      ms < 1_000 ? [ms, "millisecond"] : ms < 120_000 ? [ms / 1_000, "second"] : [ms / 60_000, "minute"];
    const digits = unit === "millisecond" ? 0 : 1;
    return new Intl.NumberFormat(locale, { style: "unit", unit, maximumFractionDigits: digits }).format(value);
  };
}

const BAR_UNITS = 1_000;

/** How far an eval is, by how results ended. */
export function ProgressBar({ counts, total }: { readonly counts: Counts; readonly total: number }): ReactNode {
  const say = useText();
  const done = settled(counts);
  const whole = Math.max(1, total, done);
  const parts = STATUSES.map((status, index) => ({
    status,
    x: (STATUSES.slice(0, index).reduce((sum, before) => sum + counts[before], 0) / whole) * BAR_UNITS,
    width: (counts[status] / whole) * BAR_UNITS,
  }));
  return (
    <div
      role="progressbar"
      aria-label={say("progress")}
      aria-valuemin={0}
      aria-valuemax={whole}
      aria-valuenow={done}
      aria-valuetext={say("progressText", { done, total })}
      className={style.bar}
    >
      <svg viewBox={`0 0 ${BAR_UNITS} 10`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {parts.map(
          ({ status, x, width }) =>
            width > 0 && <rect key={status} x={x} y="0" width={width} height="10" className={style[status]} />,
        )}
      </svg>
    </div>
  );
}

/** The counts in words, each with its sign. */
export function CountList({
  counts,
  running,
  open,
  observations,
}: {
  readonly counts: Counts;
  /** Units that are on a device now. */
  readonly running: number;
  /** Units without a result. */
  readonly open: number;
  readonly observations: number;
}): ReactNode {
  const say = useText();
  const locale = useLocale((state) => state.locale);
  const number = new Intl.NumberFormat(locale);
  return (
    <ul className={style.counts} aria-label={say("counts")}>
      {STATUSES.map((status) => (
        <li key={status}>
          <Sign status={status} />
          {say(status)} <strong>{number.format(counts[status])}</strong>
        </li>
      ))}
      {running > 0 && (
        <li>
          {say("runningNow")} <strong>{number.format(running)}</strong>
        </li>
      )}
      {open > 0 && (
        <li>
          <Sign status="open" />
          {say("open")} <strong>{number.format(open)}</strong>
        </li>
      )}
      {observations > 0 && (
        <li title={say("observationsHint")}>
          {say("observations")} <strong>{number.format(observations)}</strong>
        </li>
      )}
    </ul>
  );
}
