/**
 * Answers heartbeats: who is alive, which runs it holds, which of them are still its own.
 *
 * H1  Liveness is judged by the database's clock, so any replica may answer any beat.
 * H2  A run's lease is renewed only for the (run, epoch) that its node reports; a run the node should not hold is answered `drop`.
 * H3  Beats that arrive together share one transaction, and one transaction runs at a time: a slow database makes larger ones,
 *     not more. What one node reports cannot spoil the others' beats.
 * H4  A node becomes alive in the same transaction that renews its leases: nobody sees it alive and its runs forgotten.
 */

import { type Bus, COORDINATOR_QUEUE, nodeOfSubject, subjects } from "@mesh/bus";
import { type Clock, errorText, MeshError, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Heartbeat, HeartbeatAnswer, type RunLease } from "@mesh/proto";
import type { Store } from "@mesh/store";

import { PROTOCOL } from "./enrolment.ts";
import { type BeatNode, type BeatRun, recordBeats, renewLeases } from "./heartbeat-store.ts";

/** What nodes are told to keep to. */
export const HEARTBEAT_MS = 5000;
const GATHER_MS = 25;
const MAX_BEATS = 500;

/** What the heartbeat loop uses. */
export interface HeartbeatDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** A node appeared, or may take work again. */
  readonly fleetChanged: () => void;
  /** Runs whose logs grew: their device answered again. */
  readonly committed: (runIds: readonly string[]) => void;
}

interface PendingBeat {
  readonly digest: string;
  readonly beat: Heartbeat;
  readonly resolve: (answer: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** The heartbeat responder of one replica. */
export function createHeartbeats(deps: HeartbeatDeps): Service {
  const pending: PendingBeat[] = [];
  let isBusy = false;

  const flush = async (): Promise<void> => {
    const beats = pending.splice(0, MAX_BEATS);
    try {
      const answers = await answerAll(deps, beats);
      for (const entry of beats)
        entry.resolve(HeartbeatAnswer.encode(answers.get(entry.digest) ?? refusal("removed")).finish());
    } catch (error) {
      deps.log.warn({ reason: errorText(error), beats: beats.length }, "heartbeats not recorded");
      for (const entry of beats)
        entry.reject(new MeshError("unavailable", "the coordinator cannot reach its database"));
    }
    isBusy = false;
    if (pending.length > 0) gather();
  };
  const gather = (): void => {
    if (isBusy) return;
    isBusy = true;
    deps.clock.after(GATHER_MS, () => void flush());
  };

  return {
    name: "heartbeats",
    async run(signal) {
      const served = deps.bus.serve(
        subjects.anyHeartbeat,
        (data, subject) =>
          new Promise((resolve, reject) => {
            pending.push({ digest: nodeOfSubject(subject), beat: Heartbeat.decode(data), resolve, reject });
            gather();
          }),
        { queue: COORDINATOR_QUEUE },
      );
      await untilAborted(signal);
      served.stop();
      for (const entry of pending.splice(0)) entry.reject(new MeshError("unavailable", "the coordinator is stopping"));
    },
  };
}

async function answerAll(deps: HeartbeatDeps, pending: readonly PendingBeat[]): Promise<Map<string, HeartbeatAnswer>> {
  const newest = new Map<string, Heartbeat>();
  for (const { digest, beat } of pending) newest.set(digest, beat);
  if (newest.size === 0) return new Map();
  const { nodes, runs } = await deps.store.sql.begin(async (tx) => {
    const beating = await recordBeats(tx, newest);
    return { nodes: beating, runs: await renewLeases(tx, newest, beating) };
  });
  if (nodes.some((node) => node.appeared)) deps.fleetChanged();
  deps.committed(runs.filter((run) => run.back).map((run) => run.id));
  return new Map(
    nodes.map((node) => {
      const beat = newest.get(node.digest);
      if (beat !== undefined && beat.protocol !== PROTOCOL) return [node.digest, refusal("protocol")];
      return [node.digest, answer(node, beat, runs)];
    }),
  );
}

function answer(node: BeatNode, beat: Heartbeat | undefined, runs: readonly BeatRun[]): HeartbeatAnswer {
  const known = new Map(
    runs.filter((run) => run.node_id === node.id).map((run) => [`${run.id}:${run.lease_epoch}`, run]),
  );
  return {
    runs: (beat?.runs ?? []).map((held) => toLease(held.run_id, held.epoch, known.get(`${held.run_id}:${held.epoch}`))),
    draining: node.draining,
    slots: node.slots,
    interval_ms: HEARTBEAT_MS,
    refused: "",
  };
}

/** The answer about one run a node says it holds; undefined means it is not that node's. */
export function toLease(runId: string, epoch: number, run: BeatRun | undefined): RunLease {
  if (run === undefined) return { run_id: runId, epoch, lease_ms: 0, desired: "drop", committed_n: 0 };
  const ended = ["succeeded", "failed", "cancelled", "lost"].includes(run.state);
  return {
    run_id: runId,
    epoch,
    lease_ms: ended ? 0 : run.lease_ms,
    // An ended run whose last event is committed is acknowledged; ended otherwise (lost, expired), it is not the node's any more.
    desired: ended ? (run.ended_by_node ? "continue" : "drop") : run.cancelled ? "cancel" : "continue",
    committed_n: run.committed_n,
  };
}

function refusal(why: string): HeartbeatAnswer {
  return { runs: [], draining: false, slots: 0, interval_ms: HEARTBEAT_MS, refused: why };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
