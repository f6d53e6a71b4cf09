/**
 * One step of one eval: everything that can be done for it now, in one transaction that holds the eval's row. A step that was cut
 * off is done again, and one that was done is not, so it does not matter who leads, how often, or when a leader dies.
 *
 * E1  Phases follow each other: BeforeAll, the units, AfterAll, over. AfterAll runs if BeforeAll was tried, however the eval ends.
 * E2  Batches are made only for devices with a free slot, so devices get work as they finish it.
 * E3  An eval that fails or is cancelled first stops what runs.
 */

import type { Ids } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import {
  closeBatches,
  insertBatches,
  type OpenBatch,
  openBatches,
  stopBatches,
  type ToldToStop,
} from "./batch-store.ts";
import { type Fleet, loadFleet } from "./fleet.ts";
import { addWarning, type EvalPhase, type EvalRow, lockEval, setReason } from "./eval-row.ts";
import { foldBatches, type FoldOutcome } from "./fold-store.ts";
import { lease } from "./lease.ts";

/** Batches of a phase that may fail one after the other before the eval goes on without it. */
const MAX_HOOK_FAILURES = 3;
/** Batches that may fail one after the other, with no result between, before the eval is given up. */
const MAX_BATCH_FAILURES = 20;

/** What steps use. */
export interface StepDeps {
  readonly ids: Ids;
  /** RFC 3339. */
  readonly at: string;
}

/** What a step did, for what follows its commit. */
export interface StepOutcome {
  /** Its log, its state or its reason changed. */
  readonly isNews: boolean;
  /** Runs that wait for the dispatcher. */
  readonly queued: readonly string[];
  readonly stopped: readonly ToldToStop[];
  /** Looking again at once would find more to do. */
  readonly hasMore: boolean;
  /** Batches that have not ended. */
  readonly open: readonly string[];
}

const NOTHING: StepOutcome = { isNews: false, queued: [], stopped: [], hasMore: false, open: [] };

/** Does a step; nothing for an eval that is not at work, or that another leader holds. */
export async function stepEval(tx: Tx, evalId: string, deps: StepDeps): Promise<StepOutcome> {
  const row = await lockEval(tx, evalId, true);
  if (row === undefined || (row.state !== "running" && row.state !== "cancelling")) return NOTHING;
  const folded = await foldBatches(tx, row);
  if (folded?.isCut === true) return { ...NOTHING, isNews: folded.changed, hasMore: true };
  if (folded !== undefined) await applyFold(tx, row, folded);
  const now = folded === undefined ? row : ((await lockEval(tx, evalId)) ?? row);
  const open = await openBatches(tx, evalId);
  const done = await goOn(new Step(tx, now, open, deps));
  const isNews = done.isNews || folded?.changed === true || now.phase !== row.phase || now.fate !== row.fate;
  return { ...done, isNews, open: [...open.map((batch) => batch.runId), ...done.queued] };
}

async function applyFold(tx: Tx, row: EvalRow, folded: FoldOutcome): Promise<void> {
  const { before, after, impossible, batchFailures, lastFailure } = folded;
  if (before !== undefined && row.phase === "before") {
    if ("error" in before) await setFate(tx, row.id, before.error);
    else await setPhase(tx, row.id, "units", before.data);
  }
  if (after !== undefined && row.phase === "after") {
    if (after.warning !== undefined) await addWarning(tx, row.id, after.warning);
    await setPhase(tx, row.id, "over");
  }
  if (row.phase === "after") {
    if (after === undefined && batchFailures >= MAX_HOOK_FAILURES) await skipAfter(tx, row.id, lastFailure);
  } else if (impossible !== undefined) {
    await setFate(tx, row.id, impossible);
  } else if (batchFailures >= (row.phase === "before" ? MAX_HOOK_FAILURES : MAX_BATCH_FAILURES)) {
    await setFate(tx, row.id, `${batchFailures} batches failed one after the other; the last one on ${lastFailure}`);
  }
}

// Being cancelled wins.
async function setFate(tx: Tx, evalId: string, reason: string): Promise<void> {
  await tx`UPDATE evals SET fate = 'failed', reason = ${reason.slice(0, 2000)} WHERE id = ${evalId} AND fate = ''`;
}

async function setPhase(tx: Tx, evalId: string, phase: EvalPhase, data?: unknown): Promise<void> {
  const text = data === undefined ? null : JSON.stringify(data);
  await tx`
    UPDATE evals SET phase = ${phase}, batch_failures = 0, before_data = coalesce(${text}::text::jsonb, before_data)
    WHERE id = ${evalId}`;
}

async function skipAfter(tx: Tx, evalId: string, why: string): Promise<void> {
  await addWarning(tx, evalId, `AfterAll did not run: ${why}`);
  await setPhase(tx, evalId, "over");
}

/** A step under way. */
class Step {
  readonly tx: Tx;
  readonly row: EvalRow;
  readonly open: readonly OpenBatch[];
  readonly deps: StepDeps;

  constructor(tx: Tx, row: EvalRow, open: readonly OpenBatch[], deps: StepDeps) {
    this.tx = tx;
    this.row = row;
    this.open = open;
    this.deps = deps;
  }

  fleet(): Promise<Fleet> {
    return loadFleet(this.tx, this.row);
  }
}

async function goOn(step: Step): Promise<StepOutcome> {
  const { row } = step;
  if (row.phase === "over") return end(step);
  if (row.phase === "after") return runAfter(step);
  if (row.fate !== "") return windDown(step);
  if (row.phase === "before") return runHook(step, "before");
  const isDone = row.total > 0 && row.settled >= row.total;
  if (isDone) return leaveUnits(step, "");
  if (row.settings.fail_fast && row.unpassed > 0) {
    // What runs is finished.
    if (step.open.length > 0) return NOTHING;
    return leaveUnits(step, "stopped after the first case that did not pass");
  }
  return {
    ...NOTHING,
    ...(await lease(step.tx, row, { open: step.open, fleet: await step.fleet(), deps: step.deps })),
  };
}

async function leaveUnits(step: Step, reason: string): Promise<StepOutcome> {
  const { tx, row, open } = step;
  const stopped = await stopBatches(
    tx,
    open.map((batch) => batch.runId),
  );
  await setReason(tx, row.id, reason);
  await setPhase(tx, row.id, "after");
  return { ...NOTHING, isNews: true, stopped, hasMore: true };
}

async function windDown(step: Step): Promise<StepOutcome> {
  const { tx, row, open } = step;
  const stopped = await stopBatches(
    tx,
    open.map((batch) => batch.runId),
  );
  if (open.length > 0) return { ...NOTHING, stopped, hasMore: open.some((batch) => batch.isQueued) };
  const [tried] = await tx`SELECT 1 FROM eval_batches WHERE eval_id = ${row.id} LIMIT 1`;
  const isBeforeTried = row.phase !== "before" || tried !== undefined;
  await setPhase(tx, row.id, isBeforeTried ? "after" : "over");
  return { ...NOTHING, isNews: true, stopped, hasMore: true };
}

async function runAfter(step: Step): Promise<StepOutcome> {
  const { tx, row, open } = step;
  if (row.settings.after_all === "") {
    await setPhase(tx, row.id, "over");
    return { ...NOTHING, hasMore: true };
  }
  const done = await runHook(step, "after");
  // An eval that is to stop does not wait for a device.
  if (row.fate === "" || done.queued.length > 0 || open.some((batch) => batch.phase === "after")) return done;
  if ((await step.fleet()).active.length > 0) return done;
  await skipAfter(tx, row.id, "no device is there");
  return { ...NOTHING, isNews: true, hasMore: true };
}

async function runHook(step: Step, phase: "before" | "after"): Promise<StepOutcome> {
  const { tx, row, open, deps } = step;
  if (open.some((batch) => batch.phase === phase)) return NOTHING;
  const fleet = await step.fleet();
  const device = fleet.active.filter(({ id }) => fleet.room(id) > 0).toSorted((a, b) => b.free - a.free)[0];
  if (device === undefined || fleet.batchRoom <= 0) {
    const isNews = row.fate === "" && (await setReason(tx, row.id, fleet.waiting()));
    return { ...NOTHING, isNews };
  }
  const queued = await insertBatches(tx, row, [{ device, phase, units: [], isDuplicate: false }], deps);
  const isNews = row.fate === "" && (await setReason(tx, row.id, row.phase === "after" ? row.reason : ""));
  return { ...NOTHING, queued, isNews };
}

async function end(step: Step): Promise<StepOutcome> {
  const { tx, row, open } = step;
  const stopped = await stopBatches(
    tx,
    open.map((batch) => batch.runId),
  );
  await closeBatches(tx, row.id);
  await tx`
    UPDATE evals SET state = ${row.fate === "" ? "ended" : row.fate}, finished_at = clock_timestamp() WHERE id = ${row.id}`;
  return { ...NOTHING, isNews: true, stopped };
}
