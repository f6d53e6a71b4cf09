/** What a run is asked: a whole conversation, or one input. */

import type { JsonObject } from "@mesh/kernel";

import { type ChatMessage, readChatMessages } from "../chat-message.ts";
import type { RunInput } from "../run-input.ts";

/** The messages of a run, and its options without them. */
export interface Conversation {
  readonly messages: readonly ChatMessage[];
  readonly options: JsonObject;
}

/** The conversation of a run: `messages` of its input, else the option `messages`, else the input alone. */
export function conversationOf({ input, messages: given, options: all }: RunInput): Conversation {
  const { messages: asked, ...options } = all;
  if (given !== undefined) return { messages: given, options };
  if (asked === undefined || asked === null) return { messages: [{ role: "user", content: input }], options };
  return { messages: readChatMessages(asked, 'the option "messages"'), options };
}
