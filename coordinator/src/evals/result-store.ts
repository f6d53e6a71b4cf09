/** Writes the one log of an eval; the caller's transaction holds the eval's row, so numbers are dense. */

import type { Tx } from "@mesh/store";

import type { NewResult, ResultStatus } from "./eval-fold.ts";

type Counts = Record<"passed" | "failed" | "errors" | "timeouts" | "skipped" | "observations", number>;

const COLUMN: Readonly<Record<ResultStatus, keyof Counts>> = {
  passed: "passed",
  failed: "failed",
  error: "errors",
  timeout: "timeouts",
  skipped: "skipped",
};

/** Appends rows in order, and adds them to the counts of the eval and of its devices. */
export async function appendResults(tx: Tx, evalId: string, results: readonly NewResult[]): Promise<void> {
  if (results.length === 0) return;
  const counts = countsOf(results);
  const usage = usageOf(results);
  const [row] = await tx<{ last_seq: number }[]>`
    UPDATE evals SET last_seq = last_seq + ${results.length}, observations = observations + ${counts.observations},
      passed = passed + ${counts.passed}, failed = failed + ${counts.failed}, errors = errors + ${counts.errors},
      timeouts = timeouts + ${counts.timeouts}, skipped = skipped + ${counts.skipped},
      usage = usage || coalesce((
        SELECT jsonb_object_agg(u.key, coalesce((evals.usage ->> u.key)::float8, 0) + u.value::float8)
        FROM jsonb_each_text(${JSON.stringify(usage)}::text::jsonb) u
      ), '{}')
    WHERE id = ${evalId} RETURNING last_seq`;
  const first = (row?.last_seq ?? results.length) - results.length + 1;
  await tx`
    INSERT INTO eval_results (eval_id, seq, ordinal, run, copy, case_id, status, node_id, run_id, attempt, observation, duration_ms, result)
    SELECT ${evalId}, r.seq, r.ordinal, r.run, r.copy, r.case_id, r.status, r.node_id, r.run_id, r.attempt, r.observation = 1,
      r.duration_ms, r.result
    FROM unnest(
      ${results.map((_, i) => first + i)}::int[], ${results.map((r) => r.ordinal)}::int[], ${results.map((r) => r.run)}::int[],
      ${results.map((r) => r.copy)}::int[], ${results.map((r) => r.caseId)}::text[], ${results.map((r) => r.status)}::text[],
      ${results.map((r) => r.nodeId)}::text[], ${results.map((r) => r.runId)}::text[], ${results.map((r) => r.attempt)}::int[],
      ${results.map((r) => Number(r.observation))}::int[], ${results.map((r) => r.durationMs)}::int8[],
      ${results.map((r) => r.result)}::text[]
    ) AS r (seq, ordinal, run, copy, case_id, status, node_id, run_id, attempt, observation, duration_ms, result)`;
  await countNodes(tx, evalId, results);
}

async function countNodes(tx: Tx, evalId: string, results: readonly NewResult[]): Promise<void> {
  const nodes = [...grouped(results)].map(([nodeId, rows]) => ({ nodeId, ...countsOf(rows) }));
  await tx`
    UPDATE eval_nodes n SET passed = n.passed + c.passed, failed = n.failed + c.failed, errors = n.errors + c.errors,
      timeouts = n.timeouts + c.timeouts, skipped = n.skipped + c.skipped
    FROM unnest(
      ${nodes.map((n) => n.nodeId)}::text[], ${nodes.map((n) => n.passed)}::int[], ${nodes.map((n) => n.failed)}::int[],
      ${nodes.map((n) => n.errors)}::int[], ${nodes.map((n) => n.timeouts)}::int[], ${nodes.map((n) => n.skipped)}::int[]
    ) AS c (node_id, passed, failed, errors, timeouts, skipped)
    WHERE n.eval_id = ${evalId} AND n.node_id = c.node_id`;
}

function grouped(results: readonly NewResult[]): ReadonlyMap<string, readonly NewResult[]> {
  const groups = new Map<string, NewResult[]>();
  for (const result of results) {
    const group = groups.get(result.nodeId);
    if (group === undefined) groups.set(result.nodeId, [result]);
    else group.push(result);
  }
  return groups;
}

function countsOf(results: readonly NewResult[]): Counts {
  const counts: Counts = { passed: 0, failed: 0, errors: 0, timeouts: 0, skipped: 0, observations: 0 };
  for (const { status, observation } of results) counts[observation ? "observations" : COLUMN[status]] += 1;
  return counts;
}

function usageOf(results: readonly NewResult[]): Readonly<Record<string, number>> {
  const sum: Record<string, number> = {};
  for (const { usage } of results) for (const [key, value] of Object.entries(usage)) sum[key] = (sum[key] ?? 0) + value;
  return sum;
}
