/** What a waiting run asks, for people, and what they type as an answer. Pure. */

import { isObject } from "@mesh/kernel";
import type { AnswerRunRequest, PendingItem } from "@mesh/proto";

import { oneLine, plain } from "../terminal/terminal.ts";

/** An answer without the run it is for. */
export type Answer = Pick<AnswerRunRequest, "call_id" | "decision"> &
  Partial<Pick<AnswerRunRequest, "arguments" | "text">>;

/** A question with what is to be judged, over several lines. */
export function questionText(item: PendingItem): string {
  const lines = [oneLine(item.text)];
  if (item.kind === "approval") lines.push(`  ${item.tool} ${plain(JSON.stringify(item.arguments ?? {}))}`);
  if (item.arguments_cut) lines.push("  (shown in part; the tool_call message of the run has all of it)");
  lines.push(...item.choices.map((choice, i) => `  ${i + 1}  ${oneLine(choice)}`));
  return `${lines.join("\n")}\n`;
}

/** The command that answers it; the call has to be named only where there are several. */
export function answerCommand(run: string, item: PendingItem, isOnly: boolean): string {
  const call = isOnly ? "" : ` --call ${item.id}`;
  const forms = item.kind === "approval" ? "--approve  (or --deny, --edit JSON)" : "--text ANSWER  (or --deny)";
  return `yao runs answer ${run}${call} ${forms}`;
}

/** All of a run's questions with their commands. */
export function questionsText(run: string, items: readonly PendingItem[]): string {
  return items
    .map((item) => `${questionText(item)}answer with: ${answerCommand(run, item, items.length === 1)}\n`)
    .join("\n");
}

/** What stands in front of the cursor. */
export function promptOf(item: PendingItem): string {
  return item.kind === "approval" ? "approve? [y / n why / {json} to edit] " : "answer: ";
}

/** Reads what was typed; undefined when it is no answer. */
export function readAnswer(item: PendingItem, line: string): Answer | undefined {
  const typed = line.trim();
  const call_id = item.id;
  if (typed === "") return undefined;
  if (item.kind === "question") return { call_id, decision: "answer", text: chosen(item, typed) };
  if (/^(y|yes|approve)$/i.test(typed)) return { call_id, decision: "approve" };
  const no = /^(?:n|no|deny)(?:\s+(.+))?$/is.exec(typed);
  if (no !== null) return { call_id, decision: "deny", ...(no[1] === undefined ? {} : { text: no[1] }) };
  const edited = parseObject(typed);
  return edited === undefined ? undefined : { call_id, decision: "edit", arguments: edited };
}

/** The JSON object in a text; undefined when there is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** What a `run.asked` event asks. */
export function pendingOf(data: unknown): readonly PendingItem[] {
  const pending = isObject(data) ? data["pending"] : undefined;
  // Sent by the coordinator in the shape of its own API.
  return Array.isArray(pending) ? (pending.filter(isObject) as unknown as PendingItem[]) : [];
}

function chosen(item: PendingItem, typed: string): string {
  return (/^\d+$/.test(typed) ? item.choices[Number(typed) - 1] : undefined) ?? typed;
}
