/**
 * Makes a history fit: cut tool output, then summarize old turns, then drop the middle.
 *
 * P1  A pure function of its input: the same history and config give the same bytes, on any machine, at any time.
 * P2  Compacting what it returned changes nothing, so a settled history keeps its cached prefix.
 * P3  It never parts a call from its results, never empties a history, and keeps a user message first.
 * P4  It cuts below the target, not just below the budget, so that it does not fire again at the next turn.
 */

import { type AssistantMessage, textContent, textOf, toolCallsOf, type UserMessage } from "@mesh/llm";

import { COMPACTION_MARKER, SUMMARY_PREFIX } from "./marker.ts";
import { type AgentMessage, messageText, userMessage } from "./message.ts";
import { historyTokens, messageTokens } from "./token.ts";
import { byteLength, capText, sliceBytes } from "./truncate.ts";

/** How far a history may grow and what must stay. */
export interface ContextConfig {
  /** Tokens of the whole context. */
  readonly maxTokens: number;
  /** Tokens kept free for the system prompt and tools until real usage tells. */
  readonly reserveTokens: number;
  readonly keepRecent: number;
  readonly keepFirst: number;
  /** Lines of a tool result that survive level 1. */
  readonly toolOutputLines: number;
  /** Where compaction stops, as a share of the budget; clamped to 0.05..1, anything else means 1. */
  readonly targetRatio: number;
}

/** The config for a model of this size: four fifths of its window. */
export function contextFor(contextWindow: number): ContextConfig {
  const maxTokens = Math.floor(contextWindow * 0.8);
  return {
    maxTokens,
    // A small window must not be all reserve.
    reserveTokens: Math.min(4000, Math.floor(maxTokens / 4)),
    keepRecent: 10,
    keepFirst: 2,
    toolOutputLines: 50,
    targetRatio: 0.7,
  };
}

/** Tokens that messages may take. */
export function contextBudget(config: ContextConfig): number {
  return Math.max(1, config.maxTokens - config.reserveTokens);
}

/** The config with what requests carry besides messages, as measured; never below a tenth of what was configured. */
export function calibrated(config: ContextConfig, overhead: number): ContextConfig {
  if (overhead <= 0) return config;
  const maxTokens = Math.max(Math.floor(config.maxTokens / 10), config.maxTokens - overhead);
  return { ...config, maxTokens, reserveTokens: 0 };
}

const TURNS_OF_HEADROOM = 30;
const MIN_HEADROOM_RATIO = 0.15;

/** The config with room for about thirty more turns of the growth seen so far. */
export function withHeadroom(config: ContextConfig, growthPerTurn: number): ContextConfig {
  if (!(growthPerTurn > 0)) return config;
  const budget = contextBudget(config);
  const wanted = (budget - TURNS_OF_HEADROOM * growthPerTurn) / budget;
  return { ...config, targetRatio: Math.min(ratioOf(config), Math.max(MIN_HEADROOM_RATIO, wanted)) };
}

/** A history that fits its budget as far as its rules allow; the same array when it already does. */
export function compactHistory(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[] {
  const budget = contextBudget(config);
  if (historyTokens(history) <= budget) return history;
  const cut = cutToolOutput(history, config);
  if (historyTokens(cut) <= budget) return cut;
  const summarized = summarizeOldTurns(cut, config);
  if (historyTokens(summarized) <= budget) return summarized;
  return dropMiddle(summarized, config, Math.max(1, Math.floor(budget * ratioOf(config))));
}

function ratioOf(config: ContextConfig): number {
  return Number.isFinite(config.targetRatio) ? Math.min(1, Math.max(0.05, config.targetRatio)) : 1;
}

function cutToolOutput(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[] {
  const cap = { maxLines: config.toolOutputLines, maxBytes: config.toolOutputLines * 200 };
  return history.map((message) => {
    if (message.role !== "toolResult") return message;
    const content = message.content.map((part) => {
      const text = part.type === "text" ? capText(part.text, cap) : undefined;
      return part.type !== "text" || text === undefined || text === part.text ? part : { ...part, text };
    });
    return content.every((part, index) => part === message.content[index]) ? message : { ...message, content };
  });
}

/** The index at or before `at` where a turn begins: never between a call and its results. */
export function turnStart(history: readonly AgentMessage[], at: number): number {
  let index = Math.min(Math.max(0, at), history.length);
  while (index > 0 && index < history.length && isInsideTurn(history, index)) index -= 1;
  return index;
}

function isInsideTurn(history: readonly AgentMessage[], index: number): boolean {
  const message = history[index];
  if (message?.role === "toolResult") return true;
  if (message?.role !== "extension") return false;
  // An application's message between a call and its result belongs to that turn.
  for (let i = index + 1; i < history.length; i += 1) {
    const next = history[i];
    if (next?.role === "toolResult") return true;
    if (next?.role !== "extension") return false;
  }
  return false;
}

/** At least the last turn: it is what the model is to answer. */
function keptRecent(config: ContextConfig): number {
  return Math.max(1, config.keepRecent);
}

const SHORT_TEXT_BYTES = 200;

function summarizeOldTurns(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[] {
  const boundary = turnStart(history, history.length - keptRecent(config));
  const summarized: AgentMessage[] = [];
  for (const message of history.slice(0, boundary)) {
    if (message.role === "toolResult") continue;
    summarized.push(message.role === "assistant" ? summaryOf(message) : message);
  }
  return [...summarized, ...history.slice(boundary)];
}

function summaryOf(message: AssistantMessage): UserMessage {
  const texts = message.content.filter((part) => part.type === "text").map((part) => part.text.trim());
  const short = texts.filter((text) => text !== "" && byteLength(text) <= SHORT_TEXT_BYTES);
  const calls = toolCallsOf(message).length;
  const note = calls === 0 ? sliceBytes(textOf(message.content).trim(), SHORT_TEXT_BYTES) : `used ${calls} tool(s)`;
  const text = short.length > 0 ? short.join(" ") : note;
  return {
    role: "user",
    content: [textContent(`${SUMMARY_PREFIX}${text === "" ? "no text" : text}`)],
    timestamp: message.timestamp,
  };
}

/** Head, marker, and as much of the tail as fits; then less and less from the front. */
function dropMiddle(history: readonly AgentMessage[], config: ContextConfig, target: number): readonly AgentMessage[] {
  const settledHead = headEnd(history, config.keepFirst);
  const at = history.findIndex(isMarker);
  // A marker of an earlier pass is the boundary of its head; a second one would push the history apart.
  const head = at >= 0 && at <= settledHead ? history.slice(0, at) : history.slice(0, settledHead);
  const rest = history.slice(head.length).filter((message) => !isMarker(message));
  const recent = Math.max(0, rest.length - keptRecent(config));
  const marker = history[at] ?? userMessage(COMPACTION_MARKER, head.at(-1)?.timestamp ?? rest[0]?.timestamp ?? 0);
  const room = target - historyTokens(head) - messageTokens(marker);
  const from = cutPoint(rest, room, turnStart(rest, recent));
  const kept = [...head, marker, ...rest.slice(from)];
  if (historyTokens(kept) <= target) return kept;
  // Even the head and the recent messages are too much: the marker and the last turns that fit.
  const all = [...head, ...rest];
  const last = lastTurnStart(all);
  const start = Math.min(last, cutPoint(all, target - messageTokens(marker), last));
  return [marker, ...all.slice(start)];
}

/** The smallest start of a turn from which the rest fits in `room` tokens, at most `latest`. */
function cutPoint(messages: readonly AgentMessage[], room: number, latest: number): number {
  let tokens = historyTokens(messages.slice(latest));
  let best = latest;
  for (let i = latest - 1; i >= 0; i -= 1) {
    const message = messages[i];
    if (message === undefined) break;
    tokens += messageTokens(message);
    if (tokens > room) break;
    if (!isInsideTurn(messages, i)) best = i;
  }
  return best;
}

function lastTurnStart(messages: readonly AgentMessage[]): number {
  return turnStart(messages, Math.max(0, messages.length - 1));
}

/** The end of the first `keepFirst` messages, pulled back so that no call in it lacks its results. */
export function headEnd(history: readonly AgentMessage[], keepFirst: number): number {
  const end = turnStart(history, keepFirst);
  return end < history.length ? end : 0;
}

function isMarker(message: AgentMessage): boolean {
  return message.role === "user" && messageText(message) === COMPACTION_MARKER;
}
