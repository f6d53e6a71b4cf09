/** Task agents, and links that share tasks and agents. */

import { type Kysely, sql } from "kysely";

const STATEMENTS: readonly string[] = [
  // id is that of the assistant.
  `CREATE TABLE task_agents (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    id text NOT NULL,
    app_id text NOT NULL REFERENCES apps ON DELETE CASCADE,
    task_id text REFERENCES tasks ON DELETE SET NULL,
    created_by text NOT NULL,
    PRIMARY KEY (workspace_id, id)
  )`,
  `CREATE INDEX task_agents_app ON task_agents (app_id)`,
  `CREATE INDEX task_agents_task ON task_agents (task_id) WHERE task_id IS NOT NULL`,
  // Of a task or of an agent, never both. What a link allows ends with the rights of the person who made it. Runs are counted
  // within an hour from window_at.
  `CREATE TABLE shares (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE,
    task_id text REFERENCES tasks ON DELETE CASCADE,
    agent_id text,
    access text NOT NULL CHECK (access IN ('view', 'run')),
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    opened integer NOT NULL DEFAULT 0,
    last_opened_at timestamptz,
    window_at timestamptz NOT NULL DEFAULT now(),
    window_runs integer NOT NULL DEFAULT 0,
    CHECK ((task_id IS NULL) <> (agent_id IS NULL)),
    CHECK (access = 'view' OR agent_id IS NOT NULL),
    FOREIGN KEY (workspace_id, agent_id) REFERENCES task_agents ON DELETE CASCADE
  ) WITH (fillfactor = 80)`,
  `CREATE INDEX shares_of_workspace ON shares (workspace_id, id DESC)`,
  `CREATE TABLE share_runs (
    share_id text NOT NULL REFERENCES shares ON DELETE CASCADE,
    run_id text PRIMARY KEY REFERENCES runs ON DELETE CASCADE
  )`,
  `CREATE INDEX share_runs_of_share ON share_runs (share_id)`,
];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
