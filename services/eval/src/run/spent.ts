/** Sums of what answers cost. */

import type { Spent } from "../result.ts";

/** Adds two; what is not known stays unknown. */
export function addSpent(a: Spent | undefined, b: Spent | undefined): Spent | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const cost = a.cost_usd === undefined && b.cost_usd === undefined ? undefined : (a.cost_usd ?? 0) + (b.cost_usd ?? 0);
  return {
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    ...(cost === undefined ? {} : { cost_usd: cost }),
  };
}
