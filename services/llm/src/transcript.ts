/**
 * A history as every provider accepts it: pure, and the identity for a history that is already sound.
 *
 * T1  Each tool call is answered once, directly after the message that made it, in the order of the calls.
 * T2  A call without a result gets one that says so; a result without a call is dropped.
 * T3  Ids of calls are unique: a later call that reuses one is renamed together with its result.
 * T4  A message that would be empty on the wire is left out.
 * T5  The first to speak is the user, with words: where that message is missing or blank, one that says so stands for it.
 */

import {
  type AssistantMessage,
  type Message,
  type ToolCallContent,
  toolCallsOf,
  type ToolResultMessage,
  type UserMessage,
} from "./message.ts";

/** What the model reads where a result was lost. */
export const MISSING_RESULT = "No result was recorded for this call: it was interrupted or never ran.";

// One object for all requests: what was translated of it once stays the same.
const MISSING_OPENING: UserMessage = {
  role: "user",
  content: [{ type: "text", text: "(empty message)" }],
  timestamp: 0,
};

/** Makes a history sound; see the file comment. */
export function soundTranscript(messages: readonly Message[]): readonly Message[] {
  return opened(soundFrom(messages, 0, new Set()).sound);
}

/** A part of a history that is sound but for its opening. */
interface SoundPart {
  readonly sound: readonly Message[];
  /** Whether it stays as it is, whatever follows. */
  readonly isSettled: boolean;
}

/** The history from `start` on, where a settled part ended; `usedIds` are the ids of calls before, and then also of these. */
export function soundFrom(messages: readonly Message[], start: number, usedIds: Set<string>): SoundPart {
  const sound: Message[] = [];
  let isSettled = true;
  for (let at = start; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined || message.role === "toolResult") continue;
    if (message.role === "user") {
      if (message.content.length > 0) sound.push(message);
      continue;
    }
    if (message.content.length === 0) continue;
    const until = endOfTurn(messages, at + 1);
    const after = messages.slice(at + 1, until);
    const calls = toolCallsOf(message);
    isSettled = isSound(calls, after, usedIds);
    if (isSettled) {
      for (const call of calls) usedIds.add(call.id);
      sound.push(message, ...after);
    } else sound.push(...repaired(message, after, usedIds));
    at = until - 1;
  }
  return { sound, isSettled };
}

/** A sound history with the user as the first to speak (T5). */
export function opened(sound: readonly Message[]): readonly Message[] {
  const [first] = sound;
  return first === undefined || opens(first) ? sound : [MISSING_OPENING, ...sound];
}

function opens(message: Message): boolean {
  return message.role === "user" && message.content.some((part) => part.type === "image" || part.text.trim() !== "");
}

function endOfTurn(messages: readonly Message[], from: number): number {
  for (let at = from; at < messages.length; at += 1) {
    if (messages[at]?.role === "assistant") return at;
  }
  return messages.length;
}

/** Whether results follow in the order of their calls, and then only what a user said. */
function isSound(calls: readonly ToolCallContent[], after: readonly Message[], usedIds: ReadonlySet<string>): boolean {
  if (after.length < calls.length) return false;
  if (calls.length > 1 && new Set(calls.map((call) => call.id)).size < calls.length) return false;
  return after.every((message, at) => {
    const call = calls[at];
    if (call === undefined) return message.role === "user" && message.content.length > 0;
    return message.role === "toolResult" && message.toolCallId === call.id && !usedIds.has(call.id);
  });
}

function repaired(assistant: AssistantMessage, after: readonly Message[], usedIds: Set<string>): readonly Message[] {
  const results: ToolResultMessage[] = [];
  const unclaimed = after.filter((message) => message.role === "toolResult");
  let isRenamed = false;
  const content = assistant.content.map((part) => {
    if (part.type !== "toolCall") return part;
    const id = uniqueId(part.id, usedIds);
    usedIds.add(id);
    const found = unclaimed.findIndex((result) => result.toolCallId === part.id);
    const [result] = found < 0 ? [] : unclaimed.splice(found, 1);
    results.push(result === undefined ? missing(id, part.name, assistant.timestamp) : renamed(result, id));
    isRenamed ||= id !== part.id;
    return id === part.id ? part : { ...part, id };
  });
  const users = after.filter(
    (message): message is UserMessage => message.role === "user" && message.content.length > 0,
  );
  return [isRenamed ? { ...assistant, content } : assistant, ...results, ...users];
}

function uniqueId(id: string, usedIds: ReadonlySet<string>): string {
  let unique = id;
  for (let n = 2; usedIds.has(unique); n += 1) unique = `${id}_${n}`;
  return unique;
}

function renamed(result: ToolResultMessage, id: string): ToolResultMessage {
  return result.toolCallId === id ? result : { ...result, toolCallId: id };
}

function missing(toolCallId: string, toolName: string, timestamp: number): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName,
    content: [{ type: "text", text: MISSING_RESULT }],
    isError: true,
    timestamp,
  };
}
