/**
 * Finds what the person actually asked for, for policies that judge a call against it.
 *
 * Messages the loop wrote are skipped; it never looks behind a compaction boundary, where the words are no longer the
 * person's, nor behind a message of images only, which may have changed the request.
 */

import { type AgentMessage, messageText } from "./message.ts";
import { isCompactionBoundary, isLoopInjected } from "./marker.ts";

/** The question that a short reply answers. */
export interface ReplyContext {
  readonly question: string;
  readonly earlierRequest?: string;
}

/** What the person asked for. */
export interface UserRequest {
  readonly latest: string;
  readonly reply?: ReplyContext;
  /** `runPrompts` when the history no longer holds a message of a person. */
  readonly source: "conversation" | "runPrompts";
  readonly runPrompts: readonly string[];
}

const SHORT_REPLY_CHARS = 40;

/** The latest real request in a history; the run's own prompts where there is none. */
export function userRequest(history: readonly AgentMessage[], runPrompts: readonly string[]): UserRequest {
  const at = personAt(history, history.length - 1);
  if (at === undefined) return { latest: runPrompts.join("\n"), source: "runPrompts", runPrompts };
  const latest = textAt(history, at);
  const reply = latest.trim().length < SHORT_REPLY_CHARS ? replyContext(history, at) : undefined;
  return { latest, ...(reply === undefined ? {} : { reply }), source: "conversation", runPrompts };
}

function replyContext(history: readonly AgentMessage[], at: number): ReplyContext | undefined {
  for (let i = at - 1; i >= 0; i -= 1) {
    const message = history[i];
    if (message?.role === "user" && isCompactionBoundary(messageText(message))) return undefined;
    if (message?.role !== "assistant") continue;
    const question = messageText(message).trim();
    if (!endsWithQuestion(question)) return undefined;
    const earlier = personAt(history, i - 1);
    return { question, ...(earlier === undefined ? {} : { earlierRequest: textAt(history, earlier) }) };
  }
  return undefined;
}

function endsWithQuestion(text: string): boolean {
  const outsideCode = text
    .replaceAll(/```[\s\S]*?(?:```|$)/g, "")
    .replaceAll(/`[^`]*`/g, "")
    .trimEnd();
  return /[?？]["')\]*_]*$/.test(outsideCode);
}

/** Index of the nearest message a person wrote, at or before `from`. */
function personAt(history: readonly AgentMessage[], from: number): number | undefined {
  for (let i = from; i >= 0; i -= 1) {
    const message = history[i];
    if (message?.role !== "user") continue;
    const text = messageText(message);
    if (isCompactionBoundary(text)) return undefined;
    if (isLoopInjected(text)) continue;
    return text.trim() === "" ? undefined : i;
  }
  return undefined;
}

function textAt(history: readonly AgentMessage[], index: number): string {
  const message = history[index];
  return message === undefined ? "" : messageText(message);
}
