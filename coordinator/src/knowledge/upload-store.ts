/** Statements on uploads. */

import type { Sql, Tx } from "@mesh/store";

/** A file as it was uploaded. */
export interface NewUpload {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly mediaType: string;
  readonly hash: string;
  readonly bytes: Buffer;
  readonly createdBy: string;
  /** Days until it goes by itself; undefined: with its document. */
  readonly days: number | undefined;
}

/** Stores a file. */
export async function insertUpload(tx: Tx, upload: NewUpload): Promise<void> {
  await tx`
    INSERT INTO uploads (id, workspace_id, name, media_type, size_bytes, hash, bytes, created_by, expires_at)
    VALUES (${upload.id}, ${upload.workspaceId}, ${upload.name}, ${upload.mediaType}, ${upload.bytes.length}, ${upload.hash}, ${upload.bytes},
      ${upload.createdBy}, now() + ${upload.days ?? null}::int * interval '1 day')`;
}

/** How many bytes a workspace has uploaded. */
export async function uploadedBytes(tx: Tx, workspaceId: string): Promise<number> {
  const [row] = await tx<{ bytes: number }[]>`
    SELECT coalesce(sum(size_bytes), 0)::int8 AS bytes FROM uploads WHERE workspace_id = ${workspaceId}`;
  return row?.bytes ?? 0;
}

/** A part of an upload of a workspace, from `offset` on; by its id, or that of its document. */
export async function readUpload(
  sql: Sql,
  workspaceId: string,
  { id, offset, bytes }: { readonly id: string; readonly offset: number; readonly bytes: number },
): Promise<
  { readonly name: string; readonly media_type: string; readonly size_bytes: number; readonly part: Buffer } | undefined
> {
  const rows = await sql<{ name: string; media_type: string; size_bytes: number; part: Buffer }[]>`
    SELECT u.name, u.media_type, u.size_bytes, substring(u.bytes FROM ${offset + 1}::int FOR ${bytes}::int) AS part
    FROM uploads u
    WHERE u.workspace_id = ${workspaceId} AND (u.expires_at IS NULL OR u.expires_at > now())
      AND (u.id = ${id} OR u.id = (SELECT d.upload_id FROM documents d WHERE d.id = ${id}))`;
  return rows[0];
}

/** Removes a batch of uploads whose time is over; gives how many there were. */
export async function dropOldUploads(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`
    DELETE FROM uploads WHERE id IN (
      SELECT id FROM uploads WHERE expires_at < now() ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED)`;
  return rows.count;
}

/** An uploaded document whose text is to be read. */
export interface UploadTask {
  readonly id: string;
  readonly workspace_id: string;
  readonly path: string;
  readonly hash: string;
  readonly attempts: number;
  readonly bytes: Buffer;
}

/** Takes the next uploaded document to read, and keeps it from others for a while. */
export async function takeUploadTask(sql: Sql, holdMs: number): Promise<UploadTask | undefined> {
  const rows = await sql<UploadTask[]>`
    WITH next AS (
      SELECT id FROM documents WHERE status = 'queued' AND upload_id IS NOT NULL AND not_before <= now()
      ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED),
    taken AS (
      UPDATE documents d SET attempts = attempts + 1, not_before = now() + ${holdMs} * interval '1 ms' FROM next
      WHERE d.id = next.id RETURNING d.id, d.workspace_id, d.path, d.hash, d.attempts, d.upload_id)
    SELECT t.id, t.workspace_id, t.path, t.hash, t.attempts, u.bytes FROM taken t JOIN uploads u ON u.id = t.upload_id`;
  return rows[0];
}

/** An uploaded document. */
export interface UploadedDocument {
  /** Of the document, should it be new. */
  readonly id: string;
  readonly upload: NewUpload;
}

/** Makes an upload a document, or the next version of the one of its name; returns it with the upload it replaces. */
export async function putUploaded(
  tx: Tx,
  { id, upload }: UploadedDocument,
): Promise<{ readonly id: string; readonly version: number }> {
  const { workspaceId, name, mediaType, hash, createdBy } = upload;
  const [before] = await tx<{ id: string; upload_id: string }[]>`
    SELECT id, upload_id FROM documents WHERE workspace_id = ${workspaceId} AND path = ${name} AND node_id IS NULL FOR UPDATE`;
  const [row] = await tx<{ id: string; version: number }[]>`
    INSERT INTO documents AS d (id, workspace_id, source, path, title, media_type, size_bytes, hash, upload_id, created_by)
    VALUES (${id}, ${workspaceId}, 'upload', ${name}, ${name}, ${mediaType}, ${upload.bytes.length}, ${hash}, ${upload.id}, ${createdBy})
    ON CONFLICT (workspace_id, path) WHERE node_id IS NULL DO UPDATE SET media_type = excluded.media_type, size_bytes = excluded.size_bytes,
      hash = excluded.hash, upload_id = excluded.upload_id, version = d.version + 1, status = 'queued', reason = '', attempts = 0,
      not_before = now(), created_by = excluded.created_by, updated_at = now()
    RETURNING d.id, d.version`;
  if (before !== undefined) await tx`DELETE FROM uploads WHERE id = ${before.upload_id}`;
  return row ?? { id, version: 1 };
}
