/**
 * Answers what a device asks about a batch of an eval: its content, in parts.
 *
 * The text of a batch is made from rows that do not change while its run goes on, so every replica makes the same one, and each keeps
 * those that were asked for last.
 */

import type { EvalBatchPart, EvalBatchRequest } from "@mesh/proto";
import { type Json, MeshError } from "@mesh/kernel";
import type { Sql } from "@mesh/store";

import { type EvalPhase, readEval } from "./eval-row.ts";
import type { UnitTuple } from "./fold-store.ts";

/** Characters of a part: 384 KB at most, however they are encoded. */
const PART_CHARS = 128 * 1024;
/** Texts that are kept, and their characters. */
const MAX_KEPT = 64;
const MAX_KEPT_CHARS = 64 * 1024 * 1024;
/** Of all cases, as hooks around the eval get them; of more they get ids. */
const MAX_CASES_BYTES = 32 * 1024 * 1024;
/** Of the results that AfterAll gets. */
const MAX_RESULTS_CHARS = 4 * 1024 * 1024;
const MAX_BRIEF_ERROR_CHARS = 200;

/** Reads batches for devices. */
export interface BatchReader {
  /** One part, for the device that holds the lease of the batch's run; throws `failed_precondition` for any other. */
  part(digest: string, request: EvalBatchRequest): Promise<EvalBatchPart>;
}

interface HeldBatch {
  readonly eval_id: string;
  readonly node_name: string;
  readonly phase: Exclude<EvalPhase, "over">;
  readonly units: readonly UnitTuple[];
}

/** The reader of one replica. */
export function createBatchReader(sql: Sql): BatchReader {
  const kept = new Map<string, readonly string[]>();
  let chars = 0;
  const keep = (key: string, parts: readonly string[]): void => {
    kept.set(key, parts);
    chars += sizeOf(parts);
    for (const [oldest, old] of kept) {
      if (oldest === key || (kept.size <= MAX_KEPT && chars <= MAX_KEPT_CHARS)) return;
      kept.delete(oldest);
      chars -= sizeOf(old);
    }
  };
  return {
    async part(digest, request) {
      const batch = await heldBatch(sql, digest, request);
      const key = `${request.run_id} ${request.epoch}`;
      let parts = kept.get(key);
      if (parts === undefined) {
        parts = partsOf(await batchText(sql, batch));
        if (parts.length > 1) keep(key, parts);
      }
      const body = parts[request.part];
      if (body !== undefined) return { parts: parts.length, body };
      throw new MeshError("invalid_argument", `batch ${request.run_id} has ${parts.length} parts`);
    },
  };
}

function sizeOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** Cuts a text where no character is halved. */
export function partsOf(text: string): readonly string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length || parts.length === 0;) {
    let end = Math.min(text.length, at + PART_CHARS);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    parts.push(text.slice(at, end));
    at = end;
  }
  return parts;
}

async function heldBatch(sql: Sql, digest: string, { run_id: runId, epoch }: EvalBatchRequest): Promise<HeldBatch> {
  const [batch] = await sql<HeldBatch[]>`
    SELECT b.eval_id, n.name AS node_name, b.phase, b.units FROM runs r JOIN nodes n ON n.id = r.node_id
    JOIN eval_batches b ON b.run_id = r.id
    WHERE r.id = ${runId} AND r.lease_epoch = ${epoch} AND n.digest = ${digest} AND n.removed_at IS NULL
      AND r.state IN ('placed', 'accepted', 'running')`;
  if (batch === undefined) throw new MeshError("failed_precondition", `this device does not hold batch ${runId}`);
  return batch;
}

async function batchText(sql: Sql, batch: HeldBatch): Promise<string> {
  const row = await readEval(sql, batch.eval_id);
  if (row === undefined) throw new MeshError("failed_precondition", "the eval of this batch was removed");
  const { settings } = row;
  const optional = (name: string, value: Json): object => (value === "" || value === null ? {} : { [name]: value });
  const head = {
    phase: batch.phase,
    eval_id: row.id,
    nonce: row.nonce,
    settings: {
      agentId: row.assistant_id,
      timeoutMs: settings.timeout_ms,
      parallel: settings.parallel,
      ...optional("connector", settings.connector),
      ...optional("user", settings.user),
      ...optional("team", settings.team),
      ...optional("locale", settings.locale),
      ...optional("simulator", settings.simulator),
      ...optional("context", settings.context),
      ...optional("beforeAll", settings.before_all),
      ...optional("afterAll", settings.after_all),
      device: batch.node_name,
      hasPermits: settings.requests_per_minute > 0,
    },
  };
  const rest = batch.phase === "units" ? await unitsText(sql, batch) : await hookText(sql, row.id, batch.phase);
  // Cases and results are texts already: read and written again they would cost time, and large numbers their last digits.
  return `${JSON.stringify(head).slice(0, -1)},${rest}}`;
}

async function unitsText(sql: Sql, batch: HeldBatch): Promise<string> {
  const ordinals = [...new Set(batch.units.map(([ordinal]) => ordinal))].toSorted((a, b) => a - b);
  const cases = await sql<{ ordinal: number; body: string }[]>`
    SELECT ordinal, body FROM eval_cases WHERE eval_id = ${batch.eval_id} AND ordinal = ANY (${ordinals}) ORDER BY ordinal`;
  const index = new Map(cases.map(({ ordinal }, i) => [ordinal, i]));
  const units = batch.units.map(([ordinal, run, copy]) => ({ ordinal, run, copy, case: index.get(ordinal) ?? 0 }));
  return `"cases":[${cases.map(({ body }) => body).join(",")}],"units":${JSON.stringify(units)}`;
}

async function hookText(sql: Sql, evalId: string, phase: "before" | "after"): Promise<string> {
  const cases = `"cases":[${await allCases(sql, evalId)}]`;
  if (phase === "before") return cases;
  const [found] = await sql<
    { data: string | null }[]
  >`SELECT before_data::text AS data FROM evals WHERE id = ${evalId}`;
  const data = found?.data ?? null;
  return `${cases},"results":[${await allResults(sql, evalId)}]${data === null ? "" : `,"data":${data}`}`;
}

async function allCases(sql: Sql, evalId: string): Promise<string> {
  const [sum] = await sql<{ bytes: number }[]>`
    SELECT coalesce(sum(octet_length(body)), 0)::float8 AS bytes FROM eval_cases WHERE eval_id = ${evalId}`;
  const body = (sum?.bytes ?? 0) <= MAX_CASES_BYTES ? sql`body` : sql`json_build_object('id', case_id)::text`;
  const rows = await sql<{ body: string }[]>`
    SELECT ${body} AS body FROM eval_cases WHERE eval_id = ${evalId} ORDER BY ordinal`;
  return rows.map((row) => row.body).join(",");
}

// As a local eval hands them to a script: without their texts when they are too many.
async function allResults(sql: Sql, evalId: string): Promise<string> {
  const order = sql`WHERE eval_id = ${evalId} AND NOT observation ORDER BY ordinal, run, copy`;
  const [sum] = await sql<{ bytes: number }[]>`
    SELECT coalesce(sum(octet_length(result)), 0)::float8 AS bytes FROM eval_results
    WHERE eval_id = ${evalId} AND NOT observation`;
  if ((sum?.bytes ?? 0) <= MAX_RESULTS_CHARS) {
    const whole = await sql<{ result: string }[]>`SELECT result FROM eval_results ${order}`;
    return whole.map((row) => row.result).join(",");
  }
  const brief = await sql<{ result: string }[]>`
    SELECT result FROM (
      SELECT result, sum(octet_length(result)) OVER (ORDER BY ordinal, run, copy) AS bytes FROM (
        SELECT ordinal, run, copy, json_strip_nulls(json_build_object('id', case_id, 'run', run, 'status', status,
          'duration_ms', duration_ms, 'error', left(result::json ->> 'error', ${MAX_BRIEF_ERROR_CHARS}::int)))::text AS result
        FROM eval_results ${order}
      ) b
    ) c WHERE bytes <= ${MAX_RESULTS_CHARS}`;
  return brief.map((row) => `${row.result.slice(0, -1)},"input":null,"output":null}`).join(",");
}
