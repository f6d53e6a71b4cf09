/**
 * Puts what happened into the outbox of webhooks, in the transaction of the change itself.
 *
 * N1  An event exists exactly if its change was committed; the workspace's enabled webhooks that want it get one row each, and
 *     a workspace without any costs one look at an index.
 * N2  A body has less than 20 KB, whatever the object holds.
 *
 * To tell about something else: write it in the transaction that changes it with `noteEvent(tx, workspaceId, "task.created",
 * {task})`, and add its name to `WEBHOOK_EVENTS`.
 */

import type { JsonObject } from "@mesh/kernel";
import { MeshError } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

/** Everything that is told. */
export const WEBHOOK_EVENTS = [
  "task.created",
  "task.needs_input",
  "task.succeeded",
  "task.failed",
  "run.succeeded",
  "run.failed",
  "run.waiting",
] as const;

/** One of {@link WEBHOOK_EVENTS}. */
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Sent by a test of a webhook only. */
export const TEST_EVENT = "webhook.test";

const MAX_BODY_BYTES = 20_000;
/** Of each text of a run; the whole is to be had by its id. */
const MAX_TEXT_CHARS = 600;

/** Writes an event; `data` is what the body carries. See the guarantees above. */
export async function noteEvent(
  tx: Sql | Tx,
  workspaceId: string,
  type: WebhookEvent | typeof TEST_EVENT,
  data: JsonObject,
): Promise<void> {
  const text = JSON.stringify(data);
  if (Buffer.byteLength(text) > MAX_BODY_BYTES - 200) {
    throw new MeshError("internal", `the event ${type} is too large for a webhook; tell ids and short texts only`);
  }
  await tx`
    INSERT INTO webhook_deliveries (webhook_id, event, body)
    SELECT w.id, ${type}, ${eventBody(tx, tx`${type}::text`, tx`${text}::json`)} FROM webhooks w
    WHERE w.workspace_id = ${workspaceId} AND ${wants(tx, tx`${type}::text`)}`;
}

/** Writes the events of runs whose rows this transaction has changed already; batches of evals are no news. */
export async function noteRunEvents(
  tx: Tx,
  events: readonly { readonly runId: string; readonly type: Extract<WebhookEvent, `run.${string}`> }[],
): Promise<void> {
  if (events.length === 0) return;
  const cut = (column: ReturnType<Sql>): ReturnType<Sql> => tx`left(${column}, ${MAX_TEXT_CHARS})`;
  const data: ReturnType<Sql> = tx`json_build_object('run', json_build_object(
    'id', r.id, 'workspace_id', r.workspace_id, 'assistant', r.assistant_id, 'state', r.state, 'reason', ${cut(tx`r.reason`)},
    'input', ${cut(tx`r.input`)}, 'output', ${cut(tx`r.output`)}, 'error', CASE WHEN r.error IS NOT NULL THEN json_build_object(
      'code', r.error ->> 'code', 'message', ${cut(tx`r.error ->> 'message'`)}) END,
    'created_by', r.created_by, 'created_at', r.created_at, 'finished_at', r.finished_at))`;
  await tx`
    INSERT INTO webhook_deliveries (webhook_id, event, body)
    SELECT w.id, e.type, ${eventBody(tx, tx`e.type`, data)}
    FROM unnest(${events.map((event) => event.runId)}::text[], ${events.map((event) => event.type)}::text[]) AS e (run_id, type)
    JOIN runs r ON r.id = e.run_id AND r.eval_id IS NULL JOIN webhooks w ON w.workspace_id = r.workspace_id AND ${wants(tx, tx`e.type`)}`;
}

/** What runs in these states tell; a cancelled one is no news to whoever cancelled it. */
export function runEventOf(state: string): Extract<WebhookEvent, `run.${string}`> | undefined {
  switch (state) {
    case "succeeded":
      return "run.succeeded";
    case "failed":
    case "lost":
      return "run.failed";
    case "waiting":
      return "run.waiting";
    default:
      return undefined;
  }
}

function wants(tx: Sql | Tx, type: ReturnType<Sql>): ReturnType<Sql> {
  return tx`NOT w.is_disabled AND (cardinality(w.events) = 0 OR ${type} = ANY (w.events))`;
}

/** The body of an event as an expression of SQL: its time is that of the statement. */
export function eventBody(tx: Sql | Tx, type: ReturnType<Sql>, data: ReturnType<Sql>): ReturnType<Sql> {
  return tx`json_build_object('type', ${type},
    'timestamp', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'data', ${data})::text`;
}
