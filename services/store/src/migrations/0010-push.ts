/** Web Push: the keys of this system, the browsers that subscribed, and what is on its way to them. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // One row for the whole system: browsers are bound to its public key.
  `CREATE TABLE push_keys (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    public_key text NOT NULL,
    sealed_private bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
  )`,
  // A subscription ends with the log-in or the token that made it.
  `CREATE TABLE push_subscriptions (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    session_id text REFERENCES sessions ON DELETE CASCADE,
    token_id text REFERENCES tokens ON DELETE CASCADE,
    endpoint text NOT NULL UNIQUE,
    p256dh text NOT NULL,
    sealed_auth bytea NOT NULL,
    kinds text[] NOT NULL DEFAULT '{}',
    user_agent text NOT NULL DEFAULT '',
    error text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    put_at timestamptz NOT NULL DEFAULT now(),
    last_success_at timestamptz,
    CHECK ((session_id IS NULL) <> (token_id IS NULL))
  )`,
  `CREATE INDEX push_subscriptions_by_user ON push_subscriptions (user_id)`,
  `CREATE INDEX push_subscriptions_by_session ON push_subscriptions (session_id) WHERE session_id IS NOT NULL`,
  `CREATE INDEX push_subscriptions_by_token ON push_subscriptions (token_id) WHERE token_id IS NOT NULL`,
  // The outbox: a row goes when it is sent, given up, or not news any more.
  `CREATE TABLE push_messages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subscription_id text NOT NULL REFERENCES push_subscriptions ON DELETE CASCADE,
    entry_id text NOT NULL REFERENCES inbox_entries ON DELETE CASCADE,
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    expires_at timestamptz NOT NULL,
    UNIQUE (subscription_id, entry_id)
  )`,
  `CREATE INDEX push_messages_due ON push_messages (next_at)`,
  `CREATE INDEX push_messages_by_entry ON push_messages (entry_id)`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
