/** Webhooks and their deliveries, limits of tokens, and answers that are given again. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  `ALTER TABLE tokens
    ADD COLUMN assistants text[] NOT NULL DEFAULT '{}',
    ADD COLUMN rate_per_minute integer CHECK (rate_per_minute > 0)`,
  `CREATE TABLE http_idempotency (
    scope text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    -- Null while the call runs; sealed, since an answer may show a secret that is shown once.
    sealed_answer bytea,
    PRIMARY KEY (scope, key)
  )`,
  `CREATE INDEX http_idempotency_age ON http_idempotency (started_at)`,
  `CREATE TABLE webhooks (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    url text NOT NULL,
    events text[] NOT NULL DEFAULT '{}',
    is_disabled boolean NOT NULL DEFAULT false,
    reason text NOT NULL DEFAULT '',
    sealed_secret bytea NOT NULL,
    sealed_previous bytea,
    previous_until timestamptz,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_success_at timestamptz,
    last_failure_at timestamptz
  )`,
  `CREATE INDEX webhooks_workspace ON webhooks (workspace_id)`,
  // The outbox and the log of what was sent are one table.
  `CREATE TABLE webhook_deliveries (
    id text PRIMARY KEY DEFAULT 'msg_' || replace(gen_random_uuid()::text, '-', ''),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    webhook_id text NOT NULL REFERENCES webhooks ON DELETE CASCADE,
    event text NOT NULL,
    body text NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
    attempts integer NOT NULL DEFAULT 0,
    response_status integer NOT NULL DEFAULT 0,
    error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    next_at timestamptz DEFAULT '-infinity'
  )`,
  `CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE state = 'pending'`,
  `CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, seq)`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
