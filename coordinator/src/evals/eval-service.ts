/**
 * What callers do to an eval as a whole: start, stop, go on, remove, and ask who would take part. Each is part of the caller's
 * transaction; call `poke` of the scheduler and `grown` of the tail after its commit.
 */

import { MeshError } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { loadCandidates } from "../membership/candidate-store.ts";
import type { StoredSettings } from "../workspaces/setting.ts";
import { type EvalDevice, judgeDevices, unknownNames, waitingText } from "./eval-device.ts";
import { type EvalRow, lockEval, type StoredEvalPlacement } from "./eval-row.ts";
import { countUnits, makeUnits, reopenUnits } from "./unit-store.ts";

/** Cases x runs x copies of one eval. */
export const MAX_UNITS = 1_000_000;

/**
 * Judges the devices of a workspace for a placement: all of them, those that would not take part with the reason.
 * Throws `not_found` when the placement names a device that the workspace has not.
 */
export async function planNodes(
  sql: Sql | Tx,
  question: { readonly workspaceId: string; readonly placement: StoredEvalPlacement },
): Promise<readonly EvalDevice[]> {
  const devices = await devicesFor(sql, question);
  const [unknown] = unknownNames(question.placement, devices);
  if (unknown === undefined) return devices;
  throw new MeshError("not_found", `this workspace has no device "${unknown}"; see yao node list`);
}

/** The devices of a workspace as they are now; never throws for a name. */
export async function devicesFor(
  sql: Sql | Tx,
  question: {
    readonly workspaceId: string;
    readonly placement: StoredEvalPlacement;
    readonly quarantined?: ReadonlyMap<string, string>;
    readonly joined?: ReadonlySet<string>;
  },
): Promise<readonly EvalDevice[]> {
  const nodes = await loadCandidates(sql, () => false);
  const [workspace] = await sql<{ settings: StoredSettings }[]>`
    SELECT settings FROM workspaces WHERE id = ${question.workspaceId}`;
  return judgeDevices(nodes, { ...question, allowedIds: workspace?.settings.node_ids });
}

/**
 * Starts a draft: counts its cases and makes its units. Does nothing to one that was started before. Throws `failed_precondition`
 * when it has no cases, `invalid_argument` when they make too many units.
 */
export async function startEval(tx: Tx, evalId: string): Promise<void> {
  const row = await mustLock(tx, evalId);
  if (row.state !== "draft") return;
  const cases = await countCases(tx, evalId);
  if (cases === 0) throw new MeshError("failed_precondition", `eval ${evalId} has no cases; add some first`);
  const devices = await devicesFor(tx, { workspaceId: row.workspace_id, placement: row.placement });
  const active = devices.filter(({ state }) => state === "active");
  requireRoom(row, cases, active.length);
  await tx`
    UPDATE evals SET state = 'running', phase = ${row.settings.before_all === "" ? "units" : "before"}, cases = ${cases},
      started_at = clock_timestamp(), reason = ${active.length === 0 ? waitingText(devices) : ""},
      suite = CASE WHEN suite <> '' THEN suite ELSE (
        SELECT encode(sha256(convert_to(string_agg(c.case_id || ' ' || c.hash, E'\n' ORDER BY c.ordinal), 'UTF8')), 'hex')
        FROM eval_cases c WHERE c.eval_id = ${evalId}
      ) END
    WHERE id = ${evalId}`;
  await makeUnits(tx, row, active);
}

/** Stops an eval: a draft at once, a running one when its batches have ended; one that has ended stays as it is. */
export async function cancelEval(tx: Tx, evalId: string, actor: string): Promise<void> {
  const row = await mustLock(tx, evalId);
  const reason = `cancelled by ${actor.replace(/^user:/, "")}`;
  if (row.state === "draft") {
    await tx`
      UPDATE evals SET state = 'cancelled', phase = 'over', reason = ${reason}, finished_at = clock_timestamp()
      WHERE id = ${evalId}`;
  } else if (row.state === "running") {
    await tx`UPDATE evals SET state = 'cancelling', fate = 'cancelled', reason = ${reason} WHERE id = ${evalId}`;
  }
}

/**
 * Goes on with what has no result; with `retryErrors`, results that are errors become observations and their units run again.
 * Devices get a new chance. Does nothing to an eval that runs. Throws `failed_precondition` for a draft, for one that is being
 * cancelled, and when nothing is left to run.
 */
export async function resumeEval(
  tx: Tx,
  evalId: string,
  { retryErrors }: { readonly retryErrors: boolean },
): Promise<void> {
  const row = await mustLock(tx, evalId);
  if (row.state === "running") return;
  if (row.state === "draft") throw new MeshError("failed_precondition", `eval ${evalId} was not started yet; start it`);
  if (row.state === "cancelling") {
    throw new MeshError("failed_precondition", `eval ${evalId} is being cancelled; go on with it once it has stopped`);
  }
  if (row.total === 0) await startAnew(tx, evalId);
  const reopened = await reopenUnits(tx, evalId, retryErrors);
  const left = row.total - row.settled + reopened;
  const wasMade = row.total > 0;
  if (wasMade && left === 0) {
    throw new MeshError("failed_precondition", `nothing is left to run in eval ${evalId}: every case has its results`);
  }
  await tx`
    UPDATE eval_nodes SET quarantined = NULL, infra_errors = 0, infra_in_a_row = 0 WHERE eval_id = ${evalId}`;
  await tx`
    UPDATE evals SET state = 'running', fate = '', reason = '', finished_at = NULL, batch_failures = 0, before_data = NULL,
      started_at = coalesce(started_at, clock_timestamp()),
      phase = ${row.settings.before_all === "" ? "units" : "before"} WHERE id = ${evalId}`;
}

/** Removes an eval that has ended or never started, with its log and its batches; throws `failed_precondition` while it runs. */
export async function removeEval(tx: Tx, evalId: string): Promise<void> {
  const row = await mustLock(tx, evalId);
  if (row.state === "running" || row.state === "cancelling") {
    throw new MeshError("failed_precondition", `eval ${evalId} runs; cancel it first with: yao evals cancel ${evalId}`);
  }
  await tx`DELETE FROM evals WHERE id = ${evalId}`;
}

// It was cancelled before its units were made.
async function startAnew(tx: Tx, evalId: string): Promise<void> {
  await tx`UPDATE evals SET state = 'draft' WHERE id = ${evalId}`;
  await startEval(tx, evalId);
}

async function mustLock(tx: Tx, evalId: string): Promise<EvalRow> {
  const row = await lockEval(tx, evalId);
  if (row === undefined) throw new MeshError("not_found", `eval ${evalId} was not found; see yao evals list`);
  return row;
}

async function countCases(tx: Tx, evalId: string): Promise<number> {
  const [found] = await tx<{ cases: number; last: number | null }[]>`
    SELECT count(*)::int AS cases, max(ordinal) AS last FROM eval_cases WHERE eval_id = ${evalId}`;
  const cases = found?.cases ?? 0;
  if (cases === 0 || found?.last === cases - 1) return cases;
  throw new MeshError(
    "failed_precondition",
    `cases of eval ${evalId} are missing: it has ${cases} of ${(found?.last ?? 0) + 1}`,
  );
}

function requireRoom({ placement, settings }: EvalRow, cases: number, devices: number): void {
  const units = countUnits({ cases, runs: settings.runs, placement, devices });
  if (units <= MAX_UNITS) return;
  throw new MeshError(
    "invalid_argument",
    `an eval has at most ${MAX_UNITS.toLocaleString("en")} units (cases x runs x copies); this one has ${units.toLocaleString("en")}`,
  );
}
