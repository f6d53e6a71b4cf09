/** The index of files on devices, documents with their passages, uploads. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // What the coordinator knows of a workspace's directory on a device; `digest` is what device and coordinator compare.
  `CREATE TABLE file_indexes (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    node_id text NOT NULL REFERENCES nodes ON DELETE CASCADE,
    digest text NOT NULL DEFAULT '',
    reported_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, node_id)
  )`,
  `CREATE TABLE files (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    node_id text NOT NULL REFERENCES nodes ON DELETE CASCADE,
    path text COLLATE "C" NOT NULL,
    parent text COLLATE "C" NOT NULL,
    is_directory boolean NOT NULL,
    size_bytes bigint NOT NULL,
    hash text NOT NULL,
    modified_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT now(),
    sync text NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, node_id, path)
  )`,
  `CREATE INDEX files_of_directory ON files (workspace_id, parent, path)`,
  `CREATE INDEX files_by_path ON files (workspace_id, path)`,
  `CREATE TABLE uploads (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    media_type text NOT NULL,
    size_bytes bigint NOT NULL,
    hash text NOT NULL,
    bytes bytea NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz
  )`,
  `ALTER TABLE uploads ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE INDEX uploads_of_workspace ON uploads (workspace_id)`,
  `CREATE INDEX uploads_expiry ON uploads (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE documents (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    source text NOT NULL CHECK (source IN ('run', 'upload')),
    path text COLLATE "C" NOT NULL,
    title text NOT NULL,
    media_type text NOT NULL,
    size_bytes bigint NOT NULL,
    hash text NOT NULL,
    version integer NOT NULL DEFAULT 1,
    status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'indexed', 'failed')),
    reason text NOT NULL DEFAULT '',
    attempts integer NOT NULL DEFAULT 0,
    not_before timestamptz NOT NULL DEFAULT now(),
    text text NOT NULL DEFAULT '',
    text_cut boolean NOT NULL DEFAULT false,
    chunks integer NOT NULL DEFAULT 0,
    node_id text REFERENCES nodes,
    upload_id text REFERENCES uploads,
    run_id text,
    task_id text,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((source = 'upload') = (upload_id IS NOT NULL)),
    CHECK ((source = 'run') = (node_id IS NOT NULL))
  )`,
  `CREATE UNIQUE INDEX documents_of_node ON documents (workspace_id, node_id, path) WHERE node_id IS NOT NULL`,
  `CREATE UNIQUE INDEX documents_uploaded ON documents (workspace_id, path) WHERE node_id IS NULL`,
  `CREATE INDEX documents_newest ON documents (workspace_id, updated_at DESC, id DESC)`,
  `CREATE INDEX documents_queued ON documents (not_before) WHERE status = 'queued'`,
  `CREATE TABLE document_versions (
    document_id text NOT NULL REFERENCES documents ON DELETE CASCADE,
    version integer NOT NULL,
    hash text NOT NULL,
    run_id text,
    node_id text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (document_id, version)
  )`,
  `CREATE TABLE document_chunks (
    document_id text NOT NULL REFERENCES documents ON DELETE CASCADE,
    n integer NOT NULL,
    workspace_id text NOT NULL,
    line_from integer NOT NULL,
    line_to integer NOT NULL,
    heading text NOT NULL,
    text text NOT NULL,
    words tsvector NOT NULL,
    PRIMARY KEY (document_id, n)
  )`,
  `CREATE INDEX document_chunks_words ON document_chunks USING gin (words)`,
  `CREATE INDEX document_chunks_of_workspace ON document_chunks (workspace_id)`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
