/** Estimates of tokens, for deciding when a history grows too long; real usage corrects them. */

import type { Content, Usage } from "@mesh/llm";

import type { AgentMessage } from "./message.ts";

const MESSAGE_OVERHEAD = 4;
const CALL_OVERHEAD = 8;
const MIN_IMAGE_TOKENS = 85;
const MAX_IMAGE_TOKENS = 16_000;
const BYTES_PER_IMAGE_TOKEN = 750;
const ENCODED_TO_BYTES = 3 / 4;

/**
 * Estimated tokens of a text: four Latin characters each, one and a half per ideograph or kana.
 *
 * Bytes divided by four, the usual rule, is the same for ASCII but takes three bytes of a Chinese character for less
 * than one token.
 */
export function estimateTokens(text: string): number {
  let wide = 0;
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) >= 0x2e80) wide += 1;
  return Math.ceil((text.length - wide) / 4 + wide / 1.5);
}

// Histories are append-only and messages immutable, so each message is measured once however long the session.
const measured = new WeakMap<AgentMessage, number>();

/** Estimated tokens of one message. */
export function messageTokens(message: AgentMessage): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  const tokens = countMessage(message);
  measured.set(message, tokens);
  return tokens;
}

/** Estimated tokens of messages. */
export function historyTokens(history: readonly AgentMessage[]): number {
  return history.reduce((sum, message) => sum + messageTokens(message), 0);
}

/** Estimates one message without remembering it. */
export function countMessage(message: AgentMessage): number {
  if (message.role === "extension") return 0;
  const base = message.role === "toolResult" ? CALL_OVERHEAD + estimateTokens(message.toolName) : MESSAGE_OVERHEAD;
  return (message.content as readonly Content[]).reduce((sum, part) => sum + countPart(part), base);
}

function countPart(part: Content): number {
  switch (part.type) {
    case "text":
      return estimateTokens(part.text);
    case "thinking":
      return estimateTokens(part.thinking) + estimateTokens(part.redacted ?? "");
    case "image": {
      const tokens = (part.data.length * ENCODED_TO_BYTES) / BYTES_PER_IMAGE_TOKEN;
      return Math.ceil(Math.min(MAX_IMAGE_TOKENS, Math.max(MIN_IMAGE_TOKENS, tokens)));
    }
    case "toolCall":
      return CALL_OVERHEAD + estimateTokens(part.name) + estimateTokens(JSON.stringify(part.arguments));
  }
}

/** Knows how full the context is: the last real usage, plus estimates of what came after it. */
export class ContextTracker {
  #real: { readonly tokens: number; readonly messages: number; readonly estimate: number | undefined } | undefined;

  /** Records what the provider counted for a history of this length, its own answer included; `estimate` is ours, if known. */
  record(usage: Usage, messages: number, estimate?: number): void {
    const tokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
    if (tokens > 0) this.#real = { tokens, messages, estimate };
  }

  /** Forgets real usage: the history was rewritten. */
  reset(): void {
    this.#real = undefined;
  }

  /** Tokens of the context now. */
  used(history: readonly AgentMessage[]): number {
    if (this.#real === undefined || this.#real.messages > history.length) return historyTokens(history);
    return this.#real.tokens + historyTokens(history.slice(this.#real.messages));
  }

  /** What requests carry besides messages (system prompt, tools), and estimation error; 0 when not known. */
  overhead(history: readonly AgentMessage[]): number {
    if (this.#real === undefined || this.#real.messages > history.length) return 0;
    const { tokens, messages, estimate } = this.#real;
    return Math.max(0, tokens - (estimate ?? historyTokens(history.slice(0, messages))));
  }
}
