/** An event of a run in one line. Pure. */

import type { RunEvent } from "@mesh/proto";

/** What a list of events can be narrowed to. */
export const KINDS = ["all", "message", "trace", "log", "state"] as const;

/** One of {@link KINDS}. */
export type Kind = (typeof KINDS)[number];

const MAX_CHARS = 400;

/** The kind that an event counts as: changes of the run's own state are one. */
export function kindOf({ kind }: RunEvent): Kind {
  if (kind.startsWith("run.")) return "state";
  return kind === "trace" || kind === "log" ? kind : "message";
}

/** Its text where it has one, else its data as JSON, cut to one line. */
export function eventText({ kind, data }: RunEvent): string {
  const fields = data ?? {};
  const props: unknown = fields["props"];
  const content = typeof props === "object" && props !== null && "content" in props ? props.content : undefined;
  const text = kind === "log" ? (fields["message"] ?? fields["text"]) : content;
  const level = kind === "log" && typeof fields["level"] === "string" ? `${fields["level"]}: ` : "";
  const shown = typeof text === "string" && text !== "" ? level + text : JSON.stringify(fields);
  return shown.slice(0, MAX_CHARS).replaceAll(/\s+/g, " ");
}
