/**
 * What a suspended run asks a person and what it is told: plain JSON that crosses processes. Pure.
 *
 * All that one run asks fits into one event of the bus. Arguments too long for that are shown in part and marked as cut.
 */

import { type CallAnswer, capText, type WaitingCall } from "@mesh/agent";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { textContent } from "@mesh/llm";

/** One thing that a run waits for. */
export interface PendingItem {
  /** Id of the tool call. */
  readonly id: string;
  readonly kind: "approval" | "question";
  readonly tool: string;
  readonly arguments: JsonObject;
  /** For people. */
  readonly text: string;
  readonly choices?: readonly string[];
  readonly arguments_cut?: boolean;
}

/** What a person said to one item. */
export interface ItemAnswer {
  readonly call_id: string;
  readonly decision: string;
  readonly arguments?: JsonObject;
  readonly text?: string;
}

const MAX_ITEMS = 256;
const MAX_SHOWN_CHARS = 128 * 1024;
const QUESTION_CAP = { maxLines: Number.POSITIVE_INFINITY, maxBytes: 8 * 1024 };
const PART_CAP = { maxLines: Number.POSITIVE_INFINITY, maxBytes: 1024 };

/** The waiting calls of a run as items. */
export function pendingItems(calls: readonly WaitingCall[]): readonly PendingItem[] {
  if (calls.length > MAX_ITEMS) {
    throw new MeshError(
      "resource_exhausted",
      `the model asks ${calls.length} things at once, and a run may ask at most ${MAX_ITEMS}; tell it to ask less at a time`,
    );
  }
  return calls.map((call) => pendingItem(call, Math.floor(MAX_SHOWN_CHARS / calls.length)));
}

function pendingItem({ toolCallId, toolName, args, need, reason }: WaitingCall, maxChars: number): PendingItem {
  const head = { id: toolCallId, tool: toolName, ...shown(args, maxChars) };
  if (need === "approval") return { ...head, kind: "approval", text: reason ?? `${toolName} needs your approval` };
  const { question } = args;
  const text = typeof question === "string" ? question : `the result of ${toolName}`;
  const cap = { ...QUESTION_CAP, maxBytes: Math.min(QUESTION_CAP.maxBytes, maxChars) };
  const choices = head.arguments["choices"];
  const offered = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
  return {
    ...head,
    kind: "question",
    text: capText(text, cap),
    ...(offered.length === 0 ? {} : { choices: offered }),
  };
}

function shown(args: JsonObject, maxChars: number): Pick<PendingItem, "arguments" | "arguments_cut"> {
  const fits = (value: JsonObject): boolean => JSON.stringify(value).length <= maxChars;
  if (fits(args)) return { arguments: args };
  const cut = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, shortened(value)]));
  return { arguments: fits(cut) ? cut : {}, arguments_cut: true };
}

function shortened(value: Json): Json {
  return typeof value === "string" ? capText(value, PART_CAP) : value;
}

/** The answers as the loop takes them; throws for one that makes no sense. */
export function callAnswers(answers: readonly ItemAnswer[]): Readonly<Record<string, CallAnswer>> {
  return Object.fromEntries(answers.map((answer) => [answer.call_id, callAnswer(answer)]));
}

function callAnswer({ decision, text = "", arguments: args = {} }: ItemAnswer): CallAnswer {
  switch (decision) {
    case "approve":
      return { kind: "approve" };
    case "deny":
      return { kind: "deny", ...(text === "" ? {} : { reason: text }) };
    case "edit":
      return { kind: "edit", args };
    case "answer":
      return { kind: "result", content: [textContent(text)] };
    default:
      throw new MeshError("unimplemented", `this device does not know the answer "${decision}"; update yao on it`);
  }
}
