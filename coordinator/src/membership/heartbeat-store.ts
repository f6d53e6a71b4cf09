/** The statements behind heartbeats; each runs in a transaction of the caller, since a node is alive only together with its leases. */

import { isId } from "@mesh/kernel";
import type { Heartbeat, RunProgress } from "@mesh/proto";
import type { Tx } from "@mesh/store";

import { appendToLogs } from "../runs/run-log.ts";
import { LEASE_MS, RUN_EVENT, type RunState } from "../runs/run-state.ts";
import { storableText } from "../runs/storable.ts";
import { OFFLINE_AFTER_MS } from "./candidate-store.ts";

/** The largest number that the column holds. */
const MAX_EPOCH = 2 ** 31 - 1;

/** A node that sent a beat. */
export interface BeatNode {
  readonly id: string;
  readonly digest: string;
  readonly slots: number;
  readonly draining: boolean;
  /** It was not online before this beat. */
  readonly appeared: boolean;
}

/** A run that a node reported. */
export interface BeatRun {
  readonly id: string;
  readonly node_id: string | null;
  readonly lease_epoch: number;
  readonly state: RunState;
  readonly committed_n: number;
  readonly cancelled: boolean;
  readonly lease_ms: number;
  /** The node itself reported the end. */
  readonly ended_by_node: boolean;
  /** It was held for an unreachable device until now. */
  readonly back: boolean;
}

/** Records the newest beat of each node; nodes that are unknown or removed are missing from the result. */
export async function recordBeats(tx: Tx, beats: ReadonlyMap<string, Heartbeat>): Promise<readonly BeatNode[]> {
  const rows = [...beats].map(([digest, beat]) => ({
    digest,
    boot_id: storableText(beat.boot_id.slice(0, 64)),
    hb_seq: beat.hb_seq,
    goodbye: beat.goodbye,
    load: {
      cpu: beat.cpu,
      memory_free_bytes: beat.memory_free_bytes,
      loop_lag_ms: beat.loop_lag_ms,
      journal_unacked_bytes: beat.journal_unacked_bytes,
    },
  }));
  return tx<BeatNode[]>`
    WITH beat AS (
      SELECT n.id, n.digest, n.slots, n.draining, b.boot_id, b.hb_seq, b.goodbye, b.load
      FROM jsonb_to_recordset(${tx.json(rows)}::jsonb)
        AS b (digest text, boot_id text, hb_seq bigint, goodbye boolean, load jsonb)
      JOIN nodes n ON n.digest = b.digest AND n.removed_at IS NULL
    ), before AS (
      SELECT l.node_id, l.seen_at > now() - ${OFFLINE_AFTER_MS} * interval '1 ms' AND NOT l.goodbye AS was_online
      FROM node_liveness l JOIN beat ON beat.id = l.node_id
    ), stored AS (
      INSERT INTO node_liveness AS l (node_id, boot_id, hb_seq, seen_at, goodbye, load)
      SELECT id, boot_id, hb_seq, clock_timestamp(), goodbye, load FROM beat ORDER BY id
      ON CONFLICT (node_id) DO UPDATE SET boot_id = excluded.boot_id, hb_seq = excluded.hb_seq,
        seen_at = excluded.seen_at, goodbye = excluded.goodbye, load = excluded.load
      WHERE l.boot_id <> excluded.boot_id OR l.hb_seq < excluded.hb_seq
    )
    SELECT beat.id, beat.digest, beat.slots, beat.draining, NOT beat.goodbye AND NOT coalesce(before.was_online, false) AS appeared
    FROM beat LEFT JOIN before ON before.node_id = beat.id`;
}

/**
 * A hello counts as a sign of life: a node that just connected may take work at once. One that was under way while its sender
 * said goodbye comes too late: the same start of an agent never comes back.
 */
export async function recordHello(tx: Tx, nodeId: string, bootId: string): Promise<void> {
  await tx`
    INSERT INTO node_liveness AS l (node_id, boot_id, hb_seq, seen_at) VALUES (${nodeId}, ${storableText(bootId.slice(0, 64))}, 0, clock_timestamp())
    ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at, goodbye = false, boot_id = excluded.boot_id,
      hb_seq = CASE WHEN l.boot_id = excluded.boot_id THEN l.hb_seq ELSE 0 END
    WHERE NOT (l.goodbye AND l.boot_id = excluded.boot_id)`;
}

/** Renews the leases of the runs that nodes report and returns what the coordinator thinks of each of them. */
export async function renewLeases(
  tx: Tx,
  beats: ReadonlyMap<string, Heartbeat>,
  nodes: readonly BeatNode[],
): Promise<readonly BeatRun[]> {
  return renew(
    tx,
    nodes.flatMap((node) => heldBy(node.id, beats.get(node.digest)?.runs ?? [])),
  );
}

/** What a node reports, without what cannot be a run: that is answered like a run that is not the node's. */
export function heldBy(nodeId: string, runs: readonly RunProgress[]): HeldRun[] {
  return runs
    .filter((run) => isId("run", run.run_id) && run.epoch <= MAX_EPOCH)
    .map((run) => ({ nodeId, runId: run.run_id, epoch: run.epoch }));
}

/** One run that one node says it holds. */
export interface HeldRun {
  readonly nodeId: string;
  readonly runId: string;
  readonly epoch: number;
}

/** See {@link renewLeases}; also used when a node says hello. */
export async function renew(tx: Tx, held: readonly HeldRun[]): Promise<readonly BeatRun[]> {
  if (held.length === 0) return [];
  const runIds = held.map((run) => run.runId);
  const back = await tx<{ id: string }[]>`
      UPDATE runs r SET lease_until = now() + ${LEASE_MS} * interval '1 ms', hold_until = NULL,
        reason = CASE WHEN r.hold_until IS NULL THEN r.reason ELSE '' END
      FROM (
        SELECT o.id, o.hold_until FROM runs o
        JOIN unnest(${runIds}::text[], ${held.map((run) => run.nodeId)}::text[], ${held.map((run) => run.epoch)}::int[])
          AS h (id, node_id, epoch) ON o.id = h.id AND o.node_id = h.node_id AND o.lease_epoch = h.epoch
        WHERE o.state IN ('accepted', 'running', 'placed')
          AND (o.state = 'placed' OR o.hold_until IS NOT NULL OR o.lease_until < now() + ${LEASE_MS * 0.8} * interval '1 ms')
        ORDER BY o.id FOR UPDATE OF o
      ) old
      WHERE r.id = old.id RETURNING r.id, old.hold_until IS NOT NULL AS back`.then((rows) =>
    rows.filter((row) => "back" in row && row["back"] === true),
  );
  await appendToLogs(
    tx,
    back.map((row) => ({ runId: row.id, kind: RUN_EVENT.reachable, body: { reason: "the device answers again" } })),
  );
  const returned = new Set(back.map((row) => row.id));
  const rows = await tx<Omit<BeatRun, "back">[]>`
      SELECT id, node_id, lease_epoch, state, committed_n, cancel_requested_at IS NOT NULL AS cancelled,
        greatest(0, extract(epoch FROM lease_until - now()) * 1000)::int AS lease_ms,
        coalesce((SELECT e.n IS NOT NULL FROM run_events e WHERE e.run_id = runs.id AND e.seq = runs.last_seq), false) AS ended_by_node
      FROM runs WHERE id = ANY (${runIds})`;
  return rows.map((row) => ({ ...row, back: returned.has(row.id) }));
}
