/** Lists of a workspace of 100,000 tasks over HTTP, and what the feed costs runs that belong to no task. */

import { openStore, type Store } from "@mesh/store";

import { TestMesh } from "../harness/test-mesh.ts";
import type { Bench } from "./bench.ts";
import { atMost, type Row } from "./report.ts";
import { nowMs, quantile } from "./sample.ts";

const TASKS = 100_000;
const SHORT_TASKS = 10_000;
const MAX_PAGE_MS = 200;
const ROUNDS = 60;
const SHORT_ROUNDS = 20;
const PLAIN_RUNS = 20_000;

const LISTS: readonly (readonly [name: string, query: string])[] = [
  ["the newest", ""],
  ["one column in order", "column=In%20progress"],
  ["by category and priority", "category=todo&priority=high"],
  ["by state of the run", "run_state=failed"],
  ["idle ones", "run_state=idle"],
  ["blocked ones", "run_state=blocked"],
  ["by words", "query=hotel%20berl"],
  ["by Chinese words", "query=%E5%91%A8%E6%8A%A5"],
];

/** The bench. */
export const board: Bench = async ({ isShort, progress }) => {
  await using mesh = await TestMesh.start();
  await using store = openStore({ url: mesh.postgres.url, maxConnections: 2, statementTimeoutMs: 0 });
  const count = isShort ? SHORT_TASKS : TASKS;
  await mesh.api.call("GET", "/v1/workspaces/default/boards");
  progress(`board: ${count} tasks`);
  await seed(store, count);
  const rows: Row[] = [];
  for (const [name, query] of LISTS) {
    const path = `/v1/workspaces/default/tasks?limit=50&${query}`;
    const times: number[] = [];
    let total = 0;
    for (let i = 0; i < (isShort ? SHORT_ROUNDS : ROUNDS); i += 1) {
      const startMs = nowMs();
      total = (await mesh.api.call<{ total: number }>("GET", path)).total;
      times.push(nowMs() - startMs);
    }
    if (total === 0) throw new Error(`no task fits ${name}`);
    rows.push(
      atMost(`board: first page of ${count / 1000}k tasks, ${name}, p95`, "ms", quantile(times, 0.95), MAX_PAGE_MS),
    );
  }
  progress("board: what the feed costs runs without a task");
  rows.push(await triggerCost(store));
  return rows;
};

// Straight into the tables, without the triggers of the feed: what is measured is reading.
async function seed(store: Store, count: number): Promise<void> {
  await store.sql.begin(async (tx) => {
    await tx`SET LOCAL session_replication_role = replica`;
    await tx`
      INSERT INTO tasks (id, workspace_id, number, board_id, column_id, rank, title, title_by, priority, created_by)
      SELECT 'task_' || lpad(i::text, 26, '0'), b.workspace_id, i, b.id, c.id, 'a' || lpad(i::text, 8, '0'),
        'Task ' || i, 'person', (i / 7) % 5, 'user:admin'
      FROM generate_series(1, ${count}::int) AS i CROSS JOIN boards b
      JOIN LATERAL (SELECT id FROM board_columns WHERE board_id = b.id ORDER BY position OFFSET i % 5 LIMIT 1) c ON true`;
    await tx`
      INSERT INTO task_words (task_id, own)
      SELECT id, array_to_tsvector(ARRAY['task', number::text, 'word' || number % 997] ||
        CASE WHEN number % 50 = 0 THEN ARRAY['hotel', 'berlin'] WHEN number % 60 = 1 THEN ARRAY['周', '报', '周报'] ELSE '{}' END)
      FROM tasks`;
    await tx`
      INSERT INTO task_run_states (task_id, workspace_id, run_id, state)
      SELECT id, workspace_id, 'run_' || substr(id, 6), (ARRAY['succeeded', 'failed', 'cancelled'])[1 + number % 3]
      FROM tasks WHERE number % 4 <> 0`;
    await tx`
      INSERT INTO task_links (task_id, blocked_by)
      SELECT 'task_' || lpad(i::text, 26, '0'), 'task_' || lpad((i - 1)::text, 26, '0')
      FROM generate_series(2, ${count}::int, 20) AS i`;
    await tx`UPDATE tasks SET wants_start = true WHERE number % 40 = 2`;
  });
  // As autovacuum leaves them.
  await store.sql`VACUUM ANALYZE tasks, task_words, task_run_states, task_links`;
}

async function triggerCost(store: Store): Promise<Row> {
  const { sql } = store;
  await sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('bench', ''::bytea, 0)`;
  await sql`
    INSERT INTO runs (id, workspace_id, assistant_id, app_id, app_name, app_version, bundle_digest, input, queue_key, timeout_ms,
      queue_until, created_by, state, finished_at)
    SELECT 'run_b' || i, w.id, 'a', 'app', 'app', 1, 'bench', '', 'k', 1000, now(), 'user:admin', 'failed', now()
    FROM generate_series(1, ${PLAIN_RUNS}::int) AS i CROSS JOIN workspaces w WHERE w.is_default`;
  const change = async (): Promise<number> => {
    await sql`VACUUM runs`;
    const startMs = nowMs();
    await sql`UPDATE runs SET state = CASE state WHEN 'failed' THEN 'cancelled' ELSE 'failed' END WHERE id LIKE 'run_b%'`;
    return (nowMs() - startMs) / PLAIN_RUNS;
  };
  const withFeed: number[] = [];
  const without: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    withFeed.push(await change());
    await sql`ALTER TABLE runs DISABLE TRIGGER runs_feed_update`;
    without.push(await change());
    await sql`ALTER TABLE runs ENABLE TRIGGER runs_feed_update`;
  }
  return {
    name: "board: a state change of a run without a task",
    unit: "ms",
    ours: quantile(withFeed, 0.5),
    against: { what: "without the feed's trigger", value: quantile(without, 0.5) },
  };
}
