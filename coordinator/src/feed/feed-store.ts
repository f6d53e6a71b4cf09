/** Statements about feeds. */

import type { Sql, Tx } from "@mesh/store";

// Any constant will do; it only has to differ from the other advisory locks of this database.
const FEED_LOCK = 7_402_005;

/** One recorded change without its number. */
export interface OutboxRow {
  readonly workspace_id: string;
  readonly kind: string;
  readonly object: string;
}

/** One event as stored. */
export interface FeedRow {
  readonly seq: number;
  readonly at: Date;
  readonly kind: string;
  readonly object: string;
  readonly data: string;
}

/** What a feed holds: nothing is kept before `firstSeq`, and nothing is there after `lastSeq`. */
export interface FeedBounds {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Now, by the database's clock. */
  readonly at: Date;
}

/** Whether this transaction is the one that numbers changes now. */
export async function lockFeeds(tx: Tx): Promise<boolean> {
  const [row] = await tx<{ locked: boolean }[]>`SELECT pg_try_advisory_xact_lock(${FEED_LOCK}) AS locked`;
  return row?.locked === true;
}

/** Takes the oldest recorded changes, of workspaces that exist. */
export async function takeOutbox(tx: Tx, limit: number): Promise<{ taken: number; rows: readonly OutboxRow[] }> {
  const rows = await tx<(OutboxRow & { exists: boolean })[]>`
    WITH taken AS (
      DELETE FROM feed_outbox WHERE id IN (SELECT id FROM feed_outbox ORDER BY id LIMIT ${limit})
      RETURNING id, workspace_id, kind, object
    ) SELECT t.workspace_id, t.kind, t.object, w.id IS NOT NULL AS exists
    FROM taken t LEFT JOIN workspaces w ON w.id = t.workspace_id ORDER BY t.id`;
  return { taken: rows.length, rows: rows.filter((row) => row.exists) };
}

/** An event that gets its number now. */
export interface NewFeedEvent {
  readonly workspaceId: string;
  readonly kind: string;
  readonly object: string;
  readonly data: string;
}

/** Appends events, in the order given, to the feeds of their workspaces. */
export async function appendFeed(tx: Tx, events: readonly NewFeedEvent[]): Promise<void> {
  await tx`
    WITH given AS (
      SELECT e.*, row_number() OVER (PARTITION BY e.workspace_id ORDER BY e.place)::int AS n
      FROM unnest(${events.map((e) => e.workspaceId)}::text[], ${events.map((e) => e.kind)}::text[],
        ${events.map((e) => e.object)}::text[], ${events.map((e) => e.data)}::text[])
        WITH ORDINALITY AS e (workspace_id, kind, object, data, place)
      WHERE EXISTS (SELECT 1 FROM workspaces w WHERE w.id = e.workspace_id)
    ), heads AS (
      INSERT INTO feed_heads AS h (workspace_id, last_seq)
      SELECT workspace_id, max(n) FROM given GROUP BY workspace_id ORDER BY workspace_id
      ON CONFLICT (workspace_id) DO UPDATE SET last_seq = h.last_seq + excluded.last_seq
      RETURNING workspace_id, last_seq
    ), counts AS (SELECT workspace_id, max(n) AS k FROM given GROUP BY workspace_id)
    INSERT INTO feed_events (workspace_id, seq, at, kind, object, data)
    SELECT g.workspace_id, h.last_seq - c.k + g.n, clock_timestamp(), g.kind, g.object, g.data
    FROM given g JOIN heads h USING (workspace_id) JOIN counts c USING (workspace_id)`;
}

/** What a workspace's feed holds; undefined when there is no such workspace. */
export async function feedBounds(sql: Sql | Tx, workspaceId: string): Promise<FeedBounds | undefined> {
  const [row] = await sql<FeedBounds[]>`
    SELECT coalesce(h.first_seq, 1) AS "firstSeq", coalesce(h.last_seq, 0) AS "lastSeq", now() AS at
    FROM workspaces w LEFT JOIN feed_heads h ON h.workspace_id = w.id WHERE w.id = ${workspaceId}`;
  return row;
}

/** The newest number of a workspace's feed. */
export async function feedSeq(sql: Sql | Tx, workspaceId: string): Promise<number> {
  return (await feedBounds(sql, workspaceId))?.lastSeq ?? 0;
}

/** Events after a cursor, oldest first. */
export async function listFeed(
  sql: Sql | Tx,
  workspaceId: string,
  afterSeq: number,
  limit: number,
): Promise<readonly FeedRow[]> {
  return sql<FeedRow[]>`
    SELECT seq, at, kind, object, data FROM feed_events
    WHERE workspace_id = ${workspaceId} AND seq > ${afterSeq} ORDER BY seq LIMIT ${limit}`;
}

/** A place in the feed of a workspace. */
export interface FeedCursor {
  readonly workspaceId: string;
  readonly afterSeq: number;
}

/** A page of events for each cursor, with the cursor. */
export async function readFeeds(
  sql: Sql,
  cursors: readonly FeedCursor[],
  limit: number,
): Promise<readonly (FeedRow & FeedCursor)[]> {
  return sql<(FeedRow & FeedCursor)[]>`
    SELECT c.workspace_id AS "workspaceId", c.after_seq AS "afterSeq", e.* FROM unnest(
      ${cursors.map((c) => c.workspaceId)}::text[], ${cursors.map((c) => c.afterSeq)}::int[]
    ) AS c (workspace_id, after_seq) CROSS JOIN LATERAL (
      SELECT seq, at, kind, object, data FROM feed_events
      WHERE workspace_id = c.workspace_id AND seq > c.after_seq ORDER BY seq LIMIT ${limit}
    ) e ORDER BY c.workspace_id, e.seq`;
}

/** Drops what is older than `ageMs`, and all but the newest `keep` of each workspace; a bounded number per call. */
export async function dropOldFeed(sql: Sql, ageMs: number, keep: number, batch: number): Promise<number> {
  const rows = await sql<{ dropped: number }[]>`
    WITH old AS (
      SELECT h.workspace_id, least(h.last_seq, h.first_seq + ${batch}, greatest(h.last_seq - ${keep}::int, coalesce((
        SELECT max(e.seq) FROM feed_events e
        WHERE e.workspace_id = h.workspace_id AND e.seq < h.first_seq + ${batch} AND e.at < now() - ${ageMs} * interval '1 ms'
      ), 0))) AS upto, h.first_seq FROM feed_heads h
    ), moved AS (
      UPDATE feed_heads h SET first_seq = o.upto + 1 FROM old o
      WHERE h.workspace_id = o.workspace_id AND o.upto >= h.first_seq RETURNING h.workspace_id, o.upto
    ), gone AS (
      DELETE FROM feed_events e USING moved m WHERE e.workspace_id = m.workspace_id AND e.seq <= m.upto RETURNING 1
    ) SELECT count(*)::int AS dropped FROM gone`;
  return rows[0]?.dropped ?? 0;
}
