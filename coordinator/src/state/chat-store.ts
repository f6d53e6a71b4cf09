/**
 * What was said in a chat: the messages that later runs of the same person in the same chat begin with.
 *
 * A run writes its messages once: what it sends again after a lost answer changes nothing.
 */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import type { Sql } from "@mesh/store";

/** A chat of one person in one workspace. */
export interface ChatScope {
  readonly workspaceId: string;
  readonly userId: string;
  readonly chatId: string;
}

const DEFAULT_HISTORY = 20;
const MAX_HISTORY = 200;
const MAX_APPEND = 100;
const MAX_BODY_CHARS = 512 * 1024;
// Together below what one answer of the bus holds.
const MAX_HISTORY_BYTES = 700 * 1024;

/** The newest messages, oldest first. */
export async function chatHistory(sql: Sql, chat: ChatScope, limit: Json | undefined): Promise<Json[]> {
  const wanted = typeof limit === "number" && limit > 0 ? Math.min(Math.floor(limit), MAX_HISTORY) : DEFAULT_HISTORY;
  const rows = await sql<{ body: string }[]>`
    SELECT body FROM chat_messages
    WHERE workspace_id = ${chat.workspaceId} AND user_id = ${chat.userId} AND chat_id = ${chat.chatId}
    ORDER BY seq DESC LIMIT ${wanted}`;
  let bytes = 0;
  const kept = rows.filter(({ body }) => (bytes += Buffer.byteLength(body)) <= MAX_HISTORY_BYTES);
  return kept.toReversed().map(({ body }) => JSON.parse(body) as Json);
}

/** Keeps what a run said; once, however often it is asked. */
export async function appendToChat(
  sql: Sql,
  chat: ChatScope & { readonly runId: string; readonly assistantId: string },
  messages: Json | undefined,
): Promise<void> {
  const bodies = readMessages(messages);
  if (bodies.length === 0) return;
  const { workspaceId, userId, chatId, runId, assistantId } = chat;
  await sql.begin(async (tx) => {
    await tx`
      INSERT INTO chats (workspace_id, user_id, id, assistant_id) VALUES (${workspaceId}, ${userId}, ${chatId}, ${assistantId})
      ON CONFLICT (workspace_id, user_id, id) DO UPDATE SET updated_at = now()`;
    for (const [n, body] of bodies.entries()) {
      await tx`
        INSERT INTO chat_messages (workspace_id, user_id, chat_id, run_id, n, body)
        VALUES (${workspaceId}, ${userId}, ${chatId}, ${runId}, ${n}, ${body})
        ON CONFLICT (run_id, n) DO NOTHING`;
    }
  });
}

function readMessages(messages: Json | undefined): readonly string[] {
  if (!Array.isArray(messages) || messages.length > MAX_APPEND || !messages.every(isObject)) {
    throw new MeshError("invalid_argument", `a run keeps at most ${MAX_APPEND} messages {role, content}`);
  }
  return messages.map((message) => {
    const body = JSON.stringify(message);
    if (body.length <= MAX_BODY_CHARS) return body;
    throw new MeshError(
      "resource_exhausted",
      `a message of more than ${MAX_BODY_CHARS / 1024} KiB cannot be kept in a chat`,
    );
  });
}
