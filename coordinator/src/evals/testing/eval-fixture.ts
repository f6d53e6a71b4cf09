/** Evals over a real database, with a scheduler that a test turns by hand and devices that it plays. For tests. */

import { nodeDigest } from "@mesh/bus";
import { memoryBus } from "@mesh/bus/testing";
import { type Ids, systemClock, systemIds } from "@mesh/kernel";
import { createLogger, silentLogger } from "@mesh/observability";
import { openStore, type Store } from "@mesh/store";
import { testDatabase } from "@mesh/store/testing";

import { appendToLogs } from "../../runs/run-log.ts";
import type { EvalPhase, EvalState, StoredEvalPlacement, StoredEvalSettings } from "../eval-row.ts";
import { EvalScheduler } from "../eval-scheduler.ts";
import { cancelEval, resumeEval, startEval } from "../eval-service.ts";

/** A batch on a device. */
export interface PlayedBatch {
  readonly runId: string;
  readonly nodeId: string;
  readonly node: string;
  readonly phase: Exclude<EvalPhase, "over">;
  readonly units: readonly (readonly [number, number, number])[];
  readonly isDuplicate: boolean;
}

/** A row of the log. */
export interface PlayedResult {
  readonly seq: number;
  readonly ordinal: number;
  readonly run: number;
  readonly copy: number;
  readonly case_id: string;
  readonly status: string;
  readonly node: string;
  readonly attempt: number;
  readonly observation: boolean;
  readonly result: string;
}

/** The parts of an eval that tests look at. */
export interface PlayedEval {
  readonly state: EvalState;
  readonly phase: EvalPhase;
  readonly reason: string;
  readonly total: number;
  readonly passed: number;
  readonly failed: number;
  readonly errors: number;
  readonly observations: number;
  readonly last_seq: number;
  readonly usage: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
}

/** What an eval of a test is made of. */
export interface EvalWish {
  readonly cases: number;
  readonly placement?: Partial<StoredEvalPlacement>;
  readonly settings?: Partial<StoredEvalSettings>;
}

/** Everything a test touches. */
export interface EvalFixture extends AsyncDisposable {
  readonly store: Store;
  readonly ids: Ids;
  readonly workspaceId: string;
  readonly scheduler: EvalScheduler;
  addNode(name: string, over?: { readonly slots?: number; readonly labels?: Record<string, string> }): Promise<string>;
  /** It falls silent, or is heard of again. */
  setOnline(name: string, isOnline: boolean): Promise<void>;
  /** A started eval. */
  start(wish: EvalWish): Promise<string>;
  cancel(evalId: string): Promise<void>;
  resume(evalId: string, retryErrors?: boolean): Promise<void>;
  get(evalId: string): Promise<PlayedEval>;
  results(evalId: string): Promise<readonly PlayedResult[]>;
  /** Turns the scheduler until there is nothing to do, then starts what was queued on its device. */
  turn(): Promise<void>;
  /** Batches at work on devices that are online, oldest first. */
  batches(): Promise<readonly PlayedBatch[]>;
  /** A device says something about a unit of its batch; passed when nothing else is said. */
  say(
    batch: Pick<PlayedBatch, "runId" | "units">,
    at: number,
    result?: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  tell(runId: string, kind: string, body: Readonly<Record<string, unknown>>): Promise<void>;
  /** Its run ends, unless it has. */
  end(batch: Pick<PlayedBatch, "runId">, state?: string, code?: string, message?: string): Promise<void>;
  /** All units pass and the run ends. */
  finish(batch: PlayedBatch): Promise<void>;
  /** Lets all devices work until the eval is over; returns the batches in order. */
  play(evalId: string, act?: (batch: PlayedBatch) => Promise<void>): Promise<readonly PlayedBatch[]>;
}

const MAX_TURNS = 400;

/** Starts it; dispose stops it. `wrap` may make the store that the scheduler works with. */
export async function startEvals(wrap: (store: Store) => Pick<Store, "sql"> = (store) => store): Promise<EvalFixture> {
  const database = await testDatabase();
  const store = openStore({ url: database.url });
  const { sql } = store;
  const bus = memoryBus().connect();
  const ids = systemIds();
  const workspaceId = ids.next("ws");
  await sql`INSERT INTO workspaces (id, name) VALUES (${workspaceId}, 'w')`;
  await sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('d', ''::bytea, 0)`;
  const wrapped = wrap(store);
  const scheduler = new EvalScheduler({
    store: wrapped,
    bus,
    ids,
    clock: systemClock,
    log: wrapped !== store ? silentLogger : createLogger({ name: "test", level: "warn" }),
    isLeader: () => true,
    pokeQueue: () => undefined,
    grown: () => undefined,
    committed: () => undefined,
  });
  const fixture: EvalFixture = {
    store,
    ids,
    workspaceId,
    scheduler,
    async addNode(name, over = {}) {
      const id = ids.next("node");
      await sql`
        INSERT INTO nodes (id, digest, nkey, name, slots, labels)
        VALUES (${id}, ${nodeDigest(name)}, ${name}, ${name}, ${over.slots ?? 2}, ${sql.json(over.labels ?? {})})`;
      await sql`INSERT INTO node_liveness (node_id, boot_id, hb_seq, seen_at) VALUES (${id}, 'b', 1, now() + interval '1 hour')`;
      return id;
    },
    async setOnline(name, isOnline) {
      await sql`
        UPDATE node_liveness SET seen_at = now() + ${isOnline ? 3600 : -60} * interval '1 s'
        WHERE node_id = (SELECT id FROM nodes WHERE name = ${name})`;
    },
    async start({ cases, placement = {}, settings = {} }) {
      const id = ids.next("eval");
      await sql`
        INSERT INTO evals (id, workspace_id, name, assistant_id, bundle_digest, nonce, placement, settings, created_by)
        VALUES (${id}, ${workspaceId}, 'e', 'hello', 'd', 'nonce', ${sql.json(placement as never)}, ${sql.json(settings as never)}, 'user:test')`;
      await sql`
        INSERT INTO eval_cases (eval_id, ordinal, case_id, hash, body)
        SELECT ${id}, n, 'case-' || n, 'hash-' || n, '{"id":"case-' || n || '","input":"hi"}' FROM generate_series(0, ${cases - 1}::int) AS n`;
      await sql.begin((tx) => startEval(tx, id));
      return id;
    },
    cancel: (evalId) => sql.begin((tx) => cancelEval(tx, evalId, "user:test")),
    resume: (evalId, retryErrors = false) => sql.begin((tx) => resumeEval(tx, evalId, { retryErrors })),
    async get(evalId) {
      const [row] = await sql<PlayedEval[]>`
        SELECT state, phase, reason, total, passed, failed, errors, observations, last_seq, usage, warnings FROM evals WHERE id = ${evalId}`;
      if (row === undefined) throw new Error(`no eval ${evalId}`);
      return row;
    },
    results: (evalId) =>
      sql<PlayedResult[]>`
        SELECT seq, ordinal, run, copy, case_id, status, coalesce(n.name, node_id) AS node, attempt, observation, result
        FROM eval_results r LEFT JOIN nodes n ON n.id = r.node_id WHERE eval_id = ${evalId} ORDER BY seq`,
    async turn() {
      for (let i = 0; i < MAX_TURNS && (await scheduler.look()) > 0; i += 1);
      await sql`
        UPDATE runs SET state = 'running', node_id = requirements ->> 'node_id', lease_epoch = 1, started_at = now(),
          lease_until = now() + interval '1 hour'
        WHERE state = 'queued'`;
    },
    batches: () => sql<PlayedBatch[]>`
      SELECT b.run_id AS "runId", b.node_id AS "nodeId", n.name AS node, b.phase, b.units, b.is_duplicate AS "isDuplicate"
      FROM eval_batches b JOIN runs r ON r.id = b.run_id JOIN nodes n ON n.id = b.node_id JOIN node_liveness l ON l.node_id = n.id
      WHERE r.state = 'running' AND l.seen_at > now() ORDER BY b.run_id`,
    say: (batch, at, result = {}) => {
      const [ordinal, run, copy] = batch.units[at] ?? [-1, -1, -1];
      const whole = {
        id: `case-${ordinal}`,
        run,
        status: "passed",
        input: "hi",
        output: "ok",
        duration_ms: 5,
        hash: "h",
        ...result,
      };
      return fixture.tell(batch.runId, "eval.result", { ordinal, run, copy, result: whole });
    },
    tell: (runId, kind, body) => sql.begin((tx) => appendToLogs(tx, [{ runId, kind, body }])),
    async end({ runId }, state = "succeeded", code = "", message = "") {
      const error = code === "" ? null : JSON.stringify({ code, message });
      await sql.begin(async (tx) => {
        const ended = await tx`
          UPDATE runs SET state = ${state}, error = ${error}::text::jsonb, finished_at = clock_timestamp(), lease_until = NULL
          WHERE id = ${runId} AND finished_at IS NULL`;
        if (ended.count > 0) await appendToLogs(tx, [{ runId, kind: "run.finished", body: { state } }]);
      });
    },
    async finish(batch) {
      if (batch.phase === "before") await fixture.tell(batch.runId, "eval.before", { data: { from: batch.node } });
      if (batch.phase === "after") await fixture.tell(batch.runId, "eval.after", {});
      for (const at of batch.units.keys()) await fixture.say(batch, at);
      await fixture.end(batch);
    },
    async play(evalId, act = (batch) => fixture.finish(batch)) {
      const played: PlayedBatch[] = [];
      for (let i = 0; i < MAX_TURNS; i += 1) {
        await fixture.turn();
        const { state } = await fixture.get(evalId);
        if (state !== "running" && state !== "cancelling") return played;
        await endStopped(store);
        for (const batch of await fixture.batches()) {
          played.push(batch);
          await act(batch);
        }
      }
      throw new Error(`the eval did not end: ${JSON.stringify(await fixture.get(evalId))}`);
    },
    async [Symbol.asyncDispose]() {
      await bus.close();
      await store.close();
      await database.drop();
    },
  };
  return fixture;
}

/** A device ends what it was asked to stop. */
async function endStopped(store: Store): Promise<void> {
  await store.sql`
    UPDATE runs SET state = 'cancelled', finished_at = clock_timestamp(), lease_until = NULL
    WHERE state = 'running' AND cancel_requested_at IS NOT NULL`;
}

/** The units that results are of, as text, sorted. */
export function unitsOf(results: readonly PlayedResult[]): readonly string[] {
  return results.map(({ ordinal, run, copy }) => `${ordinal}/${run}/${copy}`).toSorted();
}

/** All units of an eval, sorted the same way. */
export function allUnits(cases: number, runs = 1, copies = 1): readonly string[] {
  const units: string[] = [];
  for (let ordinal = 0; ordinal < cases; ordinal += 1)
    for (let run = 1; run <= runs; run += 1)
      for (let copy = 1; copy <= copies; copy += 1) units.push(`${ordinal}/${run}/${copy}`);
  return units.toSorted();
}
