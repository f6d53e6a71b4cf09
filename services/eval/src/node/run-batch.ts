/**
 * The seam between whoever owns an eval and whoever runs its cases.
 *
 * The owner has the suite, the queue and the one log. It reads and checks the cases (`loadCases`, then `LocalHost` and the names they
 * mention), leases units to runners, and folds what comes back (`Tally`); hooks around the whole eval are its own. A runner has the
 * app and a host; it gets units as JSON, the case as it was written, and gives back one `CaseResult` for each. Both read a case by the
 * same code, so its digest is the same on both sides, and (id, run, hash) says which unit a result is of.
 *
 * N1  Nothing runs when a case cannot be read or names something that this app does not have: that is the runner's or the bundle's
 *     fault, never the case's.
 * N2  Each unit that is run to its end gives exactly one result, as soon as it has it. One that `signal` stopped gives none, and
 *     may run elsewhere.
 */

import type { Clock, Json } from "@mesh/kernel";

import type { EvalCase } from "../eval-case.ts";
import type { EvalHost } from "../host.ts";
import { checkAttachments } from "../load/attachment.ts";
import { casesOf } from "../load/load-cases.ts";
import { loadError } from "../load/problem.ts";
import { resolveNames } from "../local/resolve-name.ts";
import type { CaseResult, TurnResult } from "../result.ts";
import { breather } from "../run/breather.ts";
import { runCase } from "../run/case-run.ts";
import type { IdentitySettings } from "../run/identity.ts";
import { hookLookup } from "../run/session.ts";

/** One run of one case, as it travels. */
export interface BatchUnit {
  /** The case as it was written. */
  readonly case: Json;
  /** From 1. */
  readonly run: number;
}

/** What is the same for all units of a batch; JSON, so that it travels as it is. */
export interface BatchSettings {
  readonly agentId: string;
  readonly identity: IdentitySettings;
  /** Wins over the cases' own. */
  readonly connector?: string;
  readonly timeoutMs: number;
  /** How often a case is tried again when something outside of it failed. */
  readonly retries: number;
  readonly parallel: number;
  /** Directory on this device that `file://` is relative to, and that it does not leave. */
  readonly baseDir: string;
  /** Plays the user where a case has checkpoints and names nobody. */
  readonly simulator?: string;
  /** Column of every result. */
  readonly device?: string;
}

/** What a batch runs with. */
export interface BatchDeps<Unit extends BatchUnit = BatchUnit> {
  readonly host: EvalHost;
  readonly clock: Clock;
  readonly onResult: (result: CaseResult, unit: Unit) => void;
  readonly onTurn?: (id: string, turn: TurnResult) => void;
  readonly onLog?: (id: string, text: string) => void;
}

/** Runs a batch; resolves with how many units gave a result. */
export async function runBatch<Unit extends BatchUnit>(
  units: readonly Unit[],
  settings: BatchSettings,
  deps: BatchDeps<Unit>,
  signal: AbortSignal,
): Promise<number> {
  const { agentId, parallel, device } = settings;
  const { host, clock, onTurn = () => undefined, onLog = () => undefined } = deps;
  const cases = readUnits(units, settings);
  const all = [...cases.values()];
  const { hooks, problems: unknown } = await resolveNames(all, { agentId, global: [] }, host);
  const problems = [...unknown, ...(await checkAttachments(all, settings.baseDir, { isConfined: true }))];
  if (problems.length > 0) throw loadError(problems);
  const caseSettings = { ...settings, hookOf: hookLookup(hooks) };
  const queue = units.values();
  const breathe = breather(clock);
  let count = 0;
  const worker = async (): Promise<void> => {
    for (const unit of queue) {
      const test = cases.get(unit.case);
      if (test === undefined || signal.aborted) return;
      const result = await runCase({ test, run: unit.run }, caseSettings, { host, clock, onTurn, onLog }, signal);
      if (result === undefined) return;
      count += 1;
      deps.onResult(device === undefined ? result : { device, ...result }, unit);
      await breathe();
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, parallel) }, worker));
  return count;
}

/** The case of each unit; runs of one case share it where they share its value. */
function readUnits(
  units: readonly BatchUnit[],
  { simulator }: Pick<BatchSettings, "simulator">,
): ReadonlyMap<Json, EvalCase> {
  const defaults = simulator === undefined ? {} : { simulator };
  const cases = new Map<Json, EvalCase>();
  for (const unit of units) {
    if (cases.has(unit.case)) continue;
    const { cases: read, problems } = casesOf([unit.case], "batch", defaults);
    const [test] = read;
    if (problems.length > 0 || test === undefined) throw loadError(problems);
    cases.set(unit.case, test);
  }
  return cases;
}
