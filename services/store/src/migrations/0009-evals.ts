/** Evals: their cases, units, batches and the one log. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // Bundles that were pushed for evals only. A bundle is shared by content; this says which workspaces may use it.
  `CREATE TABLE eval_bundles (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    digest text NOT NULL REFERENCES bundles,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, digest)
  )`,
  // fate: how it is to end once what runs has stopped, with its reason; empty when it goes its way. batch_failures: batches that
  // ended badly one after the other, with no result between them.
  `CREATE TABLE evals (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    assistant_id text NOT NULL,
    app_name text NOT NULL DEFAULT '',
    bundle_digest text NOT NULL REFERENCES bundles,
    nonce text NOT NULL,
    placement jsonb NOT NULL,
    settings jsonb NOT NULL,
    state text NOT NULL DEFAULT 'draft' CHECK (state IN ('draft', 'running', 'cancelling', 'ended', 'cancelled', 'failed')),
    phase text NOT NULL DEFAULT 'before' CHECK (phase IN ('before', 'units', 'after', 'over')),
    reason text NOT NULL DEFAULT '',
    cases integer NOT NULL DEFAULT 0,
    suite text NOT NULL DEFAULT '',
    last_seq integer NOT NULL DEFAULT 0,
    total integer NOT NULL DEFAULT 0,
    passed integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    errors integer NOT NULL DEFAULT 0,
    timeouts integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    observations integer NOT NULL DEFAULT 0,
    usage jsonb NOT NULL DEFAULT '{}',
    warnings jsonb NOT NULL DEFAULT '[]',
    before_data jsonb,
    fate text NOT NULL DEFAULT '' CHECK (fate IN ('', 'failed', 'cancelled')),
    batch_failures integer NOT NULL DEFAULT 0,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX evals_of_workspace ON evals (workspace_id, id DESC)`,
  `CREATE INDEX evals_at_work ON evals (id) WHERE state IN ('running', 'cancelling')`,
  // The text as it was written: its digest is part of the identity of a result.
  `CREATE TABLE eval_cases (
    eval_id text NOT NULL REFERENCES evals ON DELETE CASCADE,
    ordinal integer NOT NULL,
    case_id text NOT NULL,
    hash text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (eval_id, ordinal)
  )`,
  `CREATE UNIQUE INDEX eval_cases_once ON eval_cases (eval_id, case_id)`,
  // node_id: the device that a placement ties the unit to. run_id: the newest batch that has it. settled: it has its result.
  // attempts: results that did not count, since something outside of the assistant failed. losses: batches that ended without its result.
  `CREATE TABLE eval_units (
    eval_id text NOT NULL REFERENCES evals ON DELETE CASCADE,
    ordinal integer NOT NULL,
    run integer NOT NULL,
    copy integer NOT NULL,
    node_id text,
    run_id text,
    attempts integer NOT NULL DEFAULT 0,
    losses integer NOT NULL DEFAULT 0,
    tried_nodes text[] NOT NULL DEFAULT '{}',
    settled boolean NOT NULL DEFAULT false,
    PRIMARY KEY (eval_id, ordinal, run, copy)
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX eval_units_open ON eval_units (eval_id, ordinal, run, copy) WHERE NOT settled AND run_id IS NULL`,
  `CREATE INDEX eval_units_tied ON eval_units (eval_id, node_id, ordinal, run, copy)
    WHERE NOT settled AND run_id IS NULL AND node_id IS NOT NULL`,
  `CREATE INDEX eval_units_out ON eval_units (run_id) WHERE NOT settled AND run_id IS NOT NULL`,
  // A batch is a run. folded_seq: how far its events are in the log. units: [[ordinal, run, copy], …]. progress_at: its newest result.
  `CREATE TABLE eval_batches (
    run_id text PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    eval_id text NOT NULL REFERENCES evals ON DELETE CASCADE,
    node_id text NOT NULL,
    phase text NOT NULL CHECK (phase IN ('before', 'units', 'after')),
    units jsonb NOT NULL DEFAULT '[]',
    is_duplicate boolean NOT NULL DEFAULT false,
    folded_seq integer NOT NULL DEFAULT 0,
    closed boolean NOT NULL DEFAULT false,
    progress_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  `CREATE INDEX eval_batches_open ON eval_batches (eval_id) WHERE NOT closed`,
  `CREATE TABLE eval_nodes (
    eval_id text NOT NULL REFERENCES evals ON DELETE CASCADE,
    node_id text NOT NULL,
    quarantined text,
    infra_errors integer NOT NULL DEFAULT 0,
    infra_in_a_row integer NOT NULL DEFAULT 0,
    passed integer NOT NULL DEFAULT 0,
    failed integer NOT NULL DEFAULT 0,
    errors integer NOT NULL DEFAULT 0,
    timeouts integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    PRIMARY KEY (eval_id, node_id)
  ) WITH (fillfactor = 70)`,
  // The one log. Of each unit at most one row counts; the others are observations.
  `CREATE TABLE eval_results (
    eval_id text NOT NULL REFERENCES evals ON DELETE CASCADE,
    seq integer NOT NULL,
    ordinal integer NOT NULL,
    run integer NOT NULL,
    copy integer NOT NULL,
    case_id text NOT NULL,
    status text NOT NULL,
    node_id text NOT NULL,
    run_id text NOT NULL,
    attempt integer NOT NULL DEFAULT 0,
    observation boolean NOT NULL DEFAULT false,
    duration_ms bigint NOT NULL DEFAULT 0,
    result text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (eval_id, seq)
  )`,
  `CREATE UNIQUE INDEX eval_results_once ON eval_results (eval_id, ordinal, run, copy) WHERE NOT observation`,
  `CREATE INDEX eval_results_of_case ON eval_results (eval_id, case_id)`,
  // Calls of models that evals may make: of each provider of a workspace one bucket, over all devices and replicas. granted: to
  // the newest that asked, so that one statement both takes and tells.
  `CREATE TABLE eval_permits (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    provider text NOT NULL,
    tokens double precision NOT NULL,
    granted integer NOT NULL DEFAULT 0,
    per_minute double precision NOT NULL,
    paused_until timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, provider)
  ) WITH (fillfactor = 50)`,
  `ALTER TABLE runs ADD COLUMN eval_id text REFERENCES evals ON DELETE CASCADE`,
  `CREATE INDEX runs_of_eval ON runs (eval_id) WHERE eval_id IS NOT NULL`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
