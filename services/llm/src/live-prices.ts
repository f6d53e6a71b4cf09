/**
 * Prices from a live list, asked for explicitly and never otherwise. A list that cannot be had leaves the bundled prices
 * and says why.
 */

import { type Clock, errorText, isObject, rfc3339 } from "@mesh/kernel";

import { BUNDLED_PRICES } from "./bundled-prices.ts";
import type { ModelCost, Rates } from "./provider.ts";
import { PriceBook, type PriceTable } from "./price-book.ts";

/** What a list was turned into. */
export interface MappedPrices {
  readonly table: PriceTable;
  /** `provider/model` of entries whose price has a form that ours cannot express. */
  readonly skipped: readonly string[];
}

/** Prices that are as fresh as could be had. */
export interface LivePrices {
  readonly book: PriceBook;
  readonly origin: "fetched" | "bundled";
  readonly skipped: readonly string[];
  /** Why the list could not be had. */
  readonly problem?: string;
}

/** What {@link fetchPrices} needs from outside. */
export interface LivePricesDeps {
  readonly clock: Clock;
  readonly fetch?: typeof fetch;
}

/** A public list of models with their prices. */
export const MODELS_DEV = "https://models.dev/api.json";

const TIMEOUT_MS = 20_000;
const MAX_CHARS = 32 * 1024 * 1024;
const NAMES: ReadonlyMap<string, string> = new Map([
  ["alibaba", "qwen"],
  ["opencode", "opencode-zen"],
  ["moonshotai", "moonshot"],
  ["google-vertex", "vertex"],
  ["amazon-bedrock", "bedrock"],
]);
// Sound is neither sent nor heard here, so that its rates do not matter.
const KNOWN: ReadonlySet<string> = new Set([
  "input",
  "output",
  "cache_read",
  "cache_write",
  "reasoning",
  "context_over_200k",
  "input_audio",
  "output_audio",
]);

/** Fetches the list and puts it over the bundled prices; never throws. */
export async function fetchPrices(deps: LivePricesDeps, url: string = MODELS_DEV): Promise<LivePrices> {
  const abort = new AbortController();
  const cancel = deps.clock.after(TIMEOUT_MS, () => abort.abort(new Error("no answer in time")));
  try {
    const answer = await (deps.fetch ?? fetch)(url, { signal: abort.signal });
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    const text = await answer.text();
    if (text.length > MAX_CHARS) throw new Error("the list is too long");
    const { table, skipped } = modelsDevPrices(JSON.parse(text), {
      source: url,
      verified: rfc3339(deps.clock.now()).slice(0, 10),
    });
    return { book: new PriceBook([table, BUNDLED_PRICES]), origin: "fetched", skipped };
  } catch (error) {
    const problem = `the prices could not be fetched from ${url} (${errorText(error)}); the bundled ones of ${BUNDLED_PRICES.verified} are used`;
    return { book: new PriceBook([BUNDLED_PRICES]), origin: "bundled", skipped: [], problem };
  } finally {
    cancel();
  }
}

/** Reads a list of the form that models.dev publishes. */
export function modelsDevPrices(list: unknown, facts: Pick<PriceTable, "source" | "verified">): MappedPrices {
  if (!isObject(list)) throw new Error("it is not a list of providers");
  const skipped: string[] = [];
  const prices: Record<string, Record<string, ModelCost>> = {};
  for (const [name, provider] of Object.entries(list)) {
    const models = isObject(provider) && isObject(provider["models"]) ? provider["models"] : {};
    for (const [id, model] of Object.entries(models)) {
      const given = isObject(model) ? model["cost"] : undefined;
      // No price is no mistake: many models of these lists are free or not sold.
      if (!isObject(given)) continue;
      const cost = costOf(given);
      if (cost === undefined) skipped.push(`${name}/${id}`);
      else (prices[NAMES.get(name) ?? name] ??= {})[id] = cost;
    }
  }
  if (Object.keys(prices).length === 0) throw new Error("it holds no price");
  return { table: { ...facts, prices }, skipped };
}

function costOf(given: Record<string, unknown>): ModelCost | undefined {
  const rates = ratesOf(given);
  const isStrange = Object.keys(given).some((name) => !KNOWN.has(name));
  if (rates === undefined || isStrange) return undefined;
  // Reasoning is billed as output here; a rate of its own cannot be expressed.
  if (given["reasoning"] !== undefined && given["reasoning"] !== rates.output) return undefined;
  const above = given["context_over_200k"];
  if (above === undefined) return rates;
  const tier = isObject(above) ? ratesOf(above) : undefined;
  return tier === undefined ? undefined : { ...rates, tiers: [{ above: 200_000, rates: tier }] };
}

// A cache rate that is not listed is not zero: cached tokens then cost what fresh ones do.
function ratesOf(given: Record<string, unknown>): Rates | undefined {
  const { input, output, cache_read: cacheRead = input, cache_write: cacheWrite = input } = given;
  const all = [input, output, cacheRead, cacheWrite];
  const isSound = all.every((rate): rate is number => typeof rate === "number" && Number.isFinite(rate) && rate >= 0);
  if (!isSound) return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = all as readonly number[];
  return { input: a, output: b, cacheRead: c, cacheWrite: d };
}
