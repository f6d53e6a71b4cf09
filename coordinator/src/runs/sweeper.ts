/**
 * Moves runs on when time passes. Works on the leader only, and only after it has led for a whole lease, so that a restart of
 * the coordinator never costs a node its runs.
 *
 * W1  Every run that has not ended has a deadline that this loop watches: queue time, acceptance, lease, hold, time limit.
 * W2  What is placed and not accepted is published again, then placed again.
 */

import type { Bus, BusAdmin } from "@mesh/bus";
import { subjects } from "@mesh/bus";
import { type Clock, errorText, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Command } from "@mesh/proto";
import type { Store } from "@mesh/store";

import {
  dropExpired,
  dropOldDeltas,
  expireLeases,
  expireRuns,
  pendingCancels,
  type Released,
  requeueUnaccepted,
  unacceptedWork,
} from "./sweep-store.ts";
import type { WorkPublisher } from "./work-publisher.ts";

const TICK_MS = 1000;
const REPUBLISH_AFTER_MS = 2000;
const HOUSEKEEPING_EVERY_TICKS = 60;

/** What the sweeper uses. */
export interface SweeperDeps {
  readonly store: Store;
  readonly bus: Bus;
  readonly admin: BusAdmin;
  readonly work: WorkPublisher;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  /** How long a new leader only watches. */
  readonly graceMs: number;
  /** How long deltas of finished runs are kept. */
  readonly deltaRetentionMs: number;
  readonly committed: (runIds: readonly string[]) => void;
  readonly pokeQueue: () => void;
  readonly penalize: (nodeId: string) => void;
  /** Ends drains whose deadline passed. */
  readonly endDrains: () => Promise<void>;
}

/** The sweeping loop. */
export function createSweeper(deps: SweeperDeps): Service {
  return {
    name: "sweeper",
    async run(signal) {
      let ledSince: number | undefined;
      for (let tick = 0; !signal.aborted; tick += 1) {
        await deps.clock.sleep(TICK_MS, signal);
        if (signal.aborted) return;
        ledSince = deps.isLeader() ? (ledSince ?? deps.clock.monotonic()) : undefined;
        if (ledSince === undefined) continue;
        try {
          await sweep(deps, tick, deps.clock.monotonic() - ledSince >= deps.graceMs);
        } catch (error) {
          deps.log.warn({ reason: errorText(error) }, "sweep failed; tried again");
        }
      }
    },
  };
}

async function sweep(deps: SweeperDeps, tick: number, graceOver: boolean): Promise<void> {
  deps.pokeQueue();
  const { sql } = deps.store;
  deps.work.publish(await unacceptedWork(sql, REPUBLISH_AFTER_MS), tick + 1);
  for (const run of await pendingCancels(sql)) stopOnNode(deps, run, "user");
  const overdue = await expireRuns(sql);
  deps.committed(overdue);
  await deps.endDrains();
  const unaccepted = await requeueUnaccepted(sql);
  for (const nodeId of new Set(unaccepted.map((run) => run.nodeId))) deps.penalize(nodeId);
  await letGo(deps, unaccepted);
  if (graceOver) {
    const { released, touched } = await expireLeases(sql);
    deps.committed(touched);
    await letGo(deps, released);
  }
  if (tick % HOUSEKEEPING_EVERY_TICKS === 0) {
    await dropExpired(sql);
    await dropOldDeltas(sql, deps.deltaRetentionMs);
  }
}

// The message of a run that was taken back must not start it later; whatever else was waiting there is published again.
async function letGo(deps: SweeperDeps, released: readonly Released[]): Promise<void> {
  if (released.length === 0) return;
  deps.committed(released.map((run) => run.runId));
  for (const digest of new Set(released.map((run) => run.digest))) await deps.admin.purgeWork(digest);
  for (const run of released) stopOnNode(deps, run, "lost");
  deps.pokeQueue();
}

function stopOnNode(deps: SweeperDeps, run: Released, why: string): void {
  const command: Command["command"] = { $case: "cancel", value: { run_id: run.runId, epoch: run.epoch, why } };
  deps.bus.publish(subjects.command(run.digest), Command.encode({ command }).finish());
}
