/**
 * Replaces the old part of a history by a briefing that a model wrote.
 *
 * L1  A turn never waits: the briefing is asked for early, in the background, and used only once the history is over
 *     its budget; until then, and whenever it fails, the tiered levels keep the history within bounds.
 * L2  A briefing is used only for exactly the messages it describes; a history that changed meanwhile discards it.
 * L3  A request that hangs, fails or answers nonsense frees its place; its cost is counted whatever it answered.
 */

import { errorText } from "@mesh/kernel";
import { type AssistantMessage, type Content, costUsd, type ModelConfig, textOf, type Usage } from "@mesh/llm";

import { compactHistory, type ContextConfig, contextBudget, headEnd, turnStart } from "./compaction.ts";
import type { CompactionStrategy } from "./compaction-strategy.ts";
import type { CompactionReport } from "./event.ts";
import { type Log, silentLog } from "./log.ts";
import { fingerprint } from "./loop-detector.ts";
import { BRIEFING_PREFIX } from "./marker.ts";
import { type AgentMessage, userMessage } from "./message.ts";
import { type ModelTarget, callModel } from "./model-call.ts";
import { addCompaction, type CompactionSpend, countedTokens } from "./stats.ts";
import { historyTokens, messageTokens } from "./token.ts";
import { byteLength, sliceBytes } from "./truncate.ts";

/** How a briefing is asked for. */
export interface LlmCompactionOptions extends ModelTarget {
  /** Share of the budget at which the briefing is asked for. */
  readonly triggerRatio?: number;
  /** Tokens at the end of the history that stay as they are. */
  readonly retainTokens?: number;
  readonly maxSummaryTokens?: number;
  readonly timeoutMs?: number;
  readonly instructions?: string;
  readonly log?: Log;
}

interface Ready {
  readonly head: number;
  readonly cut: number;
  readonly print: string;
  readonly text: string;
  readonly usage: Usage;
  readonly costUsd: number | null;
}

const MIN_SPAN = 4;
const BLOCK_BYTES = 2000;
const ARGUMENT_BYTES = 300;
const TRANSCRIPT_BYTES = 480_000;
const INSTRUCTIONS =
  "You write briefings. You are given part of a conversation between a person and an assistant that uses tools. " +
  "Write what the assistant needs to go on without it: the person's goal and constraints, decisions and their reasons, " +
  "what was done and found (exact names, paths, numbers, errors), what failed, and what is left to do. " +
  "Write only the briefing, in the conversation's language.";

/** A compaction strategy that asks a model for briefings. */
export class LlmCompaction implements CompactionStrategy {
  method = "llm";
  readonly #options: LlmCompactionOptions;
  readonly #log: Log;
  #busy = false;
  #ready: Ready | undefined;
  #summary: CompactionReport["summary"];
  #spend: CompactionSpend | undefined;
  #warned = false;
  #generation = 0;
  #working: Promise<void> = Promise.resolve();

  constructor(options: LlmCompactionOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
  }

  compact(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[] {
    const budget = contextBudget(config);
    const compacted = historyTokens(history) > budget ? this.#fit(history, config) : history;
    if (historyTokens(compacted) > budget * this.#trigger()) this.#request(compacted, config);
    return compacted;
  }

  takeSummary(): CompactionReport["summary"] | undefined {
    const summary = this.#summary;
    this.#summary = undefined;
    return summary;
  }

  takeSpend(): CompactionSpend | undefined {
    const spend = this.#spend;
    this.#spend = undefined;
    return spend;
  }

  /** Resolves when no request is in flight. */
  idle(): Promise<void> {
    return this.#working;
  }

  #trigger(): number {
    const ratio = this.#options.triggerRatio ?? 0.6;
    return Number.isFinite(ratio) ? Math.min(0.95, Math.max(0.1, ratio)) : 0.6;
  }

  #fit(history: readonly AgentMessage[], config: ContextConfig): readonly AgentMessage[] {
    const ready = this.#ready;
    this.#ready = undefined;
    this.method = "tiered";
    if (ready === undefined) return compactHistory(history, config);
    if (ready.cut > history.length || printOf(history, ready.cut) !== ready.print) {
      this.#log("warn", "briefing discarded: the history changed", {});
      return compactHistory(history, config);
    }
    // Reported in either case: the briefing was paid for.
    this.#summary = {
      messagesSummarized: ready.cut - ready.head,
      usage: ready.usage,
      ...(ready.costUsd === null ? {} : { costUsd: ready.costUsd }),
    };
    const opening = [...history.slice(0, ready.head), briefing(history, ready)];
    const tail = history.slice(ready.cut);
    const room = contextBudget(config) - historyTokens(opening);
    if (room <= 0) {
      this.#log("warn", "briefing too long for the budget", { tokens: historyTokens(opening) });
      return compactHistory(history, config);
    }
    this.method = "llm";
    if (historyTokens(tail) <= room) return [...opening, ...tail];
    return [...opening, ...compactHistory(tail, { ...config, maxTokens: room, reserveTokens: 0, keepFirst: 0 })];
  }

  #request(history: readonly AgentMessage[], config: ContextConfig): void {
    if (this.#busy || this.#ready !== undefined) return;
    const budget = contextBudget(config);
    const head = headEnd(history, config.keepFirst);
    const cut = this.#tailStart(history, config);
    if (cut - head < MIN_SPAN) {
      this.#warnIfInert(history, config, budget);
      return;
    }
    this.#busy = true;
    this.#generation += 1;
    const generation = this.#generation;
    const print = printOf(history, cut);
    this.#working = this.#write(history.slice(head, cut))
      .then((written) => {
        if (written !== undefined && generation === this.#generation) this.#ready = { head, cut, print, ...written };
      })
      .finally(() => {
        this.#busy = false;
      });
  }

  #tailStart(history: readonly AgentMessage[], config: ContextConfig): number {
    const retain = this.#options.retainTokens ?? Math.min(20_000, Math.floor(contextBudget(config) / 4));
    let tokens = 0;
    let at = history.length;
    while (at > 0) {
      const message = history[at - 1];
      tokens += message === undefined ? 0 : messageTokens(message);
      if (tokens > retain && history.length - at >= config.keepRecent) break;
      at -= 1;
    }
    return turnStart(history, at);
  }

  /** Only when the setting itself leaves nothing to summarize; a history that is merely short says nothing about it. */
  #warnIfInert(history: readonly AgentMessage[], config: ContextConfig, budget: number): void {
    const retain = this.#options.retainTokens ?? 0;
    if (this.#warned || history.length < config.keepFirst + config.keepRecent + MIN_SPAN) return;
    if (retain < budget) return;
    this.#warned = true;
    this.#log("warn", "nothing can be summarized: retainTokens is not below the budget", { retain, budget });
  }

  async #write(span: readonly AgentMessage[]): Promise<Pick<Ready, "text" | "usage" | "costUsd"> | undefined> {
    const { clock, model, timeoutMs = 120_000, maxSummaryTokens = 2000, instructions = INSTRUCTIONS } = this.#options;
    const stop = new AbortController();
    const cancel = clock.after(timeoutMs, () => stop.abort());
    try {
      const answer = await callModel(
        this.#options,
        {
          model,
          systemPrompt: instructions,
          messages: [userMessage(transcriptOf(span), clock.now())],
          maxTokens: Math.max(256, maxSummaryTokens),
          thinking: "off",
          cache: { enabled: false, strategy: "disabled" },
        },
        stop.signal,
        (event) => {
          if (event.type === "retry") this.#count(event.usage, model);
        },
      );
      return this.#accept(answer, model);
    } catch (thrown) {
      this.#log("warn", "no briefing: the request failed", { err: errorText(thrown) });
      return undefined;
    } finally {
      cancel();
    }
  }

  #accept(answer: AssistantMessage, model: ModelConfig): Pick<Ready, "text" | "usage" | "costUsd"> | undefined {
    this.#count(answer.usage, model, answer.stopReason === "stop");
    const text = textOf(answer.content).trim();
    if (answer.stopReason !== "stop" || text === "") {
      this.#log("warn", "briefing rejected", { stopReason: answer.stopReason, chars: text.length });
      return undefined;
    }
    return { text, usage: answer.usage, costUsd: costUsd(model.cost, answer.usage) };
  }

  #count(usage: Usage, model: ModelConfig, isAnswered = false): void {
    // A request that failed before it was answered was not billed.
    if (countedTokens(usage) === 0 && !isAnswered) return;
    const spend = { usage: { ...usage, totalTokens: 0 }, costUsd: costUsd(model.cost, usage), requests: 1 };
    this.#spend = this.#spend === undefined ? spend : addCompaction(this.#spend, spend);
  }
}

function briefing(history: readonly AgentMessage[], ready: Ready): AgentMessage {
  return userMessage(`${BRIEFING_PREFIX}${ready.text}`, history[ready.cut - 1]?.timestamp ?? 0);
}

function printOf(history: readonly AgentMessage[], end: number): string {
  return fingerprint(JSON.stringify(history.slice(0, end)));
}

/** The span as text for the model that summarizes; bounded per part and in total. */
export function transcriptOf(span: readonly AgentMessage[]): string {
  const lines: string[] = [];
  let bytes = 0;
  for (const message of span) {
    if (message.role === "extension") continue;
    const parts = (message.content as readonly Content[]).map(partText);
    const name = message.role === "toolResult" ? `result of ${message.toolName}` : message.role;
    const line = `## ${name}\n${parts.join("\n")}`;
    bytes += byteLength(line) + 1;
    if (bytes > TRANSCRIPT_BYTES) {
      lines.push("## (the rest was left out)");
      break;
    }
    lines.push(line);
  }
  return lines.join("\n");
}

function partText(part: Content): string {
  switch (part.type) {
    case "text":
      return clip(part.text, BLOCK_BYTES);
    case "thinking":
      return "(reasoning left out)";
    case "image":
      return "(image left out)";
    case "toolCall":
      return `calls ${part.name} ${clip(JSON.stringify(part.arguments), ARGUMENT_BYTES)}`;
  }
}

function clip(text: string, maxBytes: number): string {
  const cut = sliceBytes(text, maxBytes);
  return cut.length === text.length ? text : `${cut} (cut)`;
}
