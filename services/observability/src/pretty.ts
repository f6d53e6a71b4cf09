/** Log lines for people: time, level, component, phrase, then `key=value` fields. */

import { isObject } from "@mesh/kernel";

const FIXED: ReadonlySet<string> = new Set(["time", "level", "name", "component", "msg", "err"]);

/** Rewrites one JSON log line; anything else passes unchanged. */
export function prettyLine(json: string): string {
  const entry = parse(json);
  if (entry === undefined) return json;
  const time = text(entry["time"]).slice(11, 19);
  const who = text(entry["component"] ?? entry["name"]);
  const fields = Object.entries(entry)
    .filter(([name]) => !FIXED.has(name))
    .map(([name, value]) => ` ${name}=${text(value)}`);
  const head = `${time} ${text(entry["level"]).padEnd(5)} ${who}: ${text(entry["msg"])}${fields.join("")}`;
  return `${head}${errorLines(entry["err"])}\n`;
}

function parse(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function errorLines(err: unknown): string {
  if (!isObject(err)) return "";
  return `\n  ${text(err["stack"] ?? err["message"]).replaceAll("\n", "\n  ")}`;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : JSON.stringify(value);
}
