/**
 * Memory and stores in PostgreSQL.
 *
 * Y1  Every method is atomic: methods on one key happen one after the other, whoever calls from wherever; those on a whole
 *     space stand before or after each of them.
 * Y2  An entry that has ended is not there; a sweep removes it later.
 * Y3  A space holds a bounded number of keys.
 */

import { type Json, MeshError } from "@mesh/kernel";
import { applyToEntry, isEntryMethod, isRead, isWildcard, likePattern, type MemoryEntry, readKey } from "@mesh/memory";
import type { Sql, Tx } from "@mesh/store";

/** One space of one owner in one workspace. */
export interface MemorySpace {
  readonly workspaceId: string;
  readonly space: "user" | "team" | "chat" | "store";
  readonly owner: string;
}

const MAX_KEYS = 20_000;

/** Applies one method of the memory API; throws `not_found` for a method that there is not. */
export async function callMemory(
  sql: Sql,
  space: MemorySpace,
  method: string,
  args: readonly Json[],
): Promise<Json | undefined> {
  switch (method) {
    case "Keys":
      return listKeys(sql, space, args[0]);
    case "Len":
      return (await listKeys(sql, space, args[0])).length;
    case "Clear":
      await deleteKeys(sql, space, "*");
      return undefined;
    default:
      return callEntry(sql, space, method, args);
  }
}

async function callEntry(
  sql: Sql,
  space: MemorySpace,
  method: string,
  [first, ...rest]: readonly Json[],
): Promise<Json | undefined> {
  if (!isEntryMethod(method)) throw new MeshError("not_found", `memory has no method ${method}`);
  const key = readKey(first);
  if ((method === "Del" || method === "Delete") && isWildcard(key)) {
    await deleteKeys(sql, space, key);
    return undefined;
  }
  if (isRead(method)) return applyToEntry(method, key, rest, await readEntry(sql, space, key)).result;
  return sql.begin(async (tx) => {
    await tx`
      SELECT pg_advisory_xact_lock_shared(hashtextextended(${lockName(space)}, 0)),
        pg_advisory_xact_lock(hashtextextended(${lockName(space, key)}, 0))`;
    const { result, change } = applyToEntry(method, key, rest, await readEntry(tx, space, key));
    if (change?.entry !== undefined) await writeEntry(tx, space, key, change.entry);
    else if (change !== undefined) await deleteEntry(tx, space, key);
    return result;
  });
}

function lockName({ workspaceId, space, owner }: MemorySpace, ...key: readonly string[]): string {
  return JSON.stringify([workspaceId, space, owner, ...key]);
}

interface Found {
  readonly entry: MemoryEntry | undefined;
  readonly now: number;
}

// Both times are the database's: replicas may disagree about the hour.
async function readEntry(sql: Sql | Tx, { workspaceId, space, owner }: MemorySpace, key: string): Promise<Found> {
  const rows = await sql<{ value: string | null; ends: number | null; now: number }[]>`
    SELECT e.value, extract(epoch FROM e.expires_at)::float8 * 1000 AS ends, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
    FROM (SELECT 1) one LEFT JOIN memory_entries e
      ON e.workspace_id = ${workspaceId} AND e.space = ${space} AND e.owner = ${owner} AND e.key = ${key}`;
  const [row] = rows;
  const now = row?.now ?? 0;
  if (row === undefined || row.value === null) return { entry: undefined, now };
  return { entry: { value: JSON.parse(row.value) as Json, expiresAt: row.ends }, now };
}

async function writeEntry(
  sql: Sql | Tx,
  space: MemorySpace,
  key: string,
  { value, expiresAt }: MemoryEntry,
): Promise<void> {
  const { workspaceId, owner } = space;
  const ends = expiresAt === null ? null : new Date(expiresAt);
  const rows = await sql<{ inserted: boolean }[]>`
    INSERT INTO memory_entries (workspace_id, space, owner, key, value, expires_at)
    VALUES (${workspaceId}, ${space.space}, ${owner}, ${key}, ${JSON.stringify(value)}, ${ends})
    ON CONFLICT (workspace_id, space, owner, key)
    DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at, updated_at = now()
    RETURNING xmax = 0 AS inserted`;
  if (rows[0]?.inserted === true) await checkRoom(sql, space);
}

async function checkRoom(sql: Sql | Tx, { workspaceId, space, owner }: MemorySpace): Promise<void> {
  const rows = await sql<{ keys: number }[]>`
    SELECT count(*)::int AS keys FROM (
      SELECT 1 FROM memory_entries WHERE workspace_id = ${workspaceId} AND space = ${space} AND owner = ${owner}
      LIMIT ${MAX_KEYS + 1}) AS held`;
  if ((rows[0]?.keys ?? 0) <= MAX_KEYS) return;
  throw new MeshError("resource_exhausted", `this memory holds ${MAX_KEYS} keys; delete some first`);
}

async function deleteEntry(sql: Sql | Tx, { workspaceId, space, owner }: MemorySpace, key: string): Promise<void> {
  await sql`
    DELETE FROM memory_entries
    WHERE workspace_id = ${workspaceId} AND space = ${space} AND owner = ${owner} AND key = ${key}`;
}

async function deleteKeys(sql: Sql, of: MemorySpace, pattern: string): Promise<void> {
  const { workspaceId, space, owner } = of;
  await sql.begin(async (tx) => {
    // Without it, a method that has read an entry would write it again after it was deleted.
    await tx`SELECT pg_advisory_xact_lock(hashtextextended(${lockName(of)}, 0))`;
    await tx`
      DELETE FROM memory_entries
      WHERE workspace_id = ${workspaceId} AND space = ${space} AND owner = ${owner} AND key LIKE ${likePattern(pattern)}`;
  });
}

async function listKeys(
  sql: Sql,
  { workspaceId, space, owner }: MemorySpace,
  pattern: Json | undefined,
): Promise<string[]> {
  const like = typeof pattern === "string" && pattern !== "" ? likePattern(readKey(pattern)) : "%";
  const rows = await sql<{ key: string }[]>`
    SELECT key FROM memory_entries
    WHERE workspace_id = ${workspaceId} AND space = ${space} AND owner = ${owner} AND key LIKE ${like}
      AND (expires_at IS NULL OR expires_at > clock_timestamp())
    ORDER BY key LIMIT ${MAX_KEYS}`;
  return rows.map((row) => row.key);
}

/** Removes a batch of entries that have ended; gives how many there were. */
export async function dropEndedMemory(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`
    DELETE FROM memory_entries WHERE ctid IN (
      SELECT ctid FROM memory_entries WHERE expires_at < now() - interval '1 minute' LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;
  return rows.count;
}
