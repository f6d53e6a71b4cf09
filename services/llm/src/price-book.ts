/**
 * What model calls cost. Prices are dated data; nothing is priced unless a book is asked.
 *
 * U1  An unknown price is null and never 0: no entry, an all-zero entry, or usage that no rate covers.
 * U2  A prompt's size picks the tier: the last one whose threshold it exceeds; exactly at a threshold is still below it.
 * U3  Layers replace whole entries: what the user sets wins over what was fetched, that over what is bundled.
 */

import { isObject, MeshError } from "@mesh/kernel";

import type { Usage } from "./message.ts";
import type { ModelConfig, ModelCost, Rates } from "./provider.ts";

/** Prices of many models, with their origin. */
export interface PriceTable {
  /** The day on which the prices were last compared with their source, `YYYY-MM-DD`. */
  readonly verified: string;
  readonly source: string;
  /** By provider, then by model id. */
  readonly prices: Readonly<Record<string, Readonly<Record<string, ModelCost>>>>;
}

/** A table that was read, and what of it was not understood. */
export interface ReadPrices {
  readonly table: PriceTable;
  /** Paths of unknown fields; always empty for a strict reading, which refuses them. */
  readonly ignored: readonly string[];
}

const PER = 1_000_000;
const MAX_RATE = 1_000_000;
const RATE_NAMES = ["input", "output", "cacheRead", "cacheWrite"] as const;

/** Dollars of one call's usage; null when they are not known (U1). */
export function costUsd(cost: ModelCost | null, usage: Usage): number | null {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  if (cost === null || !isPriced(cost)) return null;
  const rates = ratesFor(cost, prompt);
  return RATE_NAMES.reduce((sum, name) => sum + usage[name] * rates[name], 0) / PER;
}

/** The rates for a prompt of this many tokens (U2). */
export function ratesFor(cost: ModelCost, promptTokens: number): Rates {
  const reached = (cost.tiers ?? []).filter((tier) => promptTokens > tier.above);
  return reached.toSorted((a, b) => b.above - a.above)[0]?.rates ?? cost;
}

/** Layers of prices; see U3. */
export class PriceBook {
  readonly #layers: readonly PriceTable[];

  /** Best layer first. */
  constructor(layers: readonly PriceTable[]) {
    this.#layers = layers;
  }

  /** What a model costs, or null; a dated id falls back to its undated one. */
  costOf(provider: string, id: string): ModelCost | null {
    for (const name of [id, id.replace(/-\d{8}$|-\d{4}-\d{2}-\d{2}$/, "")]) {
      for (const layer of this.#layers) {
        const found = layer.prices[provider]?.[name];
        if (found !== undefined) return isPriced(found) ? found : null;
      }
    }
    return null;
  }

  /** The model with its price from this book; one that it already carries stays. */
  priced(model: ModelConfig): ModelConfig {
    return model.cost === null ? { ...model, cost: this.costOf(model.provider, model.id) } : model;
  }
}

/** Reads a table that a person wrote (strict) or that was fetched (lenient); throws every problem at once. */
export function readPriceTable(value: unknown, mode: "strict" | "lenient"): ReadPrices {
  const reading: Reading = { problems: [], ignored: [], mode };
  const root = isObject(value) ? value : {};
  if (!isObject(value)) reading.problems.push("a price table must be an object");
  unknownFields(reading, "", root, ["schema", "verified", "source", "prices"]);
  if (root["schema"] !== 1) reading.problems.push("schema must be 1");
  const verified = root["verified"];
  if (typeof verified !== "string" || !/^\d{4}-\d{2}-\d{2}$/.test(verified)) {
    reading.problems.push("verified must be a day such as 2026-01-31");
  }
  const source = root["source"];
  if (typeof source !== "string" || source === "") reading.problems.push("source must say where the prices are from");
  const prices: Record<string, Record<string, ModelCost>> = {};
  for (const [provider, models] of Object.entries(isObject(root["prices"]) ? root["prices"] : {})) {
    const read: Record<string, ModelCost> = {};
    for (const [id, entry] of Object.entries(isObject(models) ? models : {})) {
      const cost = readCost(reading, `prices.${provider}.${id}`, entry);
      if (cost !== undefined) read[id] = cost;
    }
    prices[provider] = read;
  }
  if (reading.problems.length > 0) {
    throw new MeshError(
      "invalid_argument",
      `the price table has mistakes: ${reading.problems.slice(0, 20).join("; ")}`,
    );
  }
  return { table: { verified: String(verified), source: String(source), prices }, ignored: reading.ignored };
}

interface Reading {
  readonly problems: string[];
  readonly ignored: string[];
  readonly mode: "strict" | "lenient";
}

function readCost(reading: Reading, path: string, value: unknown): ModelCost | undefined {
  if (!isObject(value)) {
    reading.problems.push(`${path} must be an object`);
    return undefined;
  }
  unknownFields(reading, path, value, [...RATE_NAMES, "tiers"]);
  const rates = readRates(reading, path, value);
  const tiers = value["tiers"] === undefined ? [] : value["tiers"];
  if (!Array.isArray(tiers)) reading.problems.push(`${path}.tiers must be a list`);
  const read = (Array.isArray(tiers) ? (tiers as readonly unknown[]) : []).flatMap((tier, index) => {
    const at = `${path}.tiers[${index}]`;
    if (!isObject(tier) || !isObject(tier["rates"]) || !isAmount(tier["above"])) {
      reading.problems.push(`${at} must be {above, rates}`);
      return [];
    }
    unknownFields(reading, at, tier, ["above", "rates"]);
    unknownFields(reading, `${at}.rates`, tier["rates"], RATE_NAMES);
    return [{ above: tier["above"], rates: readRates(reading, `${at}.rates`, tier["rates"]) }];
  });
  return read.length === 0 ? rates : { ...rates, tiers: read.toSorted((a, b) => a.above - b.above) };
}

function readRates(reading: Reading, path: string, value: Record<string, unknown>): Rates {
  const read = (name: (typeof RATE_NAMES)[number]): number => {
    const rate = value[name];
    // Absent is not zero: a rate that nobody wrote down must not make tokens free.
    if (isAmount(rate)) return rate;
    reading.problems.push(`${path}.${name} must be a number of dollars per million tokens`);
    return 0;
  };
  return { input: read("input"), output: read("output"), cacheRead: read("cacheRead"), cacheWrite: read("cacheWrite") };
}

function unknownFields(reading: Reading, path: string, value: Record<string, unknown>, known: readonly string[]): void {
  for (const name of Object.keys(value)) {
    if (known.includes(name)) continue;
    const at = path === "" ? name : `${path}.${name}`;
    if (reading.mode === "strict") reading.problems.push(`${at} is not a known field`);
    else reading.ignored.push(at);
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 && value <= MAX_RATE;
}

function isPriced(cost: ModelCost): boolean {
  return [cost, ...(cost.tiers ?? []).map((tier) => tier.rates)].some((rates) =>
    RATE_NAMES.some((name) => rates[name] > 0),
  );
}
