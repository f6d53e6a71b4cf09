/** Statements on the index of files. */

import type { Sql, Tx } from "@mesh/store";

/** A file on a device, with what is known of the device. */
export interface FileRow {
  readonly path: string;
  readonly is_directory: boolean;
  readonly size_bytes: number;
  readonly hash: string;
  readonly modified_at: Date;
  readonly node_id: string;
  readonly node: string;
  readonly age_ms: number | null;
  readonly goodbye: boolean | null;
  /** When the device was last heard, or its files were last told. */
  readonly last_at: Date;
}

/** Which files. */
export interface FileFilter {
  readonly workspaceId: string;
  /** Directory; empty for the top. */
  readonly path: string;
  readonly isRecursive: boolean;
  readonly words: readonly string[];
  /** Empty for all devices. */
  readonly nodeId: string;
  readonly after: { readonly path: string; readonly nodeId: string } | undefined;
  readonly limit: number;
}

function select(sql: Sql | Tx, workspaceId: string): ReturnType<Sql> {
  return sql`
    SELECT f.path, f.is_directory, f.size_bytes, f.hash, f.modified_at, f.node_id, n.name AS node, l.goodbye,
      (extract(epoch FROM clock_timestamp() - l.seen_at) * 1000)::float8 AS age_ms,
      coalesce(l.seen_at, i.reported_at, f.seen_at) AS last_at
    FROM files f
    JOIN nodes n ON n.id = f.node_id AND n.removed_at IS NULL AND (n.workspace_ids = '{}' OR ${workspaceId} = ANY (n.workspace_ids))
    LEFT JOIN file_indexes i ON i.workspace_id = f.workspace_id AND i.node_id = f.node_id
    LEFT JOIN node_liveness l ON l.node_id = f.node_id
    WHERE f.workspace_id = ${workspaceId}`;
}

/** A page of files by path, then device. */
export async function listFiles(sql: Sql, filter: FileFilter): Promise<readonly FileRow[]> {
  const { workspaceId, path, isRecursive, words, nodeId, after, limit } = filter;
  // "0" is the character after "/".
  const below = path === "" ? sql`` : sql`AND f.path > ${`${path}/`} AND f.path < ${`${path}0`}`;
  const where = isRecursive || words.length > 0 ? below : sql`AND f.parent = ${path}`;
  const patterns = words.map((word) => `%${word.replaceAll(/[\\%_]/g, "\\$&")}%`);
  return sql<FileRow[]>`
    ${select(sql, workspaceId)} ${where}
      ${patterns.length === 0 ? sql`` : sql`AND f.path ILIKE ALL (${patterns}::text[])`}
      ${nodeId === "" ? sql`` : sql`AND f.node_id = ${nodeId}`}
      ${after === undefined ? sql`` : sql`AND (f.path, f.node_id) > (${after.path}, ${after.nodeId})`}
    ORDER BY f.path, f.node_id LIMIT ${limit}`;
}

/** Every device's file of one path, the newest first. */
export async function findFiles(sql: Sql, workspaceId: string, path: string): Promise<readonly FileRow[]> {
  return sql<
    FileRow[]
  >`${select(sql, workspaceId)} AND f.path = ${path} ORDER BY f.modified_at DESC, f.node_id LIMIT 1000`;
}

/** A file as a device told it. */
export interface ToldFile {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly size: number;
  readonly hash: string;
  readonly modifiedMs: number;
}

/** A told file with the run that wrote it, as the device believes; empty for none. */
export type Told = ToldFile & { readonly runId: string };

/** Where an index belongs. */
export interface IndexKey {
  readonly workspaceId: string;
  readonly nodeId: string;
}

/** Inserts or replaces files; `sync` names the full report they are part of. */
export async function putFiles(
  tx: Sql | Tx,
  { workspaceId, nodeId }: IndexKey,
  files: readonly ToldFile[],
  sync: string,
): Promise<void> {
  if (files.length === 0) return;
  const rows = files.map((file) => ({
    path: file.path,
    parent: parentOf(file.path),
    is_directory: file.isDirectory,
    size_bytes: file.size,
    hash: file.hash,
    modified_at: new Date(file.modifiedMs).toISOString(),
  }));
  await tx`
    INSERT INTO files (workspace_id, node_id, path, parent, is_directory, size_bytes, hash, modified_at, sync)
    SELECT ${workspaceId}, ${nodeId}, x.path, x.parent, x.is_directory, x.size_bytes, x.hash, x.modified_at, ${sync}
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      AS x (path text, parent text, is_directory boolean, size_bytes bigint, hash text, modified_at timestamptz)
    ON CONFLICT (workspace_id, node_id, path) DO UPDATE SET is_directory = excluded.is_directory, size_bytes = excluded.size_bytes,
      hash = excluded.hash, modified_at = excluded.modified_at, sync = excluded.sync, seen_at = now()`;
}

/** Removes files. */
export async function dropFiles(
  tx: Sql | Tx,
  { workspaceId, nodeId }: IndexKey,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  await tx`
    DELETE FROM files WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId} AND path = ANY (${[...paths]}::text[])`;
}

/** Renames what is below a directory, or a file. */
export async function moveFiles(
  tx: Sql | Tx,
  { workspaceId, nodeId }: IndexKey,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<void> {
  await tx`
    DELETE FROM files WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId}
      AND (path = ${to} OR (path > ${`${to}/`} AND path < ${`${to}0`}))`;
  await tx`
    UPDATE files SET path = ${to} || substr(path, ${from.length + 1}::int),
      parent = CASE WHEN path = ${from} THEN ${parentOf(to)} ELSE ${to} || substr(parent, ${from.length + 1}::int) END
    WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId}
      AND (path = ${from} OR (path > ${`${from}/`} AND path < ${`${from}0`}))`;
}

/** Removes what a full report did not name. */
export async function dropUnnamed(tx: Tx, { workspaceId, nodeId }: IndexKey, sync: string): Promise<void> {
  await tx`DELETE FROM files WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId} AND sync <> ${sync}`;
}

/** How many files of a workspace a device has told. */
export async function countFiles(tx: Tx, { workspaceId, nodeId }: IndexKey): Promise<number> {
  const [row] = await tx<{ count: number }[]>`
    SELECT count(*)::int AS count FROM files WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId}`;
  return row?.count ?? 0;
}

/** Locks an index until the transaction ends and gives its digest; empty for one that was never told. */
export async function lockIndex(tx: Tx, { workspaceId, nodeId }: IndexKey): Promise<string> {
  await tx`INSERT INTO file_indexes (workspace_id, node_id) VALUES (${workspaceId}, ${nodeId}) ON CONFLICT DO NOTHING`;
  const [row] = await tx<{ digest: string }[]>`
    SELECT digest FROM file_indexes WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId} FOR UPDATE`;
  return row?.digest ?? "";
}

/** Sets the digest of an index that was locked. */
export async function setDigest(tx: Tx, { workspaceId, nodeId }: IndexKey, digest: string): Promise<void> {
  await tx`
    UPDATE file_indexes SET digest = ${digest}, reported_at = now() WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId}`;
}

/** A device that may hold files of a workspace. */
export interface ServingNode {
  readonly id: string;
  readonly name: string;
}

/** The node of a digest, when it was not removed and serves the workspace. */
export async function findServing(sql: Sql, digest: string, workspaceId: string): Promise<ServingNode | undefined> {
  const rows = await sql<ServingNode[]>`
    SELECT n.id, n.name FROM nodes n JOIN workspaces w ON w.id = ${workspaceId}
    WHERE n.digest = ${digest} AND n.removed_at IS NULL AND (n.workspace_ids = '{}' OR w.id = ANY (n.workspace_ids))`;
  return rows[0];
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}
