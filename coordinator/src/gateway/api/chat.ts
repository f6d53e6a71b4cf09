/** Handlers of ChatService. */

import type {
  DeleteChatRequest,
  DeleteChatResponse,
  GetChatRequest,
  GetChatResponse,
  ListChatMessagesRequest,
  ListChatMessagesResponse,
  ListChatsRequest,
  ListChatsResponse,
} from "@mesh/proto";

import type { Unary } from "../operation.ts";

/** Handlers of ChatService. */
export interface ChatApi {
  readonly listChats: Unary<ListChatsRequest, ListChatsResponse>;
  readonly getChat: Unary<GetChatRequest, GetChatResponse>;
  readonly listChatMessages: Unary<ListChatMessagesRequest, ListChatMessagesResponse>;
  readonly deleteChat: Unary<DeleteChatRequest, DeleteChatResponse>;
}
