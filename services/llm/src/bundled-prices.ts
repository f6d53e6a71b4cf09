/**
 * List prices of first-party APIs in dollars per million tokens, as dated data. Gateways and custom addresses are never
 * looked up here: what they charge is theirs. A cached prompt without a price of its own costs what a fresh one does.
 */

import type { ModelCost } from "./provider.ts";
import type { PriceTable } from "./price-book.ts";

// input, output, cache read, cache write; then the prompt size above which the next four apply.
type Row = readonly [number, number, number, number] | readonly [number, number, number, number, number, ...number[]];

const ROWS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  anthropic: {
    "claude-haiku-4-5": [1, 5, 0.1, 1.25],
    "claude-haiku-5-5": [0.1, 0.5, 0.01, 0.125, 100_000, 0.5, 2.5, 0.05, 0.625],
    "claude-opus-4-5": [5, 25, 0.5, 6.25],
    "claude-opus-4-6": [5, 25, 0.5, 6.25],
    "claude-opus-4-7": [5, 25, 0.5, 6.25],
    "claude-opus-4-8": [5, 25, 0.5, 6.25],
    "claude-opus-5": [5, 25, 0.5, 6.25],
    "claude-opus-5-5": [4, 20, 0.2, 5],
    "claude-sonnet-4-5": [3, 15, 0.3, 3.75],
    "claude-sonnet-4-6": [3, 15, 0.3, 3.75],
    "claude-sonnet-5": [2, 10, 0.2, 2.5],
    "claude-sonnet-5-5": [2, 10, 0.1, 2.5],
  },
  openai: {
    "gpt-4.1": [2, 8, 0.5, 2],
    "gpt-4.1-mini": [0.4, 1.6, 0.1, 0.4],
    "gpt-4.1-nano": [0.1, 0.4, 0.025, 0.1],
    "gpt-4o": [2.5, 10, 1.25, 2.5],
    "gpt-4o-mini": [0.15, 0.6, 0.075, 0.15],
    "gpt-5": [1.25, 10, 0.125, 1.25],
    "gpt-5-mini": [0.25, 2, 0.025, 0.25],
    "gpt-5-nano": [0.05, 0.4, 0.005, 0.05],
    "gpt-5.1": [1.25, 10, 0.125, 1.25],
    "gpt-5.2": [1.75, 14, 0.175, 1.75],
    "gpt-5.4": [2.5, 15, 0.25, 2.5, 272_000, 5, 22.5, 0.5, 5],
    "gpt-5.4-mini": [0.75, 4.5, 0.075, 0.75],
    "gpt-5.5": [5, 30, 0.5, 5, 272_000, 10, 45, 1, 10],
    "gpt-6-astra": [10, 50, 1, 12.5, 272_000, 20, 75, 2, 25],
    "gpt-6-luna": [0.1, 0.5, 0.01, 0.125, 272_000, 0.2, 0.75, 0.02, 0.25],
    "gpt-6-sol": [2, 10, 0.2, 2.5, 272_000, 4, 15, 0.4, 5],
    o3: [2, 8, 0.5, 2],
    "o3-mini": [1.1, 4.4, 0.55, 1.1],
    "o4-mini": [1.1, 4.4, 0.275, 1.1],
  },
  google: {
    "gemini-2.5-flash": [0.3, 2.5, 0.03, 0.3],
    "gemini-2.5-flash-lite": [0.1, 0.4, 0.01, 0.1],
    "gemini-2.5-pro": [1.25, 10, 0.125, 1.25, 200_000, 2.5, 15, 0.25, 2.5],
    "gemini-3-flash-preview": [0.5, 3, 0.05, 0.5],
    "gemini-3.1-pro-preview": [2, 12, 0.2, 2, 200_000, 4, 18, 0.4, 4],
    "gemini-3.5-flash": [1.5, 9, 0.15, 1.5],
    "gemini-3.6-flash": [0.75, 3.75, 0.075, 0.75],
  },
  deepseek: {
    "deepseek-flash": [0.3, 1.2, 0.006, 0.3],
    "deepseek-v4-pro": [1.32, 3.96, 0.044, 1.32],
  },
  xai: {
    "grok-4.3": [1.25, 2.5, 0.2, 1.25, 200_000, 2.5, 5, 0.4, 2.5],
    "grok-4.5": [2, 6, 0.3, 2, 200_000, 4, 12, 0.6, 4],
    "grok-4.7": [2, 6, 0.5, 2, 200_000, 4, 12, 1, 4],
  },
  groq: {
    "llama-3.1-8b-instant": [0.05, 0.08, 0.05, 0.05],
    "llama-3.3-70b-versatile": [0.59, 0.79, 0.59, 0.59],
    "openai/gpt-oss-120b": [0.15, 0.6, 0.075, 0.15],
    "openai/gpt-oss-20b": [0.075, 0.3, 0.0375, 0.075],
  },
  mistral: {
    "codestral-latest": [0.3, 0.9, 0.03, 0.3],
    "devstral-latest": [0.4, 2, 0.04, 0.4],
    "magistral-medium-latest": [2, 5, 0.2, 2],
    "mistral-large-latest": [0.7, 2.1, 0.07, 0.7],
    "mistral-medium-latest": [1.5, 7.5, 0.15, 1.5],
    "mistral-small-latest": [0.15, 0.6, 0.015, 0.15],
  },
  moonshot: {
    "kimi-k2.6": [0.95, 4, 0.16, 0.95],
    "kimi-k3": [3, 15, 0.3, 3],
  },
  zai: {
    "glm-4.7": [0.6, 2.2, 0.11, 0.6],
    "glm-5.2": [1.4, 4.4, 0.26, 1.4],
    "glm-5.3": [1.4, 4.4, 0.26, 1.4],
  },
  minimax: {
    "MiniMax-M2.7": [0.3, 1.2, 0.06, 0.375],
    "MiniMax-M3": [0.3, 1.2, 0.06, 0.3, 512_000, 0.6, 2.4, 0.12, 0.6],
  },
};

/** The prices that ship with this version; used only where a `PriceBook` is given them. */
export const BUNDLED_PRICES: PriceTable = {
  verified: "2026-11-20",
  source: "the vendors' list prices as catalogued by @earendil-works/pi-ai 1.6.0",
  prices: Object.fromEntries(
    Object.entries(ROWS).map(([provider, rows]) => [
      provider,
      Object.fromEntries(Object.entries(rows).map(([id, row]) => [id, costOf(row)])),
    ]),
  ),
};

function costOf(row: Row): ModelCost {
  const [input, output, cacheRead, cacheWrite, above, ...tier] = row;
  const rates = { input, output, cacheRead, cacheWrite };
  const [tierInput = input, tierOutput = output, tierRead = cacheRead, tierWrite = cacheWrite] = tier;
  if (above === undefined) return rates;
  return {
    ...rates,
    tiers: [{ above, rates: { input: tierInput, output: tierOutput, cacheRead: tierRead, cacheWrite: tierWrite } }],
  };
}
