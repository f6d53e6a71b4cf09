/** Tables of the first release. Frozen: later changes are new migrations. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  `CREATE TABLE users (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    is_admin boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  `CREATE TABLE workspaces (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    is_default boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  `CREATE UNIQUE INDEX workspaces_one_default ON workspaces (is_default) WHERE is_default`,
  `CREATE TABLE workspace_members (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
    PRIMARY KEY (workspace_id, user_id)
  )`,
  `CREATE TABLE tokens (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    name text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    scopes text[] NOT NULL,
    workspace_ids text[] NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
  )`,
  `CREATE TABLE join_tokens (
    hash bytea PRIMARY KEY,
    uses_left integer NOT NULL,
    labels jsonb NOT NULL DEFAULT '{}',
    workspace_ids text[] NOT NULL DEFAULT '{}',
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  )`,
  `CREATE TABLE nodes (
    id text PRIMARY KEY,
    digest text NOT NULL UNIQUE,
    nkey text NOT NULL UNIQUE,
    name text NOT NULL,
    labels jsonb NOT NULL DEFAULT '{}',
    facts jsonb NOT NULL DEFAULT '{}',
    slots integer NOT NULL,
    workspace_ids text[] NOT NULL DEFAULT '{}',
    version text NOT NULL DEFAULT '',
    draining boolean NOT NULL DEFAULT false,
    drain_deadline_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    removed_at timestamptz
  ) WITH (fillfactor = 80)`,
  `CREATE UNIQUE INDEX nodes_name ON nodes (name) WHERE removed_at IS NULL`,
  // Losing this table means every node is unknown until its next heartbeat, so it skips the write-ahead log.
  `CREATE UNLOGGED TABLE node_liveness (
    node_id text PRIMARY KEY,
    boot_id text NOT NULL,
    hb_seq bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    goodbye boolean NOT NULL DEFAULT false,
    load jsonb NOT NULL DEFAULT '{}'
  ) WITH (fillfactor = 50)`,
  `CREATE TABLE bundles (
    digest text PRIMARY KEY,
    bytes bytea NOT NULL,
    size_bytes bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  `ALTER TABLE bundles ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE TABLE apps (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL REFERENCES bundles,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
  )`,
  `CREATE TABLE app_versions (
    app_id text NOT NULL REFERENCES apps ON DELETE CASCADE,
    version integer NOT NULL,
    digest text NOT NULL REFERENCES bundles,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, version)
  )`,
  `CREATE TABLE assistants (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    id text NOT NULL,
    app_id text NOT NULL REFERENCES apps ON DELETE CASCADE,
    name text NOT NULL,
    description text NOT NULL DEFAULT '',
    connector text NOT NULL DEFAULT '',
    type text NOT NULL DEFAULT 'assistant',
    avatar text NOT NULL DEFAULT '',
    tags text[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (workspace_id, id)
  )`,
  `CREATE TABLE app_connectors (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    id text NOT NULL,
    app_id text NOT NULL REFERENCES apps ON DELETE CASCADE,
    config jsonb NOT NULL,
    PRIMARY KEY (workspace_id, id, app_id)
  )`,
  `CREATE TABLE connectors (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    id text NOT NULL,
    config jsonb NOT NULL,
    sealed_key bytea,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, id)
  )`,
  `CREATE TABLE runs (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    assistant_id text NOT NULL,
    app_id text NOT NULL,
    app_name text NOT NULL,
    app_version integer NOT NULL,
    bundle_digest text NOT NULL REFERENCES bundles,
    input text NOT NULL,
    options jsonb NOT NULL DEFAULT '{}',
    metadata jsonb NOT NULL DEFAULT '{}',
    requirements jsonb NOT NULL DEFAULT '{}',
    queue_key text NOT NULL,
    state text NOT NULL DEFAULT 'queued' CHECK (state IN
      ('queued', 'placed', 'accepted', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'lost')),
    reason text NOT NULL DEFAULT '',
    node_id text REFERENCES nodes,
    lease_epoch integer NOT NULL DEFAULT 0,
    lease_until timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    on_lost text NOT NULL DEFAULT 'hold' CHECK (on_lost IN ('hold', 'replace', 'fail')),
    priority integer NOT NULL DEFAULT 0,
    timeout_ms bigint NOT NULL,
    not_before timestamptz NOT NULL DEFAULT now(),
    queue_until timestamptz NOT NULL,
    hold_until timestamptz,
    cancel_requested_at timestamptz,
    last_seq integer NOT NULL DEFAULT 0,
    committed_n integer NOT NULL DEFAULT 0,
    placement jsonb,
    error jsonb,
    output text NOT NULL DEFAULT '',
    usage jsonb,
    retry_of text,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    placed_at timestamptz,
    started_at timestamptz,
    finished_at timestamptz
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02)`,
  // Runs with equal demands share a queue key: the placer decides once per key, not once per run.
  `CREATE INDEX runs_queue ON runs (queue_key, priority DESC, id) WHERE state = 'queued'`,
  `CREATE INDEX runs_leased ON runs (node_id) WHERE state IN ('placed', 'accepted', 'running', 'waiting')`,
  `CREATE INDEX runs_queue_until ON runs (queue_until) WHERE state = 'queued'`,
  `CREATE INDEX runs_finished ON runs (finished_at) WHERE finished_at IS NOT NULL`,
  `CREATE INDEX runs_of_workspace ON runs (workspace_id, id DESC)`,
  `CREATE TABLE run_events (
    run_id text NOT NULL REFERENCES runs ON DELETE CASCADE,
    seq integer NOT NULL,
    epoch integer NOT NULL,
    n integer,
    at timestamptz NOT NULL,
    kind text NOT NULL,
    delta_of text,
    body text NOT NULL,
    PRIMARY KEY (run_id, seq)
  )`,
  `CREATE UNIQUE INDEX run_events_once ON run_events (run_id, epoch, n) WHERE n IS NOT NULL`,
  `CREATE TABLE idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    result_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (scope, key)
  )`,
  `CREATE TABLE audit (
    id text PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    action text NOT NULL,
    object text NOT NULL,
    workspace_id text,
    detail jsonb NOT NULL DEFAULT '{}'
  )`,
  `CREATE INDEX audit_newest ON audit (id DESC)`,
];

/** Creates all tables. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
