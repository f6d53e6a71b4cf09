/** Statements on sessions. */

import type { Sql, Tx } from "@mesh/store";

import { IDLE_DAYS, MAX_DAYS } from "./session.ts";

/** A valid session with its user. */
export interface SessionRow {
  readonly id: string;
  readonly user_id: string;
  readonly user_name: string;
  readonly is_admin: boolean;
  readonly locale: string;
  readonly created_at: Date;
  readonly last_used_at: Date;
  readonly expires_at: Date;
  readonly user_agent: string;
}

/** The valid session with this hash. */
export async function findSessionByHash(sql: Sql, hash: Buffer): Promise<SessionRow | undefined> {
  const [row] = await sql<SessionRow[]>`
    SELECT s.id, s.user_id, u.name AS user_name, u.is_admin, u.locale, s.created_at, s.last_used_at, s.expires_at, s.user_agent
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.hash = ${hash} AND s.expires_at > now() AND u.disabled_at IS NULL`;
  return row;
}

/** Notes the use of a session, at most once a minute, and moves its end on. */
export async function touchSession(sql: Sql, id: string): Promise<void> {
  await sql`
    UPDATE sessions SET last_used_at = now(), expires_at = LEAST(now() + make_interval(days => ${IDLE_DAYS}), ends_at)
    WHERE id = ${id} AND last_used_at < now() - interval '1 minute'`;
}

/** Stores a session; gives the time it ends at when it is not used. */
export async function insertSession(
  tx: Tx,
  session: { readonly id: string; readonly userId: string; readonly hash: Buffer; readonly userAgent: string },
): Promise<Date> {
  const [row] = await tx<{ expires_at: Date }[]>`
    INSERT INTO sessions (id, user_id, hash, expires_at, ends_at, user_agent)
    VALUES (${session.id}, ${session.userId}, ${session.hash}, now() + make_interval(days => ${IDLE_DAYS}),
      now() + make_interval(days => ${MAX_DAYS}), ${session.userAgent})
    RETURNING expires_at`;
  return row?.expires_at ?? new Date(0);
}

/** Valid sessions of a user, newest first. */
export async function listSessions(sql: Sql | Tx, userId: string): Promise<readonly SessionRow[]> {
  return sql<SessionRow[]>`
    SELECT s.id, s.user_id, u.name AS user_name, u.is_admin, u.locale, s.created_at, s.last_used_at, s.expires_at, s.user_agent
    FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.user_id = ${userId} AND s.expires_at > now() ORDER BY s.id DESC LIMIT 1000`;
}

/** Ends one session of a user; false when there was none. */
export async function deleteSession(tx: Tx, userId: string, id: string): Promise<boolean> {
  const result = await tx`DELETE FROM sessions WHERE id = ${id} AND user_id = ${userId}`;
  return result.count === 1;
}

/** Ends all sessions of a user but one; returns the ids of the ended ones. */
export async function deleteSessions(tx: Tx, userId: string, keepId: string): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    DELETE FROM sessions WHERE user_id = ${userId} AND id <> ${keepId} RETURNING id`;
  return rows.map(({ id }) => id);
}

/** Forgets the sessions of a user that have run out, and the oldest above a bound. */
export async function trimSessions(tx: Tx, userId: string, keep: number): Promise<void> {
  await tx`
    DELETE FROM sessions WHERE user_id = ${userId} AND (expires_at <= now() OR id IN (
      SELECT id FROM sessions WHERE user_id = ${userId} AND expires_at > now()
      ORDER BY last_used_at DESC, id DESC OFFSET ${keep}))`;
}
