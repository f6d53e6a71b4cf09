/** Statements on webhooks. */

import type { Sql, Tx } from "@mesh/store";

/** A webhook as stored, without its secrets. */
export interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly is_disabled: boolean;
  readonly reason: string;
  readonly created_at: Date;
  readonly last_success_at: Date | null;
  readonly last_failure_at: Date | null;
}

/** A webhook to be stored. */
export interface NewWebhook {
  readonly id: string;
  readonly workspaceId: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly sealedSecret: Buffer;
  readonly createdBy: string;
}

function columns(sql: Sql | Tx): ReturnType<Sql> {
  return sql`id, url, events, is_disabled, reason, created_at, last_success_at, last_failure_at`;
}

/** The webhooks of a workspace, oldest first. */
export async function listWebhooks(sql: Sql | Tx, workspaceId: string): Promise<readonly WebhookRow[]> {
  return sql<WebhookRow[]>`
    SELECT ${columns(sql)} FROM webhooks WHERE workspace_id = ${workspaceId} ORDER BY id`;
}

/** One webhook; locked until the end of the transaction. */
export async function lockWebhook(tx: Tx, workspaceId: string, id: string): Promise<WebhookRow | undefined> {
  const [row] = await tx<WebhookRow[]>`
    SELECT ${columns(tx)} FROM webhooks WHERE workspace_id = ${workspaceId} AND id = ${id} FOR UPDATE`;
  return row;
}

/** Stores a webhook. */
export async function insertWebhook(tx: Tx, webhook: NewWebhook): Promise<void> {
  const { id, workspaceId, url, events, sealedSecret, createdBy } = webhook;
  await tx`
    INSERT INTO webhooks (id, workspace_id, url, events, sealed_secret, created_by)
    VALUES (${id}, ${workspaceId}, ${url}, ${[...events]}, ${sealedSecret}, ${createdBy})`;
}

/** Changes a webhook; enabling it forgets why it was disabled. */
export async function updateWebhook(
  tx: Tx,
  id: string,
  to: {
    readonly url: string;
    readonly events: readonly string[];
    readonly isDisabled: boolean;
    readonly reason: string;
  },
): Promise<void> {
  await tx`
    UPDATE webhooks SET url = ${to.url}, events = ${[...to.events]}, is_disabled = ${to.isDisabled}, reason = ${to.reason}
    WHERE id = ${id}`;
}

/** Puts a new secret in the place of the present one, which goes on signing beside it for a while. */
export async function rotateSecret(tx: Tx, id: string, sealed: Buffer, overlapMs: number): Promise<void> {
  await tx`
    UPDATE webhooks SET sealed_previous = sealed_secret, sealed_secret = ${sealed},
      previous_until = now() + ${overlapMs} * interval '1 ms'
    WHERE id = ${id}`;
}

/** Removes a webhook with its deliveries; false when there was none. */
export async function deleteWebhook(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM webhooks WHERE workspace_id = ${workspaceId} AND id = ${id}`;
  return result.count === 1;
}
