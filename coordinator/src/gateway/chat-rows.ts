/** Rows of ChatService. */

import { DeleteChatRequest, GetChatRequest, ListChatMessagesRequest, ListChatsRequest } from "@mesh/proto";
import { z } from "zod";

import type { ChatApi } from "./api/chat.ts";
import { optionalInt, optionalText, reference } from "./field.ts";
import { type OperationRow, row } from "./operation-row.ts";

const byChat = z.strictObject({ workspace: reference, chat: reference });
const page = { limit: optionalInt(0, 200), cursor: optionalText(200) };
/** The handlers hold a token to its assistants. */
const KNOWS = { knowsAssistants: true } as const;

/** What ChatService accepts, and where. */
export const CHAT_ROWS: { readonly [M in keyof ChatApi]: OperationRow<Parameters<ChatApi[M]>[0]> } = {
  listChats: row(
    "GET /v1/workspaces/{workspace}/chats",
    {
      scope: "read",
      summary: "Lists the caller's own chats, the one spoken in last first.",
      input: z.strictObject({ workspace: reference, ...page }),
      message: ListChatsRequest,
    },
    KNOWS,
  ),
  getChat: row(
    "GET /v1/workspaces/{workspace}/chats/{chat}",
    { scope: "read", summary: "Reads one of the caller's own chats.", input: byChat, message: GetChatRequest },
    KNOWS,
  ),
  listChatMessages: row(
    "GET /v1/workspaces/{workspace}/chats/{chat}/messages",
    {
      scope: "read",
      summary: "Reads a page of what was said in a chat, newest first.",
      input: z.strictObject({ workspace: reference, chat: reference, ...page }),
      message: ListChatMessagesRequest,
    },
    KNOWS,
  ),
  deleteChat: row(
    "DELETE /v1/workspaces/{workspace}/chats/{chat}",
    {
      scope: "runs",
      summary: "Forgets what was said in a chat; its runs stay.",
      input: byChat,
      message: DeleteChatRequest,
    },
    KNOWS,
  ),
};
