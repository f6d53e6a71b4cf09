/**
 * Watches the database from the side: every change of a run's row, how many runs each device holds, and at the end the whole
 * log. Reads tables, since a check that asks the system under test would believe its mistakes.
 */

import { type Clock, isObject } from "@mesh/kernel";
import type { Sql } from "@mesh/store";

import type { EventRow, History, RunRow, Transition } from "./history.ts";

const SAMPLE_MS = 100;

interface Sampled {
  readonly id: string;
  readonly state: string;
  readonly epoch: number;
  readonly node: string | null;
  readonly committed: number;
  readonly armed: boolean;
  readonly slots: number | null;
  readonly active: boolean;
  readonly own: boolean;
}

/** What an observer needs. */
export interface ObserverDeps {
  /** Asked anew for each statement: the database comes and goes. */
  readonly sql: () => Sql;
  readonly clock: Clock;
  /** Value of `metadata.chaos` in the runs of this scenario. */
  readonly scenario: string;
}

/** See the head of this file. */
export class Observer {
  readonly transitions: Transition[] = [];
  readonly #deps: ObserverDeps;
  readonly #held = new Map<string, { runs: number; slots: number }>();
  readonly #last = new Map<string, string>();
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();
  #before: number;

  constructor(deps: ObserverDeps) {
    this.#deps = deps;
    this.#before = deps.clock.now();
  }

  start(): void {
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  get held(): History["held"] {
    return [...this.#held].map(([nodeId, { runs, slots }]) => ({ nodeId, runs, slots }));
  }

  /** The rows and logs as they are now. */
  async read(): Promise<{ readonly runs: readonly RunRow[]; readonly events: readonly EventRow[] }> {
    const sql = this.#deps.sql();
    const runs = await sql<RunRowSource[]>`
      SELECT id, metadata, state, reason, lease_epoch AS epoch, last_seq, node_id, output, error
      FROM runs WHERE metadata ->> 'chaos' = ${this.#deps.scenario} ORDER BY id`;
    const events = await sql<EventSource[]>`
      SELECT run_id, seq, epoch, n, kind, extract(epoch FROM at) * 1000 AS at_ms, delta_of, body
      FROM run_events WHERE run_id = ANY (${runs.map((run) => run.id)}) ORDER BY run_id, seq`;
    return { runs: runs.map(toRunRow), events: events.map(toEventRow) };
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.#sample();
      } catch {
        // The database is down: that is the point of some scenarios.
      }
      await this.#deps.clock.sleep(SAMPLE_MS, this.#stop.signal);
    }
  }

  // What is seen now happened after the sample before began; `atMs` is that moment, so that nobody is blamed too early.
  async #sample(): Promise<void> {
    const sql = this.#deps.sql();
    const atMs = this.#before;
    const startedMs = this.#deps.clock.now();
    const rows = await sql<Sampled[]>`
      SELECT r.id, r.state, r.lease_epoch AS epoch, r.node_id AS node, r.committed_n AS committed, n.slots,
        r.state IN ('placed', 'accepted', 'running', 'waiting') AS active,
        r.metadata ->> 'chaos' = ${this.#deps.scenario} AS own,
        CASE WHEN r.state = 'queued' THEN r.queue_until IS NOT NULL
          WHEN r.state = 'placed' THEN r.placed_at IS NOT NULL AND r.lease_until IS NOT NULL
          ELSE r.lease_until IS NOT NULL OR r.hold_until IS NOT NULL END AS armed
      FROM runs r LEFT JOIN nodes n ON n.id = r.node_id
      WHERE r.finished_at IS NULL OR r.finished_at > now() - interval '5 s'`;
    this.#before = startedMs;
    this.#countHeld(rows);
    for (const row of rows) if (row.own) this.#note(row, atMs);
  }

  #countHeld(rows: readonly Sampled[]): void {
    const now = new Map<string, number>();
    for (const { node, active, slots } of rows) {
      if (node === null || !active) continue;
      const runs = (now.get(node) ?? 0) + 1;
      now.set(node, runs);
      const most = this.#held.get(node)?.runs ?? 0;
      if (runs > most) this.#held.set(node, { runs, slots: slots ?? 0 });
    }
  }

  #note(row: Sampled, atMs: number): void {
    const { id, state, epoch, node, committed, armed } = row;
    const shape = `${state} ${epoch} ${node} ${committed} ${armed}`;
    if (this.#last.get(id) === shape) return;
    this.#last.set(id, shape);
    this.transitions.push({
      atMs,
      runId: id,
      state,
      epoch,
      nodeId: node ?? undefined,
      committedN: committed,
      armed,
    });
  }
}

interface RunRowSource {
  readonly id: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly state: string;
  readonly reason: string;
  readonly epoch: number;
  readonly last_seq: number;
  readonly node_id: string | null;
  readonly output: string;
  readonly error: { readonly code: string; readonly message: string } | null;
}

interface EventSource {
  readonly run_id: string;
  readonly seq: number;
  readonly epoch: number;
  readonly n: number | null;
  readonly kind: string;
  readonly at_ms: number;
  readonly delta_of: string | null;
  readonly body: string;
}

function toRunRow(row: RunRowSource): RunRow {
  return {
    runId: row.id,
    key: String(row.metadata["key"]),
    state: row.state,
    reason: row.reason,
    epoch: row.epoch,
    lastSeq: row.last_seq,
    nodeId: row.node_id ?? undefined,
    output: row.output,
    error: row.error ?? undefined,
    count: Number(row.metadata["count"]),
  };
}

function toEventRow(row: EventSource): EventRow {
  const { seq, epoch, kind } = row;
  const body = JSON.parse(row.body) as Record<string, unknown>;
  const props = isObject(body["props"]) ? body["props"] : {};
  const isText = kind === "message" && body["type"] === "text" && body["delta"] === true;
  return {
    runId: row.run_id,
    seq,
    epoch,
    n: row.n ?? undefined,
    kind,
    atMs: row.at_ms,
    ...(isText && typeof props["content"] === "string" && { text: props["content"] }),
    ...(kind === "run.finished" && { state: String(body["state"]) }),
  };
}
