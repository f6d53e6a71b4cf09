/** Statements on what is sent to webhooks: the outbox and the log of it. */

import type { JsonObject } from "@mesh/kernel";
import type { Sql, Tx } from "@mesh/store";

import { eventBody } from "./note-event.ts";

/** A delivery as stored. */
export interface DeliveryRow {
  readonly id: string;
  readonly seq: string;
  readonly event: string;
  readonly state: string;
  readonly attempts: number;
  readonly response_status: number;
  readonly error: string;
  readonly created_at: Date;
  readonly next_at: Date | null;
}

/** A delivery whose time has come, and all that is needed to send it. */
export interface DueDelivery {
  readonly id: string;
  readonly event: string;
  readonly body: string;
  readonly attempts: number;
  readonly webhook_id: string;
  readonly workspace_id: string;
  readonly url: string;
  readonly sealed_secret: Buffer;
  /** Null once it signs no more. */
  readonly sealed_previous: Buffer | null;
}

function columns(sql: Sql | Tx): ReturnType<Sql> {
  return sql`id, seq::text AS seq, event, state, attempts, response_status, error, created_at,
    CASE WHEN next_at > '-infinity' THEN next_at END AS next_at`;
}

/** A page of what was sent, newest first. */
export async function listDeliveries(
  sql: Sql,
  page: { readonly webhookId: string; readonly before: string; readonly limit: number },
): Promise<readonly DeliveryRow[]> {
  return sql<DeliveryRow[]>`
    SELECT ${columns(sql)} FROM webhook_deliveries WHERE webhook_id = ${page.webhookId}
      ${page.before === "" ? sql`` : sql`AND seq < ${page.before}::bigint`}
    ORDER BY webhook_deliveries.seq DESC LIMIT ${page.limit}`;
}

/** Writes one for this webhook alone. */
export async function insertDelivery(
  tx: Tx,
  { webhookId, event, data }: { readonly webhookId: string; readonly event: string; readonly data: JsonObject },
): Promise<DeliveryRow | undefined> {
  const body = eventBody(tx, tx`${event}::text`, tx`${JSON.stringify(data)}::json`);
  const [row] = await tx<DeliveryRow[]>`
    INSERT INTO webhook_deliveries (webhook_id, event, body) VALUES (${webhookId}, ${event}, ${body})
    RETURNING ${columns(tx)}`;
  return row;
}

/** Makes one due again under its own id. */
export async function replayDelivery(tx: Tx, webhookId: string, id: string): Promise<DeliveryRow | undefined> {
  const [row] = await tx<DeliveryRow[]>`
    UPDATE webhook_deliveries SET state = 'pending', attempts = 0, next_at = '-infinity', error = ''
    WHERE webhook_id = ${webhookId} AND id = ${id} RETURNING ${columns(tx)}`;
  return row;
}

/** What is asked for; a webhook's backlog must not hide what is due to others. */
export interface DueQuery {
  readonly nowMs: number;
  /** Deliveries under way. */
  readonly except: readonly string[];
  /** Webhooks that are sent enough at once already. */
  readonly busy: readonly string[];
  readonly perWebhook: number;
  readonly limit: number;
}

/** Deliveries whose time has come, longest overdue first. */
export async function dueDeliveries(sql: Sql, due: DueQuery): Promise<readonly DueDelivery[]> {
  return sql<DueDelivery[]>`
    SELECT d.id, d.event, d.body, d.attempts, d.webhook_id, w.workspace_id, w.url, w.sealed_secret,
      CASE WHEN w.previous_until > to_timestamp(${due.nowMs / 1000}::float8) THEN w.sealed_previous END AS sealed_previous
    FROM (
      SELECT *, row_number() OVER (PARTITION BY webhook_id ORDER BY next_at, seq) AS place FROM webhook_deliveries
      WHERE state = 'pending' AND next_at <= to_timestamp(${due.nowMs / 1000}::float8)
        AND id <> ALL (${[...due.except]}::text[]) AND webhook_id <> ALL (${[...due.busy]}::text[])
    ) d JOIN webhooks w ON w.id = d.webhook_id AND NOT w.is_disabled
    WHERE d.place <= ${due.perWebhook}
    ORDER BY d.next_at, d.seq LIMIT ${due.limit}`;
}

/** Notes an attempt the other side took. */
export async function markDelivered(sql: Sql, id: string, status: number): Promise<void> {
  await sql`
    WITH done AS (
      UPDATE webhook_deliveries SET state = 'delivered', attempts = attempts + 1, response_status = ${status}, error = '',
        next_at = NULL
      WHERE id = ${id} RETURNING webhook_id
    )
    UPDATE webhooks SET last_success_at = now() WHERE id IN (SELECT webhook_id FROM done)`;
}

/** What a failed attempt comes to. */
export interface FailedAttempt {
  readonly status: number;
  readonly error: string;
  /** Milliseconds since 1970 of the next one; undefined when the message is given up. */
  readonly nextMs: number | undefined;
}

/** Notes an attempt that failed. */
export async function markFailed(sql: Sql | Tx, id: string, { status, error, nextMs }: FailedAttempt): Promise<void> {
  const state = nextMs === undefined ? "failed" : "pending";
  await sql`
    WITH done AS (
      UPDATE webhook_deliveries SET state = ${state}, attempts = attempts + 1, response_status = ${status}, error = ${error},
        next_at = to_timestamp(${nextMs === undefined ? null : nextMs / 1000}::float8)
      WHERE id = ${id} RETURNING webhook_id
    )
    UPDATE webhooks SET last_failure_at = now() WHERE id IN (SELECT webhook_id FROM done)`;
}

/** Disables a webhook; what still waits for it is given up, and can be sent again later. */
export async function disableWebhook(tx: Tx, webhookId: string, reason: string): Promise<void> {
  await tx`UPDATE webhooks SET is_disabled = true, reason = ${reason} WHERE id = ${webhookId}`;
  await tx`
    UPDATE webhook_deliveries SET state = 'failed', next_at = NULL, error = 'the webhook was disabled before it was sent'
    WHERE webhook_id = ${webhookId} AND state = 'pending'`;
}

/** Forgets what is older than `ageMs`, and of each webhook all but the newest `keep`; at most `limit` rows at once. */
export async function dropDeliveries(
  sql: Sql,
  { ageMs, keep, limit }: { readonly ageMs: number; readonly keep: number; readonly limit: number },
): Promise<number> {
  const result = await sql`
    DELETE FROM webhook_deliveries WHERE id IN (
      SELECT id FROM webhook_deliveries WHERE created_at < now() - ${ageMs} * interval '1 ms'
      UNION ALL
      SELECT d.id FROM webhooks w CROSS JOIN LATERAL (
        SELECT id FROM webhook_deliveries WHERE webhook_id = w.id ORDER BY seq DESC OFFSET ${keep}
      ) d
      LIMIT ${limit}
    )`;
  return result.count;
}
