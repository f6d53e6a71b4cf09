/** What usage costs at a model's rates. */

import type { ModelCost, Usage } from "@mesh/llm";

const PER = 1_000_000;

/** Dollars, or null when the rates are not known; never 0 for lack of knowledge. */
export function costUsd(cost: ModelCost | null, usage: Usage): number | null {
  if (cost === null) return null;
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  const tier = (cost.tiers ?? []).filter((each) => prompt > each.above).toSorted((a, b) => b.above - a.above)[0];
  const rates = tier?.rates ?? cost;
  const dollars =
    usage.input * rates.input +
    usage.output * rates.output +
    usage.cacheRead * rates.cacheRead +
    usage.cacheWrite * rates.cacheWrite;
  return dollars / PER;
}
