/** Statements on subscriptions of browsers and on what is on its way to them. */

import type { Sql, Tx } from "@mesh/store";

import { PUSH_LIFE_MS, type PushKind } from "./push-message.ts";

/** A subscription as it is listed. */
export interface SubscriptionRow {
  readonly id: string;
  readonly user_id: string;
  readonly session_id: string | null;
  readonly token_id: string | null;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly sealed_auth: Buffer;
  readonly kinds: readonly string[];
  readonly user_agent: string;
  readonly error: string;
  readonly created_at: Date;
  readonly last_success_at: Date | null;
}

/** A subscription to be stored. */
export interface NewSubscription {
  readonly id: string;
  readonly userId: string;
  readonly sessionId: string | undefined;
  readonly tokenId: string | undefined;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly sealedAuth: Buffer;
  readonly kinds: readonly string[];
  readonly userAgent: string;
}

function columns(sql: Sql | Tx): ReturnType<Sql> {
  return sql`s.id, s.user_id, s.session_id, s.token_id, s.endpoint, s.p256dh, s.sealed_auth, s.kinds, s.user_agent, s.error,
    s.created_at, s.last_success_at`;
}

/** That who subscribed is still let in. */
function isAlive(sql: Sql | Tx): ReturnType<Sql> {
  return sql`EXISTS (SELECT 1 FROM users u WHERE u.id = s.user_id AND u.disabled_at IS NULL) AND (
    EXISTS (SELECT 1 FROM sessions l WHERE l.id = s.session_id AND l.expires_at > now())
    OR EXISTS (SELECT 1 FROM tokens k WHERE k.id = s.token_id AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now())))`;
}

/** The subscriptions of a person, newest first. */
export async function listSubscriptions(sql: Sql | Tx, userId: string): Promise<readonly SubscriptionRow[]> {
  return sql<SubscriptionRow[]>`
    SELECT ${columns(sql)} FROM push_subscriptions s WHERE s.user_id = ${userId} AND ${isAlive(sql)} ORDER BY s.id DESC`;
}

/** One of a person's subscriptions. */
export async function findSubscription(sql: Sql, userId: string, id: string): Promise<SubscriptionRow | undefined> {
  const [row] = await sql<SubscriptionRow[]>`
    SELECT ${columns(sql)} FROM push_subscriptions s WHERE s.user_id = ${userId} AND s.id = ${id} AND ${isAlive(sql)}`;
  return row;
}

/** The subscription of this browser, whoever it was for; locked. */
export async function lockByEndpoint(tx: Tx, endpoint: string): Promise<SubscriptionRow | undefined> {
  const [row] = await tx<SubscriptionRow[]>`
    SELECT ${columns(tx)} FROM push_subscriptions s WHERE s.endpoint = ${endpoint} FOR UPDATE`;
  return row;
}

/** Stores it; a browser has one, for who is logged in there now. */
export async function putSubscription(tx: Tx, put: NewSubscription): Promise<void> {
  const { sessionId = null, tokenId = null } = put;
  await tx`
    INSERT INTO push_subscriptions AS s (id, user_id, session_id, token_id, endpoint, p256dh, sealed_auth, kinds, user_agent)
    VALUES (${put.id}, ${put.userId}, ${sessionId}, ${tokenId}, ${put.endpoint}, ${put.p256dh}, ${put.sealedAuth},
      ${[...put.kinds]}, ${put.userAgent})
    ON CONFLICT (endpoint) DO UPDATE SET user_id = EXCLUDED.user_id, session_id = EXCLUDED.session_id,
      token_id = EXCLUDED.token_id, p256dh = EXCLUDED.p256dh, sealed_auth = EXCLUDED.sealed_auth, kinds = EXCLUDED.kinds,
      user_agent = EXCLUDED.user_agent, put_at = now(), error = ''`;
}

/** Removes one of a person's; false when there was none. */
export async function deleteSubscription(tx: Tx, userId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM push_subscriptions WHERE user_id = ${userId} AND id = ${id}`;
  return result.count === 1;
}

/** Removes what a push service says is gone. */
export async function deleteGone(sql: Sql, id: string): Promise<void> {
  await sql`DELETE FROM push_subscriptions WHERE id = ${id}`;
}

/** Keeps the most recently put ones of a person. */
export async function trimSubscriptions(tx: Tx, userId: string, keep: number): Promise<void> {
  await tx`
    DELETE FROM push_subscriptions WHERE id IN (
      SELECT id FROM push_subscriptions WHERE user_id = ${userId} ORDER BY put_at DESC, id DESC OFFSET ${keep})`;
}

/** Notes how the newest attempt went; an empty error is a success. */
export async function noteAttempt(sql: Sql, id: string, error: string): Promise<void> {
  await sql`
    UPDATE push_subscriptions SET error = ${error},
      last_success_at = CASE WHEN ${error} = '' THEN now() ELSE last_success_at END WHERE id = ${id}`;
}

/** Puts the news of inbox entries on its way, in the transaction that makes the entries. */
export async function notePush(tx: Tx, kind: PushKind, entryIds: readonly string[]): Promise<void> {
  if (entryIds.length === 0) return;
  await tx`
    INSERT INTO push_messages (subscription_id, entry_id, expires_at)
    SELECT s.id, e.id, now() + ${PUSH_LIFE_MS[kind]} * interval '1 ms'
    FROM inbox_entries e JOIN push_subscriptions s ON s.user_id = e.user_id
    WHERE e.id = ANY (${[...entryIds]}) AND (cardinality(s.kinds) = 0 OR ${kind} = ANY (s.kinds))
    ON CONFLICT DO NOTHING`;
}

/** A message whose time has come, and all that is needed to send it. */
export interface DuePush {
  readonly id: string;
  readonly attempts: number;
  readonly expires_at: Date;
  readonly subscription_id: string;
  readonly user_id: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly sealed_auth: Buffer;
  readonly kind: PushKind;
  readonly task_id: string;
  readonly number: number;
  readonly title: string;
  readonly locale: string;
}

/** Messages whose time has come, longest overdue first; none to a log-in that has ended or on a workspace that was left. */
export async function duePushes(
  sql: Sql,
  due: {
    readonly nowMs: number;
    /** Messages under way. */
    readonly except: readonly string[];
    readonly limit: number;
  },
): Promise<readonly DuePush[]> {
  return sql<DuePush[]>`
    SELECT m.id::text AS id, m.attempts, m.expires_at, s.id AS subscription_id, s.user_id, s.endpoint, s.p256dh, s.sealed_auth,
      e.kind, t.id AS task_id, t.number, t.title, p.locale
    FROM push_messages m JOIN push_subscriptions s ON s.id = m.subscription_id
    JOIN inbox_entries e ON e.id = m.entry_id AND e.user_id = s.user_id
    JOIN tasks t ON t.id = e.task_id JOIN users p ON p.id = s.user_id LEFT JOIN tokens k ON k.id = s.token_id
    WHERE m.next_at <= to_timestamp(${due.nowMs / 1000}::float8) AND m.id::text <> ALL (${[...due.except]}::text[])
      AND e.read_at IS NULL AND e.archived_at IS NULL AND ${isAlive(sql)}
      AND (k.id IS NULL OR cardinality(k.workspace_ids) = 0 OR e.workspace_id = ANY (k.workspace_ids))
      AND (p.is_admin OR EXISTS (
        SELECT 1 FROM workspace_members w WHERE w.workspace_id = e.workspace_id AND w.user_id = p.id))
    ORDER BY m.next_at, m.id LIMIT ${due.limit}`;
}

/** Takes a message off: sent, or given up. */
export async function dropPush(sql: Sql, id: string): Promise<void> {
  await sql`DELETE FROM push_messages WHERE id = ${id}::bigint`;
}

/** Notes a failed attempt and when the next one is. */
export async function postponePush(sql: Sql, id: string, nextMs: number): Promise<void> {
  await sql`
    UPDATE push_messages SET attempts = attempts + 1, next_at = to_timestamp(${nextMs / 1000}::float8) WHERE id = ${id}::bigint`;
}

/** Takes off what is no news any more: too old, or seen by the person meanwhile. */
export async function dropStalePushes(sql: Sql, nowMs: number): Promise<void> {
  await sql`
    DELETE FROM push_messages m WHERE m.expires_at <= to_timestamp(${nowMs / 1000}::float8) OR EXISTS (
      SELECT 1 FROM inbox_entries e WHERE e.id = m.entry_id AND (e.read_at IS NOT NULL OR e.archived_at IS NOT NULL))`;
}
