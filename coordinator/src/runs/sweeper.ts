/**
 * Moves runs on when time passes. Works on the leader only.
 *
 * W1  Every run that has not ended has a deadline that this loop watches: queue time, acceptance, lease, hold, time limit.
 *     A deadline that cannot be seen to does not keep the others from it.
 * W2  What is placed and not accepted is published again, then placed again.
 * W3  Silence of a node counts only while this coordinator could hear it: a leader that just began, was cut off from NATS or
 *     stood still (a machine that slept) first listens for a whole lease, so that its own absence never costs a node its runs.
 */

import type { Bus, BusAdmin } from "@mesh/bus";
import { subjects } from "@mesh/bus";
import { type Clock, errorText, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Command } from "@mesh/proto";
import type { Store } from "@mesh/store";

import { dropOldDeltas, newRetention, type Retention } from "./retention-store.ts";
import { ACCEPT_MS } from "./run-state.ts";
import {
  dropExpired,
  expireLeases,
  expireRuns,
  pendingCancels,
  type Released,
  requeueUnaccepted,
  unacceptedWork,
} from "./sweep-store.ts";
import { dropOldStates } from "./waiting-store.ts";
import type { Assignment, WorkPublisher } from "./work-publisher.ts";

const TICK_MS = 1000;
const REPUBLISH_AFTER_MS = 2000;
/** A stream holds 256 messages per node: a silent node with many slots must not fill it with repetitions. */
const REPUBLISH_EVERY_TICKS = 3;
/** A loop that was away for longer has not heard what nodes said meanwhile. */
const MAX_PAUSE_MS = 15_000;
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
  /** How long a leader listens before it takes runs from silent nodes. */
  readonly graceMs: number;
  /** How long deltas of finished runs are kept. */
  readonly deltaRetentionMs: number;
  readonly committed: (runIds: readonly string[]) => void;
  readonly pokeQueue: () => void;
  readonly penalize: (nodeId: string) => void;
  /** Asks nodes to hand back what they hold beyond the deadline of their drain. */
  readonly endDrains: () => Promise<void>;
  /** Removes some of what assistants remembered for a time that is over. */
  readonly dropEndedMemory: () => Promise<unknown>;
}

/** How long this coordinator has been able to hear nodes, without a break. */
interface Watch {
  readonly wallMs: number;
  /** Monotonic; undefined while it is cut off. */
  readonly sinceMs: number | undefined;
}

/** The sweeping loop. */
export function createSweeper(deps: SweeperDeps): Service {
  return {
    name: "sweeper",
    async run(signal) {
      const retention = newRetention();
      let watch: Watch | undefined;
      for (let tick = 0; !signal.aborted; tick += 1) {
        await deps.clock.sleep(TICK_MS, signal);
        if (signal.aborted) return;
        watch = deps.isLeader() ? look(deps, watch) : undefined;
        if (watch !== undefined) await sweep(deps, { tick, heardMs: heardMs(deps, watch), retention });
      }
    },
  };
}

// A wall clock that moved further than the loop slept says that the machine or this process stood still.
function look(deps: SweeperDeps, before: Watch | undefined): Watch {
  const wallMs = deps.clock.now();
  if (deps.bus.status.kind !== "connected") return { wallMs, sinceMs: undefined };
  const wentOn = before !== undefined && Math.abs(wallMs - before.wallMs) <= MAX_PAUSE_MS;
  return { wallMs, sinceMs: (wentOn ? before.sinceMs : undefined) ?? deps.clock.monotonic() };
}

function heardMs(deps: SweeperDeps, watch: Watch): number {
  return watch.sinceMs === undefined ? -1 : deps.clock.monotonic() - watch.sinceMs;
}

interface Round {
  readonly tick: number;
  /** See {@link Watch}; negative while cut off. */
  readonly heardMs: number;
  readonly retention: Retention;
}

// One step that cannot be done must not keep the others from being done.
async function sweep(deps: SweeperDeps, round: Round): Promise<void> {
  for (const step of stepsOf(deps, round)) {
    try {
      await step();
    } catch (error) {
      deps.log.warn({ reason: errorText(error) }, "a step of the sweep failed; tried again");
    }
  }
}

function stepsOf(deps: SweeperDeps, { tick, heardMs: heard, retention }: Round): (() => Promise<void>)[] {
  const { sql } = deps.store;
  const steps = [
    async () => deps.pokeQueue(),
    async () => {
      for (const run of await pendingCancels(sql)) stopOnNode(deps, run, "user");
    },
    async () => deps.committed(await expireRuns(sql)),
    deps.endDrains,
  ];
  if (tick % REPUBLISH_EVERY_TICKS === 0)
    steps.push(async () => publishAgain(deps, await unacceptedWork(sql, REPUBLISH_AFTER_MS)));
  if (heard >= Math.min(deps.graceMs, ACCEPT_MS)) steps.push(() => takeUnaccepted(deps));
  if (heard >= deps.graceMs) steps.push(() => takeLost(deps));
  if (tick % HOUSEKEEPING_EVERY_TICKS === 0) {
    steps.push(
      () => dropExpired(sql),
      () => dropOldStates(sql),
      async () => void (await dropOldDeltas(sql, deps.deltaRetentionMs, retention)),
      async () => void (await deps.dropEndedMemory()),
    );
  }
  return steps;
}

function publishAgain(deps: SweeperDeps, work: readonly Assignment[]): void {
  // Seconds tell the repetitions apart, whichever replica leads; the stream would drop a second message of the same id.
  deps.work.publish(work, Math.floor(deps.clock.now() / 1000));
}

// The message of a run that was taken back must not start it later; whatever else was waiting there is published again.
async function takeUnaccepted(deps: SweeperDeps): Promise<void> {
  const unaccepted = await requeueUnaccepted(deps.store.sql);
  if (unaccepted.length === 0) return;
  for (const nodeId of new Set(unaccepted.map((run) => run.nodeId))) deps.penalize(nodeId);
  letGo(deps, unaccepted);
  const digests = new Set(unaccepted.map((run) => run.digest));
  for (const digest of digests) await deps.admin.purgeWork(digest);
  publishAgain(
    deps,
    (await unacceptedWork(deps.store.sql, 0)).filter(({ node }) => digests.has(node.digest)),
  );
}

async function takeLost(deps: SweeperDeps): Promise<void> {
  const { released, touched } = await expireLeases(deps.store.sql);
  deps.committed(touched);
  if (released.length > 0) letGo(deps, released);
}

function letGo(deps: SweeperDeps, released: readonly Released[]): void {
  deps.committed(released.map((run) => run.runId));
  for (const run of released) stopOnNode(deps, run, "lost");
  deps.pokeQueue();
}

function stopOnNode(deps: SweeperDeps, run: Released, why: string): void {
  const command: Command["command"] = { $case: "cancel", value: { run_id: run.runId, epoch: run.epoch, why } };
  deps.bus.publish(subjects.command(run.digest), Command.encode({ command }).finish());
}
