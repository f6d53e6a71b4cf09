/** What a waiting run asks a person: read from what its device sent, and judged against what is answered. Pure. */

import { isObject } from "@mesh/kernel";

import { storableText } from "./storable.ts";

/** One thing that a run waits for. */
export interface PendingItem {
  /** Id of the tool call. */
  readonly id: string;
  readonly kind: "approval" | "question";
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** For people. */
  readonly text: string;
  readonly choices: readonly string[];
  readonly arguments_cut: boolean;
}

const MAX_ITEMS = 256;
/** An id is part of a key of an index, which bounds it in bytes. */
const MAX_ID_BYTES = 1024;
const MAX_TOOL = 200;
const MAX_TEXT = 16 * 1024;
const MAX_CHOICES = 20;

/** The items of a device's message; undefined when it makes no sense: nobody could answer it then. */
export function readItems(value: unknown): readonly PendingItem[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_ITEMS) return undefined;
  const items = value.flatMap(readItem);
  const ids = new Set(items.map((item) => item.id));
  return ids.size === value.length ? items : undefined;
}

function readItem(value: unknown): PendingItem[] {
  if (!isObject(value)) return [];
  const { id, kind, tool, text, choices } = value;
  if (typeof id !== "string" || id === "" || Buffer.byteLength(id) > MAX_ID_BYTES || storableText(id) !== id) return [];
  if (typeof tool !== "string") return [];
  if (kind !== "approval" && kind !== "question") return [];
  return [
    {
      id,
      kind,
      tool: tool.slice(0, MAX_TOOL),
      arguments: isObject(value["arguments"]) ? value["arguments"] : {},
      text: typeof text === "string" ? text.slice(0, MAX_TEXT) : "",
      choices: Array.isArray(choices)
        ? choices.filter((choice) => typeof choice === "string").slice(0, MAX_CHOICES)
        : [],
      arguments_cut: value["arguments_cut"] === true,
    },
  ];
}

/** Why a run waits, as one line. */
export function askedReason(items: readonly PendingItem[]): string {
  const [first] = items;
  const text = storableText((first?.text ?? "").replaceAll(/\s+/g, " ").slice(0, MAX_REASON));
  const more = items.length > 1 ? `, and ${items.length - 1} more` : "";
  return `waiting for your ${first?.kind === "question" ? "answer" : "approval"}: ${text}${more}`;
}

const MAX_REASON = 200;
