/** Statements on people and one-time log-in codes. */

import type { Sql, Tx } from "@mesh/store";

/** A person. */
export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly display_name: string;
  readonly is_admin: boolean;
  /** As `Passwords.hash` made it. */
  readonly password: string | null;
  readonly locale: string;
  readonly theme: string;
  readonly preferences: string;
  readonly created_at: Date;
  readonly disabled_at: Date | null;
}

/** The account of a user id. */
export async function findAccount(sql: Sql | Tx, id: string): Promise<AccountRow | undefined> {
  const [row] = await sql<AccountRow[]>`
    SELECT id, name, display_name, is_admin, password, locale, theme, preferences, created_at, disabled_at
    FROM users WHERE id = ${id}`;
  return row;
}

/** The account of a name. */
export async function findAccountByName(sql: Sql | Tx, name: string): Promise<AccountRow | undefined> {
  const [row] = await sql<AccountRow[]>`
    SELECT id, name, display_name, is_admin, password, locale, theme, preferences, created_at, disabled_at
    FROM users WHERE name = ${name}`;
  return row;
}

/** The account of a name or an id, locked. */
export async function lockAccount(tx: Tx, ref: string): Promise<AccountRow | undefined> {
  const [row] = await tx<AccountRow[]>`
    SELECT id, name, display_name, is_admin, password, locale, theme, preferences, created_at, disabled_at
    FROM users WHERE id = ${ref} OR name = ${ref} ORDER BY id = ${ref} DESC LIMIT 1 FOR UPDATE`;
  return row;
}

/** All people by name. */
export async function listAccounts(sql: Sql): Promise<readonly AccountRow[]> {
  return sql<AccountRow[]>`
    SELECT id, name, display_name, is_admin, password, locale, theme, preferences, created_at, disabled_at
    FROM users ORDER BY name LIMIT 10000`;
}

/** What a person may change; undefined keeps. */
export interface AccountChange {
  readonly display_name?: string | undefined;
  readonly locale?: string | undefined;
  readonly theme?: string | undefined;
  readonly preferences?: string | undefined;
}

/** Changes preferences; false when all is as it was, which writes nothing. */
export async function updateAccount(tx: Tx, id: string, change: AccountChange): Promise<boolean> {
  const { display_name: displayName = null, locale = null, theme = null, preferences = null } = change;
  const result = await tx`
    UPDATE users SET display_name = COALESCE(${displayName}, display_name), locale = COALESCE(${locale}, locale),
      theme = COALESCE(${theme}, theme), preferences = COALESCE(${preferences}, preferences)
    WHERE id = ${id} AND (display_name, locale, theme, preferences) IS DISTINCT FROM
      (COALESCE(${displayName}, display_name), COALESCE(${locale}, locale), COALESCE(${theme}, theme),
       COALESCE(${preferences}, preferences))`;
  return result.count === 1;
}

/** Sets the password. */
export async function setPassword(tx: Tx, id: string, password: string): Promise<void> {
  await tx`UPDATE users SET password = ${password} WHERE id = ${id}`;
}

/** Whether anybody can log in with a password. */
export async function hasPasswords(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    SELECT EXISTS (SELECT 1 FROM users WHERE password IS NOT NULL AND disabled_at IS NULL) AS found`;
  return row?.found ?? false;
}

/** Changes what an administrator decides; undefined keeps. */
export async function setStanding(
  tx: Tx,
  id: string,
  change: { readonly disabled: boolean | undefined; readonly isAdmin: boolean | undefined },
): Promise<void> {
  const { disabled = null, isAdmin = null } = change;
  await tx`
    UPDATE users SET is_admin = COALESCE(${isAdmin}::boolean, is_admin),
      disabled_at = CASE ${disabled}::boolean WHEN true THEN COALESCE(disabled_at, now()) WHEN false THEN NULL ELSE disabled_at END
    WHERE id = ${id}`;
}

/** How many administrators can still come in. */
export async function countAdmins(tx: Tx): Promise<number> {
  const [row] = await tx<{ admins: number }[]>`
    SELECT count(*) AS admins FROM users WHERE is_admin AND disabled_at IS NULL`;
  return row?.admins ?? 0;
}

/** Stores a one-time code; gives the time it ends at. */
export async function insertLoginCode(
  tx: Tx,
  code: { readonly userId: string; readonly hash: Buffer; readonly ttlSeconds: number },
): Promise<Date> {
  await tx`DELETE FROM login_codes WHERE expires_at <= now()`;
  const [row] = await tx<{ expires_at: Date }[]>`
    INSERT INTO login_codes (hash, user_id, expires_at)
    VALUES (${code.hash}, ${code.userId}, now() + make_interval(secs => ${code.ttlSeconds}::double precision))
    RETURNING expires_at`;
  return row?.expires_at ?? new Date(0);
}

/** How many codes of a user are open. */
export async function countLoginCodes(tx: Tx, userId: string): Promise<number> {
  const [row] = await tx<{ codes: number }[]>`
    SELECT count(*) AS codes FROM login_codes WHERE user_id = ${userId} AND expires_at > now()`;
  return row?.codes ?? 0;
}

/** Makes the open codes of a user worthless. */
export async function deleteLoginCodes(tx: Tx, userId: string): Promise<void> {
  await tx`DELETE FROM login_codes WHERE user_id = ${userId}`;
}

/** Uses a code up; gives the user it is for, once in its life. */
export async function takeLoginCode(tx: Tx, hash: Buffer): Promise<AccountRow | undefined> {
  const [taken] = await tx<{ user_id: string }[]>`
    DELETE FROM login_codes WHERE hash = ${hash} AND expires_at > now() RETURNING user_id`;
  const account = taken === undefined ? undefined : await findAccount(tx, taken.user_id);
  return account?.disabled_at === null ? account : undefined;
}
