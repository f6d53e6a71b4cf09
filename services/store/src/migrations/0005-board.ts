/** The feed of a workspace's changes and the task board. */

import { type Kysely, sql } from "kysely";

const FEED: readonly string[] = [
  // Written with each change, in its transaction; in no order. Read and emptied by the leader, which numbers the changes. No
  // foreign key: a row may outlive its workspace, and then is thrown away.
  `CREATE TABLE feed_outbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id text NOT NULL,
    kind text NOT NULL,
    object text NOT NULL
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`,
  // first_seq is the oldest that is kept.
  `CREATE TABLE feed_heads (
    workspace_id text PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    last_seq integer NOT NULL,
    first_seq integer NOT NULL DEFAULT 1
  ) WITH (fillfactor = 50)`,
  // JSON as text: what programs write, jsonb may refuse.
  `CREATE TABLE feed_events (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    seq integer NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    kind text NOT NULL,
    object text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (workspace_id, seq)
  )`,
  // What the feeds have told of a device, so that a change of leader tells nothing twice and forgets nothing.
  `CREATE TABLE feed_nodes (
    node_id text PRIMARY KEY,
    told text NOT NULL,
    workspace_ids text[] NOT NULL
  )`,
];

const STATEMENTS: readonly string[] = [...FEED];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
