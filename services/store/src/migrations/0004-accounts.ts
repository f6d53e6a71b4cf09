/** People: how they log in, what they prefer, how they are invited; and what a workspace sets for itself. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  `ALTER TABLE users
    ADD COLUMN display_name text NOT NULL DEFAULT '',
    ADD COLUMN password text,
    ADD COLUMN locale text NOT NULL DEFAULT '',
    ADD COLUMN theme text NOT NULL DEFAULT 'system',
    ADD COLUMN preferences text NOT NULL DEFAULT '',
    ADD COLUMN disabled_at timestamptz`,
  // Who a person is at an OpenID Connect provider: the pair is never given to someone else there, a name or address may be.
  `CREATE TABLE user_identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject)
  )`,
  `CREATE TABLE sessions (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    last_used_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    user_agent text NOT NULL DEFAULT ''
  )`,
  `CREATE INDEX sessions_by_user ON sessions (user_id)`,
  `CREATE TABLE login_codes (
    hash bytea PRIMARY KEY,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  )`,
  `CREATE INDEX login_codes_by_user ON login_codes (user_id)`,
  `CREATE TABLE invitations (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE,
    role text NOT NULL CHECK (role IN ('owner', 'member', 'viewer')),
    uses_left integer NOT NULL CHECK (uses_left >= 0),
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
  )`,
  `CREATE INDEX invitations_by_workspace ON invitations (workspace_id)`,
  `ALTER TABLE workspaces ADD COLUMN settings jsonb NOT NULL DEFAULT '{}'`,
  `CREATE TABLE workspace_secrets (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    sealed bytea NOT NULL,
    updated_by text NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, name)
  )`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
