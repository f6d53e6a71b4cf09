/** Times as people read them. */

import type { ReactNode } from "react";

import { browserClock } from "../app/clock.ts";
import { useLocale } from "../i18n/locale.ts";

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** How long ago, or in how long, in words. */
export function relative(at: string, nowMs: number, locale: string): string {
  const seconds = Math.round((Date.parse(at) - nowMs) / 1000);
  if (Number.isNaN(seconds)) return at;
  const format = new Intl.RelativeTimeFormat(locale, { numeric: "auto", style: "short" });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return format.format(seconds, "second");
}

/** A time: relative, with the exact one as a hint. */
export function Time({ at, exact = false }: { readonly at: string; readonly exact?: boolean }): ReactNode {
  const locale = useLocale((state) => state.locale);
  const date = new Date(at);
  const full = Number.isNaN(date.getTime())
    ? at
    : new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(date);
  return (
    <time dateTime={at} title={full}>
      {exact ? full : relative(at, browserClock.now(), locale)}
    </time>
  );
}

/** A number of bytes as people read it. */
export function bytesText(bytes: number, locale: string): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;
  const step = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log(bytes) / Math.log(1000)));
  const options = { style: "unit", unit: units[step] ?? "byte", maximumFractionDigits: 1 } as const;
  return new Intl.NumberFormat(locale, options).format(bytes / 1000 ** step);
}
