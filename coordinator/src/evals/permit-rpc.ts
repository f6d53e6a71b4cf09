/**
 * Grants devices calls of models: one bucket per workspace and provider, over all devices and replicas.
 *
 * R1  One statement reads, grants and writes under the lock of the bucket's row, by the database's clock: two replicas that are asked
 *     at once never grant the same call.
 * R2  When one device is told to slow down, all pause.
 * R3  Only the device that holds the lease of a batch's run is granted anything, by the settings of that eval.
 */

import { MeshError } from "@mesh/kernel";
import type { EvalPermitAnswer, EvalPermitRequest } from "@mesh/proto";
import type { Sql } from "@mesh/store";

/** Calls of one request. */
const MAX_CALLS = 64;
const MAX_PAUSE_MS = 600_000;
const MAX_PROVIDER_CHARS = 200;
/** Of one workspace. */
const MAX_PROVIDERS = 200;
/** A bucket holds what comes in this time, so that a pause is not followed by a burst. */
const BURST_SECONDS = 1;
const MIN_WAIT_MS = 10;

/** Answers a request; throws `failed_precondition` when the device does not hold the batch. */
export async function evalPermit(sql: Sql, digest: string, request: EvalPermitRequest): Promise<EvalPermitAnswer> {
  const { run_id: runId, epoch, provider } = request;
  if (provider === "" || provider.length > MAX_PROVIDER_CHARS) {
    throw new MeshError("invalid_argument", `a provider has a name of 1 to ${MAX_PROVIDER_CHARS} characters`);
  }
  const calls = Math.min(request.calls, MAX_CALLS);
  const pauseMs = Math.min(request.slow_down_ms, MAX_PAUSE_MS);
  const capacity = sql`greatest(1, EXCLUDED.per_minute * ${BURST_SECONDS}::float8 / 60)`;
  const [row] = await sql<{ granted: number; wait_ms: number }[]>`
    WITH asked AS (
      SELECT r.workspace_id, coalesce((e.settings ->> 'requests_per_minute')::float8, 0) AS per_minute
      FROM runs r JOIN nodes n ON n.id = r.node_id JOIN evals e ON e.id = r.eval_id
      WHERE r.id = ${runId} AND r.lease_epoch = ${epoch} AND n.digest = ${digest} AND n.removed_at IS NULL
        AND r.state IN ('placed', 'accepted', 'running')
    ), bucket AS (
      SELECT *, CASE WHEN ${pauseMs}::float8 > 0 THEN 0 WHEN per_minute = 0 THEN ${calls}::int
        ELSE least(${calls}::int, floor(greatest(1, per_minute * ${BURST_SECONDS}::float8 / 60)))::int END AS granted
      FROM asked a WHERE ${MAX_PROVIDERS} > (SELECT count(*) FROM eval_permits k WHERE k.workspace_id = a.workspace_id AND k.provider <> ${provider})
    )
    INSERT INTO eval_permits AS p (workspace_id, provider, tokens, granted, per_minute, paused_until, updated_at)
    SELECT workspace_id, ${provider}, greatest(1, per_minute * ${BURST_SECONDS}::float8 / 60) - granted, granted, per_minute,
      CASE WHEN ${pauseMs}::float8 > 0 THEN clock_timestamp() + ${pauseMs}::float8 * interval '1 ms' END, clock_timestamp()
    FROM bucket
    ON CONFLICT (workspace_id, provider) DO UPDATE SET (per_minute, paused_until, tokens, granted, updated_at) = (
      SELECT EXCLUDED.per_minute, f.paused_until, f.tokens - CASE WHEN EXCLUDED.per_minute = 0 THEN 0 ELSE g.granted END,
        g.granted, f.now
      FROM (
        SELECT t.now, greatest(p.paused_until, EXCLUDED.paused_until) AS paused_until, least(${capacity},
          p.tokens + greatest(0, extract(epoch FROM t.now - p.updated_at))::float8 * EXCLUDED.per_minute / 60) AS tokens
        FROM (SELECT clock_timestamp() AS now) t
      ) f CROSS JOIN LATERAL (
        SELECT CASE WHEN f.paused_until > f.now THEN 0 WHEN EXCLUDED.per_minute = 0 THEN ${calls}::int
          ELSE least(${calls}::int, floor(greatest(0, f.tokens)))::int END AS granted
      ) g
    )
    RETURNING p.granted, (CASE WHEN p.paused_until > p.updated_at THEN extract(epoch FROM p.paused_until - p.updated_at) * 1000
      WHEN p.granted = 0 AND p.per_minute > 0 THEN (1 - p.tokens) * 60000 / p.per_minute ELSE 0 END)::float8 AS wait_ms`;
  if (row === undefined) {
    const reason = `this device does not hold batch ${runId}, or its workspace calls more than ${MAX_PROVIDERS} providers`;
    throw new MeshError("failed_precondition", reason);
  }
  const { granted, wait_ms: waitMs } = row;
  return { granted, wait_ms: granted > 0 ? 0 : Math.ceil(Math.max(MIN_WAIT_MS, waitMs)) };
}
