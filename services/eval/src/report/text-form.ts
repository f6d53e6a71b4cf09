/** How numbers and texts of an eval are shown to people. Pure. */

import type { Json } from "@mesh/kernel";

import { cut } from "../assert/json-equal.ts";
import type { Status } from "../result.ts";

const MARKS: Readonly<Record<Status, string>> = {
  passed: "✅",
  failed: "❌",
  error: "💥",
  timeout: "⏱️",
  skipped: "⏭️",
};

/** The mark of a status. */
export function markOf(status: Status): string {
  return MARKS[status];
}

/** A time as people read it: 850µs, 12ms, 1.2s, 3.4m. */
export function durationText(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)}µs`;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)}s` : `${(ms / 60_000).toFixed(1)}m`;
}

/** The beginning of a value on one line, no character split, nothing a terminal would obey. */
export function preview(value: Json, maxChars: number): string {
  const text = plainText(inputText(value)).replaceAll(/\s+/g, " ").trim();
  return text.length <= maxChars ? text : `${cut(text, maxChars - 1)}…`;
}

/** What the user says in an input. */
export function inputText(input: Json): string {
  if (typeof input === "string") return input;
  const last = Array.isArray(input) ? (input as readonly Json[]).at(-1) : input;
  if (typeof last !== "object" || last === null || Array.isArray(last)) return JSON.stringify(input);
  const { content } = last as { readonly content?: Json };
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(input);
  const parts = content as readonly { readonly type?: string; readonly text?: string }[];
  return parts.map(({ type, text }) => text ?? `[${type ?? "part"}]`).join(" ");
}

/** Text without what a terminal would obey. */
export function plainText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this removes
  return text.replaceAll(/\u001B\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, "");
}

/** A share in percent, with as many digits as matter. */
export function percentText(rate: number): string {
  const percent = rate * 100;
  return Number.isInteger(percent) ? `${percent}%` : `${percent.toFixed(1)}%`;
}

/** An interval such as 57–100%. */
export function intervalText({ low, high }: { readonly low: number; readonly high: number }): string {
  return `${Math.round(low * 100)}–${Math.round(high * 100)}%`;
}
