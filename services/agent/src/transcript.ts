/**
 * What makes a history acceptable to every provider, as a check and as a repair.
 *
 * T1  Every tool call has exactly one result, directly after its assistant message, before any other message.
 * T2  Every result answers a call of the assistant message just before it.
 * T3  Call ids are not empty and unique in the whole history.
 * T4  The first message for a model is a user message.
 * T5  An assistant message that ended as error, aborted or refusal holds no tool call.
 */

import { type AssistantMessage, textContent, toolCallsOf, type ToolResultMessage } from "@mesh/llm";

import type { AgentMessage } from "./message.ts";

/** One breach of a rule. */
export interface TranscriptFault {
  readonly rule: "T1" | "T2" | "T3" | "T4" | "T5";
  readonly index: number;
  readonly text: string;
}

/** Every breach in a history; `pending` are calls that a waiting run still has to answer. */
export function checkTranscript(
  history: readonly AgentMessage[],
  pending: ReadonlySet<string> = new Set(),
): readonly TranscriptFault[] {
  const faults: TranscriptFault[] = [];
  const seen = new Set<string>();
  let open = new Map<string, number>();
  let first = true;
  const fault = (rule: TranscriptFault["rule"], index: number, text: string): void => {
    faults.push({ rule, index, text });
  };
  const closeOpen = (): void => {
    for (const [id, index] of open) fault("T1", index, `call ${id} has no result`);
    open = new Map();
  };
  for (const [index, message] of history.entries()) {
    if (message.role === "extension") continue;
    if (first && message.role !== "user") fault("T4", index, `the first message is of role ${message.role}`);
    first = false;
    if (message.role === "toolResult") {
      if (!open.delete(message.toolCallId)) fault("T2", index, `result for ${message.toolCallId} answers no open call`);
      continue;
    }
    closeOpen();
    if (message.role !== "assistant") continue;
    for (const call of toolCallsOf(message)) {
      if (call.id === "" || seen.has(call.id)) fault("T3", index, `call id ${JSON.stringify(call.id)} is not unique`);
      seen.add(call.id);
      open.set(call.id, index);
      if (neverRuns(message)) fault("T5", index, `a ${message.stopReason} message holds call ${call.id}`);
    }
  }
  for (const id of pending) open.delete(id);
  closeOpen();
  return faults;
}

/** Whether a message's calls must not exist because the model did not finish saying them. */
export function neverRuns(message: AssistantMessage): boolean {
  return message.stopReason === "error" || message.stopReason === "aborted" || message.stopReason === "refusal";
}

/** The text of a result that the loop gives to a call that was lost. */
export const LOST_CALL_TEXT = "This call was interrupted; its outcome is unknown. Check before you repeat it.";

/**
 * A history that keeps T1–T3 and T5: lost calls get an error result, stray results are dropped, repeated ids renamed.
 * Returns the same array when nothing was wrong.
 */
export function repairTranscript(history: readonly AgentMessage[], timestamp: number): readonly AgentMessage[] {
  if (checkTranscript(history).every((fault) => fault.rule === "T4")) return history;
  const repaired: AgentMessage[] = [];
  const seen = new Set<string>();
  let index = 0;
  while (index < history.length) {
    const message = history[index];
    index += 1;
    if (message === undefined || message.role === "toolResult") continue;
    if (message.role !== "assistant") {
      repaired.push(message);
      continue;
    }
    const results: ToolResultMessage[] = [];
    const asides: AgentMessage[] = [];
    for (let next = history[index]; next?.role === "toolResult" || next?.role === "extension"; next = history[index]) {
      if (next.role === "toolResult") results.push(next);
      else asides.push(next);
      index += 1;
    }
    repaired.push(...repairTurn(message, results, { seen, timestamp }), ...asides);
  }
  return repaired;
}

function repairTurn(
  message: AssistantMessage,
  results: readonly ToolResultMessage[],
  run: { readonly seen: Set<string>; readonly timestamp: number },
): AgentMessage[] {
  if (neverRuns(message)) return [{ ...message, content: message.content.filter((part) => part.type !== "toolCall") }];
  const unused = [...results];
  const answers: ToolResultMessage[] = [];
  const content = message.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const at = unused.findIndex((result) => result.toolCallId === part.id);
    const found = at < 0 ? undefined : unused.splice(at, 1)[0];
    const id = uniqueId(part.id, run.seen);
    answers.push(found === undefined ? lostResult(id, part.name, run.timestamp) : { ...found, toolCallId: id });
    return id === part.id ? part : { ...part, id };
  });
  return [{ ...message, content }, ...answers];
}

/** The result of a call whose outcome nobody knows. */
export function lostResult(toolCallId: string, toolName: string, timestamp: number): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName,
    content: [textContent(LOST_CALL_TEXT)],
    isError: true,
    timestamp,
  };
}

/** An id that is not in `seen`, close to the wanted one; records it. */
export function uniqueId(wanted: string, seen: Set<string>): string {
  const base = wanted === "" ? "call" : wanted;
  let id = wanted === "" ? "call_1" : wanted;
  for (let n = 2; seen.has(id); n += 1) id = `${base}_${n}`;
  seen.add(id);
  return id;
}

/** Every call id of a history. */
export function callIds(history: readonly AgentMessage[]): Set<string> {
  const ids = new Set<string>();
  for (const message of history) {
    if (message.role !== "assistant") continue;
    for (const call of toolCallsOf(message)) ids.add(call.id);
  }
  return ids;
}
