/** InboxService: what needs the caller. */

import type { InboxEntry } from "@mesh/proto";
import type { Sql, Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { InboxApi } from "../gateway/operation.ts";

/** What the handlers use. */
export interface InboxApiDeps {
  readonly store: Pick<Store, "sql">;
  readonly access: Access;
  readonly recorded: () => void;
}

interface InboxFilter {
  readonly userId: string;
  /** Workspaces the caller may read; undefined: all. */
  readonly workspaceIds: readonly string[] | undefined;
  readonly kind: string;
  readonly archived: boolean;
}

interface InboxRow {
  readonly id: string;
  readonly kind: string;
  readonly task_id: string;
  readonly number: number;
  readonly title: string;
  readonly workspace_id: string;
  readonly text: string;
  readonly at: Date;
  readonly read: boolean;
  readonly archived: boolean;
  readonly run_id: string;
}

const PAGE = 50;

/** Builds the handlers. */
export function createInboxApi({ store, access, recorded }: InboxApiDeps): InboxApi {
  const { sql } = store;
  return {
    listInbox: async ({ workspace, kind, archived, limit, cursor }, { caller }) => {
      const workspaceIds =
        workspace === "" ? await access.readable(caller) : [(await access.workspace(caller, workspace, "read")).id];
      const filter = { userId: caller.userId, workspaceIds, kind, archived };
      const size = limit === 0 ? PAGE : limit;
      const rows = await listEntries(sql, filter, cursor, size);
      return {
        entries: rows.map(toEntry),
        next_cursor: rows.length === size ? (rows.at(-1)?.id ?? "") : "",
        unread: await countUnread(sql, filter),
      };
    },
    markInbox: async ({ entries, state }, { caller }) => {
      const filter = { userId: caller.userId, workspaceIds: await access.readable(caller), kind: "", archived: false };
      await mark(sql, filter, entries, state);
      recorded();
      return { unread: await countUnread(sql, filter) };
    },
  };
}

async function listEntries(sql: Sql, filter: InboxFilter, before: string, limit: number): Promise<readonly InboxRow[]> {
  const { userId, workspaceIds, kind, archived } = filter;
  return sql<InboxRow[]>`
    SELECT i.id, i.kind, i.task_id, t.number, t.title, i.workspace_id, i.text, i.at, i.read_at IS NOT NULL AS read,
      i.archived_at IS NOT NULL AS archived, i.run_id
    FROM inbox_entries i JOIN tasks t ON t.id = i.task_id
    WHERE i.user_id = ${userId} AND i.archived_at IS ${archived ? sql`NOT NULL` : sql`NULL`}
      ${workspaceIds === undefined ? sql`` : sql`AND i.workspace_id = ANY (${[...workspaceIds]})`}
      ${kind === "" ? sql`` : sql`AND i.kind = ${kind}`} ${before === "" ? sql`` : sql`AND i.id < ${before}`}
    ORDER BY i.id DESC LIMIT ${limit}`;
}

async function countUnread(sql: Sql, { userId, workspaceIds }: InboxFilter): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    SELECT count(*)::int AS n FROM inbox_entries i WHERE i.user_id = ${userId} AND i.read_at IS NULL AND i.archived_at IS NULL
      ${workspaceIds === undefined ? sql`` : sql`AND i.workspace_id = ANY (${[...workspaceIds]})`}`;
  return row?.n ?? 0;
}

async function mark(sql: Sql, filter: InboxFilter, ids: readonly string[], state: string): Promise<void> {
  const set =
    state === "read" || state === "unread"
      ? sql`read_at = ${state === "read" ? sql`coalesce(read_at, now())` : sql`NULL`}`
      : sql`archived_at = ${state === "archived" ? sql`coalesce(archived_at, now())` : sql`NULL`}`;
  const { userId, workspaceIds } = filter;
  await sql`
    UPDATE inbox_entries SET ${set} WHERE user_id = ${userId}
      ${workspaceIds === undefined ? sql`` : sql`AND workspace_id = ANY (${[...workspaceIds]})`}
      ${ids.length === 0 ? sql`` : sql`AND id = ANY (${[...ids]})`}`;
}

function toEntry({ number, at, run_id: runId, ...row }: InboxRow): InboxEntry {
  return { ...row, task_key: `T-${number}`, at: at.toISOString(), run_id: runId === row.task_id ? undefined : runId };
}
