/** An eval as stored, and how it is locked. */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

/** States of an eval; the last three never change but by going on. */
export type EvalState = "draft" | "running" | "cancelling" | "ended" | "cancelled" | "failed";

/** Where an eval that runs has got to. */
export type EvalPhase = "before" | "units" | "after" | "over";

/** The shape of `evals.placement`; see EvalPlacement of the public interface. */
export interface StoredEvalPlacement {
  readonly mode: "spread" | "each" | "mirror" | "sticky";
  /** Of mirror, else 1. */
  readonly copies: number;
  /** 0 means all. */
  readonly max_nodes: number;
  /** Names or ids; empty means all. */
  readonly nodes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** The shape of `evals.settings`: every value is set, empty texts mean none. */
export interface StoredEvalSettings {
  readonly runs: number;
  readonly parallel: number;
  readonly timeout_ms: number;
  readonly retries: number;
  readonly fail_fast: boolean;
  readonly connector: string;
  readonly user: string;
  readonly team: string;
  readonly locale: string;
  readonly simulator: string;
  readonly before_all: string;
  readonly after_all: string;
  /** What a context file holds; null means none. */
  readonly context: JsonObject | null;
  /** 0 means as many as the provider lets. */
  readonly requests_per_minute: number;
  readonly duplicate_stragglers: boolean;
}

/** One eval with what its work needs. */
export interface EvalRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly name: string;
  readonly assistant_id: string;
  readonly app_name: string;
  readonly bundle_digest: string;
  readonly nonce: string;
  readonly placement: StoredEvalPlacement;
  readonly settings: StoredEvalSettings;
  readonly state: EvalState;
  readonly phase: EvalPhase;
  readonly reason: string;
  readonly cases: number;
  readonly last_seq: number;
  readonly total: number;
  /** Units that have a result which counts. */
  readonly settled: number;
  /** Of those, the ones that neither passed nor were skipped. */
  readonly unpassed: number;
  readonly fate: "" | "failed" | "cancelled";
  readonly batch_failures: number;
  readonly created_by: string;
}

const PLACEMENT: StoredEvalPlacement = { mode: "spread", copies: 1, max_nodes: 0, nodes: [], labels: {} };

const SETTINGS: StoredEvalSettings = {
  runs: 1,
  parallel: 1,
  timeout_ms: 120_000,
  retries: 2,
  fail_fast: false,
  connector: "",
  user: "",
  team: "",
  locale: "",
  simulator: "",
  before_all: "",
  after_all: "",
  context: null,
  requests_per_minute: 0,
  duplicate_stragglers: true,
};

/** Locks an eval for the rest of the transaction; undefined when it is gone, or `skip` is set and somebody else holds it. */
export async function lockEval(tx: Tx, evalId: string, skip = false): Promise<EvalRow | undefined> {
  return toRow(await tx<EvalRow[]>`${selectEval(tx, evalId)} FOR UPDATE ${skip ? tx`SKIP LOCKED` : tx``}`);
}

/** Reads an eval as it is. */
export async function readEval(sql: Sql, evalId: string): Promise<EvalRow | undefined> {
  return toRow(await sql<EvalRow[]>`${selectEval(sql, evalId)}`);
}

function selectEval(sql: Sql | Tx, evalId: string): ReturnType<Sql> {
  return sql`
    SELECT id, workspace_id, name, assistant_id, app_name, bundle_digest, nonce, placement, settings, state, phase, reason, cases,
      last_seq, total, passed + failed + errors + timeouts + skipped AS settled, failed + errors + timeouts AS unpassed, fate,
      batch_failures, created_by
    FROM evals WHERE id = ${evalId}`;
}

function toRow([row]: readonly EvalRow[]): EvalRow | undefined {
  if (row === undefined) return undefined;
  return { ...row, placement: { ...PLACEMENT, ...row.placement }, settings: { ...SETTINGS, ...row.settings } };
}

/** Ids of the evals that are at work, oldest first. */
export async function evalsAtWork(sql: Sql): Promise<readonly string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT id FROM evals WHERE state IN ('running', 'cancelling') ORDER BY id`;
  return rows.map((row) => row.id);
}

/** Says why an eval is as it is, where that changed; true when it did. */
export async function setReason(tx: Tx, evalId: string, reason: string): Promise<boolean> {
  const rows = await tx`UPDATE evals SET reason = ${reason} WHERE id = ${evalId} AND reason <> ${reason}`;
  return rows.count > 0;
}

/** Adds to what people are told beside results; a bounded number. */
export async function addWarning(tx: Tx, evalId: string, warning: string): Promise<void> {
  const text = JSON.stringify([warning.slice(0, MAX_WARNING_CHARS)]);
  await tx`
    UPDATE evals SET warnings = warnings || ${text}::text::jsonb
    WHERE id = ${evalId} AND jsonb_array_length(warnings) < ${MAX_WARNINGS}`;
}

const MAX_WARNINGS = 100;
const MAX_WARNING_CHARS = 1000;
