/**
 * Several pieces of work at once, as scripts ask for them.
 *
 * Outcomes never reject: a failure is an outcome with an `error`. Losers are cancelled, not left running at the user's cost.
 */

import { setMaxListeners } from "node:events";

/** One piece of work; it must end soon after its signal aborts. */
export type Job<Outcome> = (signal: AbortSignal) => Promise<Outcome>;

/** How many outcomes to wait for: every one, the first without an error, or the first. */
export type Until = "all" | "any" | "race";

/** What came in, without the places of what was not waited for: scripts look at each outcome's error without a check for null. */
export function arrived<Outcome>(outcomes: readonly (Outcome | null)[]): readonly Outcome[] {
  return outcomes.filter((outcome) => outcome !== null);
}

/** Runs the jobs; gives one entry per job in their order, null where the outcome was not waited for. */
export async function together<Outcome extends { readonly error?: string }>(
  jobs: readonly Job<Outcome>[],
  until: Until,
  signal: AbortSignal,
): Promise<readonly (Outcome | null)[]> {
  const outcomes: (Outcome | null)[] = jobs.map(() => null);
  const stop = new AbortController();
  const all = AbortSignal.any([signal, stop.signal]);
  // Each job listens; a warning about it would be for nobody.
  setMaxListeners(0, all);
  await new Promise<void>((resolve, reject) => {
    const settled = jobs.map(async (job, index) => {
      const outcome = await job(all);
      if (stop.signal.aborted) return;
      outcomes[index] = outcome;
      if (until !== "race" && (until !== "any" || outcome.error !== undefined)) return;
      stop.abort();
      resolve();
    });
    Promise.all(settled).then(() => resolve(), reject);
  });
  return outcomes;
}
