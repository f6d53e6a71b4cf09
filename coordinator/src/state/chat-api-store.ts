/** Statements of ChatService. */

import type { Sql, Tx } from "@mesh/store";

import type { ChatScope } from "./chat-store.ts";

/** A chat as stored. */
export interface ChatRow {
  readonly id: string;
  readonly assistant_id: string;
  readonly created_at: Date;
  readonly updated_at: Date;
  /** `updated_at` in microseconds since 1970, for cursors. */
  readonly updated_us: string;
  readonly messages: number;
}

/** One message as stored. */
export interface ChatMessageRow {
  readonly seq: string;
  readonly run_id: string;
  readonly created_at: Date;
  readonly body: string;
  /** Messages of the page before it was cut for its size. */
  readonly found: number;
}

function columns(sql: Sql): ReturnType<Sql> {
  return sql`c.id, c.assistant_id, c.created_at, c.updated_at,
    (extract(epoch FROM c.updated_at) * 1000000)::bigint::text AS updated_us,
    (SELECT count(*)::int FROM chat_messages m
      WHERE m.workspace_id = c.workspace_id AND m.user_id = c.user_id AND m.chat_id = c.id) AS messages`;
}

/** A page of a person's chats, the one spoken in last first. */
export async function listChats(
  sql: Sql,
  page: Omit<ChatScope, "chatId"> & {
    readonly assistants: readonly string[] | undefined;
    readonly before: { readonly us: string; readonly id: string } | undefined;
    readonly limit: number;
  },
): Promise<readonly ChatRow[]> {
  const { before, assistants } = page;
  return sql<ChatRow[]>`
    SELECT ${columns(sql)} FROM chats c WHERE c.workspace_id = ${page.workspaceId} AND c.user_id = ${page.userId}
      ${assistants === undefined ? sql`` : sql`AND c.assistant_id = ANY (${[...assistants]})`}
      ${
        before === undefined
          ? sql``
          : sql`AND ((extract(epoch FROM c.updated_at) * 1000000)::bigint, c.id) < (${before.us}::bigint, ${before.id})`
      }
    ORDER BY (extract(epoch FROM c.updated_at) * 1000000)::bigint DESC, c.id DESC LIMIT ${page.limit}`;
}

/** One chat of a person. */
export async function findChat(sql: Sql, chat: ChatScope): Promise<ChatRow | undefined> {
  const [row] = await sql<ChatRow[]>`
    SELECT ${columns(sql)} FROM chats c
    WHERE c.workspace_id = ${chat.workspaceId} AND c.user_id = ${chat.userId} AND c.id = ${chat.chatId}`;
  return row;
}

/** Bodies of one page; a larger message makes a page of its own. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** A page of what was said, newest first; fewer messages where they are large. */
export async function listChatMessages(
  sql: Sql,
  chat: ChatScope,
  { before, limit }: { readonly before: string; readonly limit: number },
): Promise<readonly ChatMessageRow[]> {
  return sql<ChatMessageRow[]>`
    SELECT seq::text AS seq, run_id, created_at, body, found FROM (
      SELECT p.*, count(*) OVER ()::int AS found, sum(octet_length(body)) OVER (ORDER BY seq DESC) - octet_length(body) AS bytes_before FROM (
        SELECT seq, run_id, created_at, body FROM chat_messages
        WHERE workspace_id = ${chat.workspaceId} AND user_id = ${chat.userId} AND chat_id = ${chat.chatId}
          ${before === "" ? sql`` : sql`AND seq < ${before}::bigint`}
        ORDER BY seq DESC LIMIT ${limit}
      ) p
    ) q WHERE bytes_before < ${MAX_PAGE_BYTES} ORDER BY q.seq DESC`;
}

/** Forgets a chat and what was said in it. */
export async function deleteChat(tx: Tx, chat: ChatScope): Promise<void> {
  await tx`
    DELETE FROM chats WHERE workspace_id = ${chat.workspaceId} AND user_id = ${chat.userId} AND id = ${chat.chatId}`;
}
