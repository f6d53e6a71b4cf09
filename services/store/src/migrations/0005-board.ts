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

const BOARDS: readonly string[] = [
  `CREATE TABLE boards (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    auto_move boolean NOT NULL DEFAULT true,
    revision integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, name)
  )`,
  `CREATE TABLE board_columns (
    id text PRIMARY KEY,
    board_id text NOT NULL REFERENCES boards ON DELETE CASCADE,
    position integer NOT NULL,
    name text NOT NULL,
    category text NOT NULL CHECK (category IN ('backlog', 'todo', 'in_progress', 'in_review', 'done', 'cancelled')),
    wip_limit integer NOT NULL DEFAULT 0,
    UNIQUE (board_id, name)
  )`,
  // The newest number of a task's key; a row is locked while a task is made, so keys have no gaps.
  `CREATE TABLE task_counters (
    workspace_id text PRIMARY KEY REFERENCES workspaces ON DELETE CASCADE,
    last_number integer NOT NULL
  ) WITH (fillfactor = 50)`,
  // A board and a column with tasks stay: checked at commit, so that a workspace goes with all of them at once.
  `CREATE TABLE tasks (
    id text PRIMARY KEY,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    number integer NOT NULL,
    board_id text NOT NULL REFERENCES boards DEFERRABLE INITIALLY DEFERRED,
    column_id text NOT NULL REFERENCES board_columns DEFERRABLE INITIALLY DEFERRED,
    rank text COLLATE "C" NOT NULL,
    title text NOT NULL,
    title_by text NOT NULL CHECK (title_by IN ('rule', 'person', 'model')),
    description text NOT NULL DEFAULT '',
    summary text NOT NULL DEFAULT '',
    outputs jsonb NOT NULL DEFAULT '[]',
    priority integer NOT NULL DEFAULT 0 CHECK (priority BETWEEN 0 AND 4),
    labels text[] NOT NULL DEFAULT '{}',
    assistant text NOT NULL DEFAULT '',
    assignee text NOT NULL DEFAULT '',
    placement jsonb NOT NULL DEFAULT '{}',
    parent_id text REFERENCES tasks ON DELETE SET NULL,
    revision integer NOT NULL DEFAULT 1,
    wants_start boolean NOT NULL DEFAULT false,
    start_error text NOT NULL DEFAULT '',
    session integer NOT NULL DEFAULT 1,
    last_message integer NOT NULL DEFAULT 0,
    last_line text NOT NULL DEFAULT '',
    max_retries integer NOT NULL DEFAULT 0,
    retries integer NOT NULL DEFAULT 0,
    retry_at timestamptz,
    due_at timestamptz,
    agent text,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    archived_at timestamptz,
    UNIQUE (workspace_id, number)
  ) WITH (fillfactor = 80)`,
  `CREATE INDEX tasks_newest ON tasks (workspace_id, id DESC) WHERE archived_at IS NULL`,
  `CREATE INDEX tasks_archived ON tasks (workspace_id, id DESC) WHERE archived_at IS NOT NULL`,
  `CREATE INDEX tasks_of_column ON tasks (column_id, rank, id) WHERE archived_at IS NULL`,
  `CREATE INDEX tasks_of_board ON tasks (board_id)`,
  `CREATE INDEX tasks_of_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL`,
  `CREATE INDEX tasks_to_start ON tasks (id) WHERE wants_start`,
  `CREATE INDEX tasks_to_retry ON tasks (retry_at) WHERE retry_at IS NOT NULL`,
  `CREATE TABLE task_links (
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    blocked_by text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    PRIMARY KEY (task_id, blocked_by),
    CHECK (task_id <> blocked_by)
  )`,
  `CREATE INDEX task_links_back ON task_links (blocked_by)`,
  // Words of the fields and of the conversation, for search; CJK as pairs of characters.
  `CREATE TABLE task_words (
    task_id text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    own tsvector NOT NULL DEFAULT '',
    said tsvector NOT NULL DEFAULT '',
    words tsvector GENERATED ALWAYS AS (own || said) STORED
  )`,
  `CREATE INDEX task_words_index ON task_words USING gin (words)`,
  // run_id: of a person's message the run that took it up, of an assistant's the run that said it. key tells the messages of a run apart.
  `CREATE TABLE task_messages (
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    seq integer NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    author text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    run_id text,
    key text,
    body text NOT NULL,
    PRIMARY KEY (task_id, seq)
  )`,
  `CREATE UNIQUE INDEX task_messages_of_run ON task_messages (run_id, key) WHERE key IS NOT NULL`,
  `CREATE INDEX task_messages_open ON task_messages (task_id, seq) WHERE run_id IS NULL`,
  `CREATE TABLE task_activity (
    id text PRIMARY KEY,
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    at timestamptz NOT NULL DEFAULT now(),
    actor text NOT NULL,
    action text NOT NULL,
    detail jsonb NOT NULL DEFAULT '{}'
  )`,
  `CREATE INDEX task_activity_newest ON task_activity (task_id, id DESC)`,
  `CREATE TABLE task_schedules (
    task_id text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    cron text NOT NULL,
    time_zone text NOT NULL,
    missed text NOT NULL CHECK (missed IN ('skip', 'once')),
    overlap text NOT NULL CHECK (overlap IN ('skip', 'queue')),
    paused boolean NOT NULL,
    message text NOT NULL,
    set_by text NOT NULL,
    next_at timestamptz,
    last_at timestamptz
  )`,
  `CREATE INDEX task_schedules_due ON task_schedules (next_at) WHERE NOT paused`,
  // A due time is used up once, whoever leads.
  `CREATE TABLE schedule_firings (
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    due_at timestamptz NOT NULL,
    outcome text NOT NULL,
    PRIMARY KEY (task_id, due_at)
  )`,
  `CREATE TABLE task_templates (
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    name text NOT NULL,
    body jsonb NOT NULL,
    PRIMARY KEY (workspace_id, name)
  )`,
  `CREATE TABLE inbox_entries (
    id text PRIMARY KEY,
    user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
    workspace_id text NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    run_id text NOT NULL,
    epoch integer NOT NULL,
    kind text NOT NULL CHECK (kind IN ('needs_input', 'failed', 'done')),
    text text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    read_at timestamptz,
    archived_at timestamptz,
    UNIQUE (user_id, run_id, kind, epoch)
  )`,
  `CREATE INDEX inbox_newest ON inbox_entries (user_id, id DESC)`,
  `CREATE INDEX inbox_unread ON inbox_entries (user_id) WHERE read_at IS NULL AND archived_at IS NULL`,
];

const RUNS: readonly string[] = [
  `ALTER TABLE runs ADD COLUMN task_id text REFERENCES tasks ON DELETE CASCADE`,
  `CREATE INDEX runs_of_task ON runs (task_id, id DESC) WHERE task_id IS NOT NULL`,
  // A task has one active run, whoever starts it.
  `CREATE UNIQUE INDEX runs_one_per_task ON runs (task_id)
    WHERE task_id IS NOT NULL AND state IN ('queued', 'placed', 'accepted', 'running', 'waiting')`,
  // What has been made of a task's run so far: its messages up to folded_seq, its state up to seen_state and seen_epoch.
  `CREATE TABLE task_runs (
    run_id text PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    seen_state text NOT NULL DEFAULT '',
    seen_epoch integer NOT NULL DEFAULT 0,
    folded_seq integer NOT NULL DEFAULT 0,
    settled boolean NOT NULL DEFAULT false
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX task_runs_open ON task_runs (run_id) WHERE NOT settled`,
  // The newest run of each task, for filters; written by the trigger below and by nothing else.
  `CREATE TABLE task_run_states (
    task_id text PRIMARY KEY REFERENCES tasks ON DELETE CASCADE,
    workspace_id text NOT NULL,
    run_id text NOT NULL,
    state text NOT NULL
  ) WITH (fillfactor = 70)`,
  `CREATE INDEX task_run_states_filter ON task_run_states (workspace_id, state, task_id DESC)`,
];

const TRIGGERS: readonly string[] = [
  `CREATE FUNCTION feed_run() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO task_run_states AS s (task_id, workspace_id, run_id, state) VALUES (NEW.task_id, NEW.workspace_id, NEW.id, NEW.state)
      ON CONFLICT (task_id) DO UPDATE SET run_id = excluded.run_id, state = excluded.state WHERE s.run_id <= excluded.run_id;
    INSERT INTO feed_outbox (workspace_id, kind, object)
      SELECT NEW.workspace_id, 'task', NEW.task_id UNION ALL SELECT NEW.workspace_id, 'run', NEW.id
      UNION ALL SELECT NEW.workspace_id, 'task', l.task_id FROM task_links l WHERE l.blocked_by = NEW.task_id;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER runs_feed_insert AFTER INSERT ON runs FOR EACH ROW WHEN (NEW.task_id IS NOT NULL) EXECUTE FUNCTION feed_run()`,
  `CREATE TRIGGER runs_feed_update AFTER UPDATE OF state, reason ON runs FOR EACH ROW
    WHEN (NEW.task_id IS NOT NULL AND (OLD.state IS DISTINCT FROM NEW.state OR OLD.reason IS DISTINCT FROM NEW.reason))
    EXECUTE FUNCTION feed_run()`,
  `CREATE FUNCTION feed_question() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO feed_outbox (workspace_id, kind, object)
      SELECT r.workspace_id, 'task', r.task_id FROM runs r WHERE r.id = NEW.run_id AND r.task_id IS NOT NULL;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER questions_feed AFTER UPDATE OF answer ON run_questions FOR EACH ROW EXECUTE FUNCTION feed_question()`,
  // Whatever is blocked by a task shows where it stands.
  `CREATE FUNCTION feed_task() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'DELETE' THEN
      INSERT INTO feed_outbox (workspace_id, kind, object) VALUES (OLD.workspace_id, 'task', OLD.id);
      RETURN NULL;
    END IF;
    INSERT INTO feed_outbox (workspace_id, kind, object) VALUES (NEW.workspace_id, 'task', NEW.id);
    IF TG_OP = 'UPDATE' AND (OLD.column_id, OLD.title, OLD.archived_at) IS DISTINCT FROM (NEW.column_id, NEW.title, NEW.archived_at) THEN
      INSERT INTO feed_outbox (workspace_id, kind, object)
        SELECT NEW.workspace_id, 'task', l.task_id FROM task_links l WHERE l.blocked_by = NEW.id;
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER tasks_feed AFTER INSERT OR UPDATE OR DELETE ON tasks FOR EACH ROW EXECUTE FUNCTION feed_task()`,
  `CREATE FUNCTION feed_of_task() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO feed_outbox (workspace_id, kind, object)
      SELECT t.workspace_id, 'task', t.id FROM tasks t WHERE t.id = coalesce(NEW.task_id, OLD.task_id);
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER task_links_feed AFTER INSERT OR DELETE ON task_links FOR EACH ROW EXECUTE FUNCTION feed_of_task()`,
  `CREATE TRIGGER task_schedules_feed AFTER INSERT OR UPDATE OR DELETE ON task_schedules FOR EACH ROW EXECUTE FUNCTION feed_of_task()`,
  `CREATE FUNCTION feed_board() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO feed_outbox (workspace_id, kind, object)
      VALUES (coalesce(NEW.workspace_id, OLD.workspace_id), 'board', coalesce(NEW.id, OLD.id));
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER boards_feed AFTER INSERT OR UPDATE OR DELETE ON boards FOR EACH ROW EXECUTE FUNCTION feed_board()`,
  // One inbox per person: the feed says whose changed, not what is in it.
  `CREATE FUNCTION feed_inbox() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO feed_outbox (workspace_id, kind, object)
      SELECT DISTINCT workspace_id, 'inbox', user_id FROM changed;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER inbox_feed_insert AFTER INSERT ON inbox_entries REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION feed_inbox()`,
  `CREATE TRIGGER inbox_feed_update AFTER UPDATE ON inbox_entries REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION feed_inbox()`,
];

const STATEMENTS: readonly string[] = [...FEED, ...BOARDS, ...RUNS, ...TRIGGERS];

/** Creates them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
