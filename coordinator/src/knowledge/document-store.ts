/** Statements on documents. */

import type { Sql, Tx } from "@mesh/store";

/** A document with what is known of its device. */
export interface DocumentRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly source: "run" | "upload";
  readonly path: string;
  readonly title: string;
  readonly media_type: string;
  readonly size_bytes: number;
  readonly hash: string;
  readonly version: number;
  readonly status: "queued" | "indexed" | "failed";
  readonly reason: string;
  readonly chunks: number;
  readonly node_id: string | null;
  readonly node: string | null;
  readonly digest: string | null;
  readonly age_ms: number | null;
  readonly goodbye: boolean | null;
  readonly last_at: Date | null;
  readonly run_id: string | null;
  readonly task_id: string | null;
  readonly task_number: number | null;
  readonly created_by: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** `updated_at` in full, for cursors. */
  readonly updated: string;
}

function select(sql: Sql | Tx): ReturnType<Sql> {
  return sql`
    SELECT d.id, d.workspace_id, d.source, d.path, d.title, d.media_type, d.size_bytes, d.hash, d.version, d.status, d.reason,
      d.chunks, d.node_id, n.name AS node, n.digest, l.goodbye, d.run_id, d.task_id, t.number AS task_number, d.created_by, d.created_at, d.updated_at,
      d.updated_at::text AS updated, coalesce(l.seen_at, i.reported_at) AS last_at,
      CASE WHEN n.removed_at IS NULL THEN (extract(epoch FROM clock_timestamp() - l.seen_at) * 1000)::float8 END AS age_ms
    FROM documents d
    LEFT JOIN nodes n ON n.id = d.node_id
    LEFT JOIN tasks t ON t.id = d.task_id
    LEFT JOIN node_liveness l ON l.node_id = d.node_id
    LEFT JOIN file_indexes i ON i.workspace_id = d.workspace_id AND i.node_id = d.node_id`;
}

/** A page of documents, the newest first. */
export async function listDocuments(
  sql: Sql,
  page: {
    readonly workspaceId: string;
    readonly before: readonly [string, string] | undefined;
    readonly limit: number;
  },
): Promise<readonly DocumentRow[]> {
  const [updated, id] = page.before ?? [];
  return sql<DocumentRow[]>`
    ${select(sql)} WHERE d.workspace_id = ${page.workspaceId}
      ${updated === undefined ? sql`` : sql`AND (d.updated_at, d.id) < (${updated}::text::timestamptz, ${id ?? ""})`}
    ORDER BY d.updated_at DESC, d.id DESC LIMIT ${page.limit}`;
}

/** Documents by id, in no order. */
export async function findDocuments(sql: Sql | Tx, ids: readonly string[]): Promise<readonly DocumentRow[]> {
  return sql<DocumentRow[]>`${select(sql)} WHERE d.id = ANY (${[...ids]}::text[])`;
}

/** Documents of a path in a workspace, the newest first. */
export async function findByPath(sql: Sql, workspaceId: string, path: string): Promise<readonly DocumentRow[]> {
  return sql<DocumentRow[]>`
    ${select(sql)} WHERE d.workspace_id = ${workspaceId} AND d.path = ${path} ORDER BY d.updated_at DESC LIMIT 100`;
}

/** The last known text of a document. */
export async function readText(sql: Sql, id: string): Promise<{ readonly text: string; readonly isCut: boolean }> {
  const [row] = await sql<{ text: string; text_cut: boolean }[]>`SELECT text, text_cut FROM documents WHERE id = ${id}`;
  return { text: row?.text ?? "", isCut: row?.text_cut ?? false };
}

/** One version of a document. */
export interface VersionRow {
  readonly version: number;
  readonly hash: string;
  readonly created_at: Date;
  readonly run_id: string | null;
  readonly node: string | null;
}

/** Versions of a document, the newest first. */
export async function listVersions(sql: Sql, id: string): Promise<readonly VersionRow[]> {
  return sql<VersionRow[]>`
    SELECT v.version, v.hash, v.created_at, v.run_id, n.name AS node
    FROM document_versions v LEFT JOIN nodes n ON n.id = v.node_id
    WHERE v.document_id = ${id} ORDER BY v.version DESC LIMIT 100`;
}

/** How many documents a workspace has. */
export async function countDocuments(sql: Sql | Tx, workspaceId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM documents WHERE workspace_id = ${workspaceId}`;
  return row?.count ?? 0;
}

/** A document that a run wrote, as its device told it. */
export interface WrittenDocument {
  /** Of the document, should it be new. */
  readonly id: string;
  readonly path: string;
  readonly title: string;
  readonly media_type: string;
  readonly size_bytes: number;
  readonly hash: string;
  readonly run_id: string;
}

/**
 * Inserts documents of a device, or gives those whose content is another one a new version; returns the ids of those that changed.
 * The same content under the same path on another device is the document that there is already. A run is only believed when it
 * worked on that device in that workspace.
 */
export async function putWritten(
  tx: Tx,
  { workspaceId, nodeId }: { readonly workspaceId: string; readonly nodeId: string },
  documents: readonly WrittenDocument[],
): Promise<readonly string[]> {
  const rows = await tx<{ id: string; version: number; hash: string; run_id: string | null }[]>`
    INSERT INTO documents AS d (id, workspace_id, source, path, title, media_type, size_bytes, hash, node_id, run_id, task_id, created_by)
    SELECT x.id, ${workspaceId}, 'run', x.path, x.title, x.media_type, x.size_bytes, x.hash, n.id, r.id, r.task_id,
      coalesce(r.created_by, 'node:' || n.name)
    FROM jsonb_to_recordset(${JSON.stringify(documents)}::text::jsonb)
      AS x (id text, path text, title text, media_type text, size_bytes bigint, hash text, run_id text)
    JOIN nodes n ON n.id = ${nodeId}
    LEFT JOIN runs r ON r.id = x.run_id AND r.workspace_id = ${workspaceId} AND r.node_id = n.id
    WHERE NOT EXISTS (
      SELECT 1 FROM documents o
      WHERE o.workspace_id = ${workspaceId} AND o.path = x.path AND o.hash = x.hash AND o.node_id <> ${nodeId})
    ON CONFLICT (workspace_id, node_id, path) WHERE node_id IS NOT NULL DO UPDATE SET
      size_bytes = excluded.size_bytes, hash = excluded.hash, version = d.version + 1, status = 'queued', reason = '',
      run_id = excluded.run_id, task_id = excluded.task_id, updated_at = now()
    WHERE d.hash <> excluded.hash
    RETURNING d.id, d.version, d.hash, d.run_id`;
  await insertVersions(
    tx,
    rows.map((row) => ({ ...row, node_id: nodeId })),
  );
  return rows.map(({ id }) => id);
}

/** Notes versions. */
export async function insertVersions(
  tx: Tx,
  versions: readonly {
    readonly id: string;
    readonly version: number;
    readonly hash: string;
    readonly run_id: string | null;
    readonly node_id: string | null;
  }[],
): Promise<void> {
  if (versions.length === 0) return;
  await tx`
    INSERT INTO document_versions (document_id, version, hash, run_id, node_id)
    SELECT x.id, x.version, x.hash, x.run_id, x.node_id
    FROM jsonb_to_recordset(${JSON.stringify(versions)}::text::jsonb)
      AS x (id text, version integer, hash text, run_id text, node_id text)
    ON CONFLICT DO NOTHING`;
  await tx`
    DELETE FROM document_versions v USING jsonb_to_recordset(${JSON.stringify(versions)}::text::jsonb) AS x (id text, version integer)
    WHERE v.document_id = x.id AND v.version <= x.version - 100`;
}

/** Documents of a device at these paths. */
export async function findWritten(
  tx: Tx,
  { workspaceId, nodeId }: { readonly workspaceId: string; readonly nodeId: string },
  paths: readonly string[],
): Promise<readonly { readonly id: string; readonly path: string; readonly hash: string }[]> {
  return tx`
    SELECT id, path, hash FROM documents
    WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId} AND path = ANY (${[...paths]}::text[])`;
}

/** Makes a document go on under the path of a new one of the same device and content; false when there is none. */
export async function renameWritten(
  tx: Tx,
  { workspaceId, nodeId }: { readonly workspaceId: string; readonly nodeId: string },
  { id, hash }: { readonly id: string; readonly hash: string },
): Promise<boolean> {
  const [found] = await tx<{ id: string; path: string; title: string }[]>`
    DELETE FROM documents WHERE id = (
      SELECT d.id FROM documents d JOIN documents old ON old.id = ${id}
      WHERE d.workspace_id = ${workspaceId} AND d.node_id = ${nodeId} AND d.hash = ${hash} AND d.version = 1 AND d.id <> ${id}
        AND d.created_at > old.created_at
      ORDER BY d.created_at DESC LIMIT 1)
    RETURNING id, path, title`;
  if (found === undefined) return false;
  await tx`UPDATE documents SET path = ${found.path}, updated_at = now() WHERE id = ${id}`;
  return true;
}

/** Removes documents with all their passages and versions; uploads that only they need go too. */
export async function deleteDocuments(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const rows = await tx<{ upload_id: string | null }[]>`
    DELETE FROM documents WHERE id = ANY (${[...ids]}::text[]) RETURNING upload_id`;
  const uploads = rows.flatMap(({ upload_id: id }) => (id === null ? [] : [id]));
  if (uploads.length > 0) await tx`DELETE FROM uploads WHERE id = ANY (${uploads}::text[])`;
}

/** Ids of documents of a device whose files are not in its index. */
export async function findUnnamed(
  tx: Tx,
  { workspaceId, nodeId }: { readonly workspaceId: string; readonly nodeId: string },
): Promise<readonly string[]> {
  const rows = await tx<{ id: string }[]>`
    SELECT d.id FROM documents d WHERE d.workspace_id = ${workspaceId} AND d.node_id = ${nodeId} AND NOT EXISTS (
      SELECT 1 FROM files f WHERE f.workspace_id = d.workspace_id AND f.node_id = d.node_id AND f.path = d.path)`;
  return rows.map(({ id }) => id);
}

/** Documents of a device whose text is asked for. */
export async function findWanted(
  tx: Tx,
  { workspaceId, nodeId }: { readonly workspaceId: string; readonly nodeId: string },
  limit: number,
): Promise<readonly { readonly path: string; readonly hash: string }[]> {
  return tx`
    SELECT path, hash FROM documents
    WHERE workspace_id = ${workspaceId} AND node_id = ${nodeId} AND status = 'queued' ORDER BY updated_at, id LIMIT ${limit}`;
}

/** Asks for the text of a document anew. */
export async function queueDocument(tx: Tx, id: string): Promise<void> {
  await tx`
    UPDATE documents SET status = 'queued', reason = '', attempts = 0, not_before = now(), updated_at = now() WHERE id = ${id}`;
}
