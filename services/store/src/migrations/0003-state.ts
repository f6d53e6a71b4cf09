/** What assistants remember and what was said: memory, stores, chats. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // JSON as text: jsonb refuses a NUL inside of a string, which programs may well write.
  `CREATE TABLE memory_entries (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    space text NOT NULL CHECK (space IN ('user', 'team', 'chat', 'store')),
    owner text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    expires_at timestamptz,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, space, owner, key)
  )`,
  `CREATE INDEX memory_entries_expiry ON memory_entries (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE chats (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    user_id text NOT NULL,
    id text NOT NULL,
    assistant_id text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, user_id, id)
  )`,
  `CREATE TABLE chat_messages (
    workspace_id text NOT NULL,
    user_id text NOT NULL,
    chat_id text NOT NULL,
    seq bigint GENERATED ALWAYS AS IDENTITY,
    run_id text NOT NULL,
    n integer NOT NULL,
    body text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (run_id, n),
    FOREIGN KEY (workspace_id, user_id, chat_id) REFERENCES chats ON DELETE CASCADE
  )`,
  `CREATE INDEX chat_messages_order ON chat_messages (workspace_id, user_id, chat_id, seq)`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
