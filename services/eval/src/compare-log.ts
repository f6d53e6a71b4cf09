/** Compares the logs of two evals. */

import { Tally } from "./stat/tally.ts";
import { type ComparedCase, type Comparison, compare } from "./stat/compare.ts";
import { readLogState } from "./report/log-file.ts";

/** Reads both logs and compares the second with the first. */
export async function compareLogs(before: string, after: string): Promise<Comparison> {
  return compare(await casesOf(before), await casesOf(after));
}

async function casesOf(path: string): Promise<ReadonlyMap<string, ComparedCase>> {
  const tally = new Tally();
  const hashes = new Map<string, string>();
  await readLogState(path, (row) => {
    tally.add(row);
    hashes.set(row.id, row.hash);
  });
  const cases = new Map<string, ComparedCase>();
  for (const { id, passed, stability } of tally.cases()) {
    cases.set(id, { hash: hashes.get(id) ?? "", passed, scored: stability.scored });
  }
  return cases;
}
