/** ChatService: a person's own chats. Whose they are is the caller; nobody else sees them, administrators included. */

import { type Ids, type JsonObject, MeshError, rfc3339 } from "@mesh/kernel";
import type { Chat } from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import { actorOf, type Caller, mayUseAssistant } from "../auth/caller.ts";
import type { ChatApi } from "../gateway/api/chat.ts";
import { type ChatRow, deleteChat, findChat, listChatMessages, listChats } from "./chat-api-store.ts";

/** What the handlers use. */
export interface ChatApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
}

const DEFAULT_LIMIT = 50;

/** Builds the handlers. */
export function createChatApi(deps: ChatApiDeps): ChatApi {
  const { store, access } = deps;
  const ownChat = async (
    caller: Caller,
    request: { readonly workspace: string; readonly chat: string },
    need: "read" | "write",
  ): Promise<{ readonly workspaceId: string; readonly row: ChatRow }> => {
    const workspace = await access.workspace(caller, request.workspace, need);
    const row = await findChat(store.sql, { workspaceId: workspace.id, userId: actorOf(caller), chatId: request.chat });
    if (row !== undefined && mayUseAssistant(caller, row.assistant_id)) return { workspaceId: workspace.id, row };
    const shown = request.chat.slice(0, 100);
    throw new MeshError("not_found", `you have no chat ${shown} in workspace ${workspace.name}`);
  };
  return {
    listChats: async (request, { caller }) => {
      const workspace = await access.workspace(caller, request.workspace, "read");
      const limit = request.limit === 0 ? DEFAULT_LIMIT : request.limit;
      const before = readCursor(request.cursor);
      const { assistants } = caller;
      const scope = { workspaceId: workspace.id, userId: actorOf(caller), assistants };
      const rows = await listChats(store.sql, { ...scope, before, limit });
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return { chats: rows.map(toChat), next_cursor: last === undefined ? "" : writeCursor(last) };
    },
    getChat: async (request, { caller }) => ({ chat: toChat((await ownChat(caller, request, "read")).row) }),
    listChatMessages: async (request, { caller }) => {
      const { workspaceId, row } = await ownChat(caller, request, "read");
      const limit = request.limit === 0 ? DEFAULT_LIMIT : request.limit;
      const chat = { workspaceId, userId: actorOf(caller), chatId: row.id };
      const rows = await listChatMessages(store.sql, chat, { before: readSeq(request.cursor), limit });
      const messages = rows.map(({ seq, run_id, created_at: at, body }) => ({
        id: seq,
        run_id,
        at: rfc3339(at.getTime()),
        // Written by this program, as an object.
        message: JSON.parse(body) as JsonObject,
      }));
      const last = rows.at(-1);
      const isCut = last !== undefined && (last.found === limit || rows.length < last.found);
      return { messages, next_cursor: isCut ? last.seq : "" };
    },
    deleteChat: async (request, { caller }) => {
      const { workspaceId, row } = await ownChat(caller, request, "write");
      await store.sql.begin(async (tx) => {
        await deleteChat(tx, { workspaceId, userId: actorOf(caller), chatId: row.id });
        await insertAudit(tx, {
          id: deps.ids.next("audit"),
          actor: actorOf(caller),
          action: "chat.delete",
          object: row.id,
          workspaceId,
        });
      });
      return {};
    },
  };
}

function toChat(row: ChatRow): Chat {
  return {
    id: row.id,
    assistant: row.assistant_id,
    created_at: rfc3339(row.created_at.getTime()),
    updated_at: rfc3339(row.updated_at.getTime()),
    messages: row.messages,
  };
}

// Microseconds of its last word, and its id: chats may be spoken in at the same moment.
function writeCursor({ updated_us: us, id }: ChatRow): string {
  return Buffer.from(JSON.stringify([us, id])).toString("base64url");
}

function readCursor(text: string): { readonly us: string; readonly id: string } | undefined {
  if (text === "") return undefined;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    const [us, id] = Array.isArray(parsed) ? (parsed as readonly unknown[]) : [];
    if (typeof us === "string" && /^\d{1,18}$/.test(us) && typeof id === "string" && !id.includes("\u0000")) {
      return { us, id };
    }
  } catch {
    // Said below.
  }
  throw badCursor();
}

function readSeq(text: string): string {
  if (/^\d{0,18}$/.test(text)) return text;
  throw badCursor();
}

function badCursor(): MeshError {
  return new MeshError("invalid_argument", "the cursor is none of this list; leave it out to begin anew");
}
