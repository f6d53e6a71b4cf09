/**
 * Gives units to devices: quarantine, batches for free slots, and what is stuck to those that idle.
 *
 * L1  A device that fails oddly while another does not gets no more batches, and its units go elsewhere; never the last one.
 * L2  When nothing waits and slots idle, what a device that is away has is queued again, and a batch that has been quiet for much
 *     longer than units take is run once more elsewhere; the first result counts.
 * L3  An eval that can do nothing says what it waits for.
 */

import type { Ids } from "@mesh/kernel";
import type { Tx } from "@mesh/store";

import { planSizes } from "./batch-size.ts";
import { insertBatches, type NewBatch, type OpenBatch, stopBatches, type ToldToStop } from "./batch-store.ts";
import type { EvalDevice } from "./eval-device.ts";
import { lostResult } from "./eval-fold.ts";
import { type EvalRow, setReason } from "./eval-row.ts";
import { MAX_UNITS } from "./eval-service.ts";
import type { Fleet, JoinedNode } from "./fleet.ts";
import { pickUnits } from "./pick-store.ts";
import { isOdd, oddText } from "./quarantine.ts";
import { appendResults } from "./result-store.ts";
import { countUnits, makeUnits, type UnitKey } from "./unit-store.ts";

/** A batch is not slow before this. */
const MIN_QUIET_MS = 5000;
const QUIET_FACTOR = 3;
/** Newest results that say how long units take. */
const MEDIAN_OF = 200;
/** Units that are given up in one step. */
const MAX_GIVEN_UP = 2000;

/** What it leases with. */
export interface LeaseInput {
  readonly open: readonly OpenBatch[];
  readonly fleet: Fleet;
  readonly deps: { readonly ids: Ids; readonly at: string };
}

/** What came of it. */
export interface Leased {
  readonly isNews: boolean;
  readonly queued: readonly string[];
  readonly stopped: readonly ToldToStop[];
  readonly hasMore: boolean;
}

/** See the guarantees above. */
export async function lease(tx: Tx, row: EvalRow, input: LeaseInput): Promise<Leased> {
  if (row.total === 0) return makeLate(tx, row, input.fleet);
  const odd = oddDevices(row, input.fleet);
  if (odd.length > 0) return quarantine(tx, row, input, odd);
  if (row.placement.mode === "each" && (await giveUpOrphans(tx, row, input.fleet))) return leased({ hasMore: true });
  const out = input.open.reduce((sum, batch) => sum + batch.out, 0);
  const waiting = row.total - row.settled - out;
  const queued = await leaseOpen(tx, row, input, waiting);
  if (queued.length > 0) return leased({ queued, isNews: await setReason(tx, row.id, "") });
  if (hasIdle(input.fleet)) {
    const moved = await leaseStuck(tx, row, input);
    if (moved !== undefined) return moved;
  }
  const isStuck = out === 0 && waiting > 0;
  return leased({ isNews: await setReason(tx, row.id, isStuck ? waitingFor(row, input.fleet) : "") });
}

function leased(part: Partial<Leased>): Leased {
  return { isNews: false, queued: [], stopped: [], hasMore: false, ...part };
}

// No device took part when the eval was started.
async function makeLate(tx: Tx, row: EvalRow, fleet: Fleet): Promise<Leased> {
  const { placement, settings, cases } = row;
  const units = countUnits({ cases, runs: settings.runs, placement, devices: fleet.active.length });
  if (fleet.active.length === 0 || units > MAX_UNITS) {
    const reason = units > MAX_UNITS ? `waiting: it would have ${units} units on all devices` : fleet.waiting();
    return leased({ isNews: await setReason(tx, row.id, reason) });
  }
  await makeUnits(tx, row, fleet.active);
  return leased({ isNews: true, hasMore: true });
}

function oddDevices({ placement }: EvalRow, { active, joined }: Fleet): readonly JoinedNode[] {
  const isActive = (node: JoinedNode): boolean => active.some(({ id }) => id === node.nodeId);
  const odd = joined.filter((node) => isActive(node) && isOdd(node));
  // What fails everywhere is no device's fault.
  const isWell = ({ id }: EvalDevice): boolean => {
    const node = joined.find(({ nodeId }) => nodeId === id);
    return node === undefined || (node.infraInARow === 0 && !odd.includes(node));
  };
  if (!active.some(isWell)) return [];
  // As many stay as the placement needs at least: with fewer it would wait for ever.
  const needed = placement.mode === "mirror" ? placement.copies : 1;
  return odd.toSorted((a, b) => b.infraInARow - a.infraInARow).slice(0, Math.max(0, active.length - needed));
}

async function quarantine(tx: Tx, row: EvalRow, { open }: LeaseInput, odd: readonly JoinedNode[]): Promise<Leased> {
  const ids = odd.map((node) => node.nodeId);
  await tx`
    UPDATE eval_nodes n SET quarantined = q.reason
    FROM unnest(${ids}::text[], ${odd.map(oddText)}::text[]) AS q (node_id, reason)
    WHERE n.eval_id = ${row.id} AND n.node_id = q.node_id`;
  const runIds = open.filter((batch) => ids.includes(batch.nodeId)).map((batch) => batch.runId);
  await releaseUnits(tx, row, runIds);
  const stopped = await stopBatches(tx, runIds);
  return leased({ isNews: true, stopped, hasMore: true });
}

async function releaseUnits(tx: Tx, { placement }: EvalRow, runIds: readonly string[]): Promise<void> {
  const isEach = Number(placement.mode === "each");
  await tx`
    UPDATE eval_units SET run_id = NULL, node_id = CASE WHEN ${isEach} = 1 THEN node_id END
    WHERE run_id = ANY (${[...runIds]}) AND NOT settled AND run_id IS NOT NULL`;
}

// What must run on a device that is not to run it any more has that as its result.
async function giveUpOrphans(tx: Tx, row: EvalRow, { devices, joined }: Fleet): Promise<boolean> {
  const reasons = joined.flatMap(({ nodeId, quarantined }) => {
    if (quarantined !== null) return [{ nodeId, error: `its device is quarantined: ${quarantined}` }];
    return devices.some(({ id }) => id === nodeId)
      ? []
      : [{ nodeId, error: "its device was removed, or serves this workspace no more" }];
  });
  if (reasons.length === 0) return false;
  const units = await tx<
    (UnitKey & { caseId: string; hash: string; attempts: number; nodeId: string; nodeName: string })[]
  >`
    SELECT u.ordinal, u.run, u.copy, u.attempts, u.node_id AS "nodeId", n.name AS "nodeName", c.case_id AS "caseId", c.hash
    FROM eval_units u JOIN eval_cases c ON c.eval_id = u.eval_id AND c.ordinal = u.ordinal JOIN nodes n ON n.id = u.node_id
    WHERE u.eval_id = ${row.id} AND NOT u.settled AND u.run_id IS NULL AND u.node_id = ANY (${reasons.map((r) => r.nodeId)})
    ORDER BY u.ordinal, u.run, u.copy LIMIT ${MAX_GIVEN_UP}`;
  const errors = new Map(reasons.map(({ nodeId, error }) => [nodeId, error]));
  const results = units.map((unit) => lostResult(unit, { ...unit, runId: "" }, errors.get(unit.nodeId) ?? ""));
  await appendResults(tx, row.id, results);
  await tx`
    UPDATE eval_units u SET settled = true FROM unnest(
      ${units.map((u) => u.ordinal)}::int[], ${units.map((u) => u.run)}::int[], ${units.map((u) => u.copy)}::int[]
    ) AS g (ordinal, run, copy)
    WHERE u.eval_id = ${row.id} AND u.ordinal = g.ordinal AND u.run = g.run AND u.copy = g.copy`;
  return units.length > 0;
}

function hasIdle(fleet: Fleet): boolean {
  return fleet.batchRoom > 0 && fleet.active.some(({ id }) => fleet.room(id) > 0);
}

async function leaseOpen(
  tx: Tx,
  row: EvalRow,
  { fleet, deps }: LeaseInput,
  waiting: number,
): Promise<readonly string[]> {
  const { active } = fleet;
  const rules = {
    slots: active.reduce((sum, { slots }) => sum + slots, 0),
    parallel: row.settings.parallel,
    isFailFast: row.settings.fail_fast,
  };
  const activeIds = active.map(({ id }) => id);
  const queued: string[] = [];
  const left = new Map(active.map(({ id }) => [id, fleet.room(id)]));
  let open = waiting;
  const give = async (devices: readonly EvalDevice[]): Promise<void> => {
    const rooms = devices.map(({ id, slots }) => ({ nodeId: id, slots, free: left.get(id) ?? 0 }));
    const sizes = planSizes(rooms, { ...rules, open, batches: fleet.batchRoom - queued.length });
    for (const device of devices) {
      const units = await pickUnits(tx, row, { id: device.id, activeIds }, sizes.get(device.id) ?? []);
      const batches = units.map((each): NewBatch => ({ device, phase: "units", units: each, isDuplicate: false }));
      // At once, so that the next device picks others.
      queued.push(...(await insertBatches(tx, row, batches, deps)));
      left.set(device.id, (left.get(device.id) ?? 0) - batches.length);
      open -= units.reduce((sum, each) => sum + each.length, 0);
    }
  };
  await give(active);
  // What one device may not run, another may.
  for (const device of active) if (open > 0 && (left.get(device.id) ?? 0) > 0) await give([device]);
  return queued;
}

async function leaseStuck(tx: Tx, row: EvalRow, { open, fleet, deps }: LeaseInput): Promise<Leased | undefined> {
  if (row.placement.mode === "each") return undefined;
  const isAway = (batch: OpenBatch): boolean =>
    !fleet.devices.some(({ id, state }) => id === batch.nodeId && isThere(state));
  const away = open.filter((batch) => batch.phase === "units" && batch.out > 0 && isAway(batch));
  if (away.length > 0) return releaseAway(tx, row, away);
  // Of the other placements, only this one lets a unit run on any device.
  if (row.placement.mode !== "spread" || !row.settings.duplicate_stragglers || row.settings.fail_fast) return undefined;
  const slow = await slowBatches(tx, row.id, open);
  const batches = await duplicatesOf(tx, slow, fleet);
  if (batches.length === 0) return undefined;
  return leased({ queued: await insertBatches(tx, row, batches, deps) });
}

// What had begun may still give a result, which counts if it is the first; what had not is not to begin later.
async function releaseAway(tx: Tx, row: EvalRow, away: readonly OpenBatch[]): Promise<Leased> {
  await releaseUnits(
    tx,
    row,
    away.map((batch) => batch.runId),
  );
  await stopBatches(
    tx,
    away.filter((batch) => batch.isQueued).map((batch) => batch.runId),
  );
  return leased({ hasMore: true });
}

function isThere(state: EvalDevice["state"]): boolean {
  return state === "active" || state === "draining" || state === "unfit";
}

async function slowBatches(tx: Tx, evalId: string, open: readonly OpenBatch[]): Promise<readonly OpenBatch[]> {
  const candidates = open.filter(
    ({ phase, isDuplicate, isQueued, out, quietMs }) =>
      phase === "units" && !isDuplicate && !isQueued && out > 0 && quietMs >= MIN_QUIET_MS,
  );
  if (candidates.length === 0) return [];
  const [median] = await tx<{ ms: number | null }[]>`
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms) AS ms FROM (
      SELECT duration_ms FROM eval_results WHERE eval_id = ${evalId} ORDER BY seq DESC LIMIT ${MEDIAN_OF}
    ) newest`;
  const limitMs = Math.max(MIN_QUIET_MS, QUIET_FACTOR * (median?.ms ?? Infinity));
  return candidates.filter(({ quietMs }) => quietMs >= limitMs).toSorted((a, b) => b.quietMs - a.quietMs);
}

async function duplicatesOf(tx: Tx, slow: readonly OpenBatch[], fleet: Fleet): Promise<readonly NewBatch[]> {
  const free = new Map(fleet.active.map(({ id }) => [id, fleet.room(id)]));
  const batches: NewBatch[] = [];
  for (const batch of slow) {
    if (batches.length >= fleet.batchRoom) break;
    const device = fleet.active.find(({ id }) => id !== batch.nodeId && (free.get(id) ?? 0) > 0);
    if (device === undefined) continue;
    free.set(device.id, (free.get(device.id) ?? 0) - 1);
    const units = await tx<UnitKey[]>`
      SELECT ordinal, run, copy FROM eval_units WHERE run_id = ${batch.runId} AND NOT settled AND run_id IS NOT NULL
      ORDER BY ordinal, run, copy`;
    batches.push({ device, phase: "units", units, isDuplicate: true });
  }
  return batches;
}

function waitingFor(row: EvalRow, fleet: Fleet): string {
  const { placement } = row;
  const tied = fleet.joined.flatMap(({ nodeId }) =>
    fleet.devices.filter(({ id, state }) => id === nodeId && state !== "active"),
  );
  if (placement.mode === "each" && tied.length > 0 && hasIdle(fleet)) {
    return `waiting for a device: ${tied.map(({ name, state }) => `${name} is ${state}`).join("; ")}`;
  }
  if (placement.mode === "mirror" && fleet.active.length < placement.copies && hasIdle(fleet)) {
    return `waiting for a device: every case runs on ${placement.copies}, and ${fleet.active.length} take part`;
  }
  return fleet.waiting();
}
