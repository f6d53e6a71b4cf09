/**
 * What of a message is kept in its chat: all of it where it is short, else the beginning and end of its text. A run is not
 * lost because somebody pasted a book; files in a message are kept by whoever sent them.
 */

import { capText } from "@mesh/agent";
import { isObject } from "@mesh/kernel";

import { chatText, type ChatMessage } from "./chat-message.ts";
import { jsonBytes } from "./event-size.ts";

const MAX_KEPT_BYTES = 256 * 1024;

/** See the file comment. */
export function keptMessage(message: ChatMessage): ChatMessage {
  if (bytesOf(message) <= MAX_KEPT_BYTES) return message;
  const { role } = message;
  const text = [chatText(message), ...filesIn(message)].filter((part) => part !== "").join("\n");
  // Some characters take six bytes as JSON.
  for (let maxBytes = MAX_KEPT_BYTES - 1024; ; maxBytes = Math.floor(maxBytes / 2)) {
    const kept = { role, content: capText(text, { maxLines: Number.POSITIVE_INFINITY, maxBytes }) };
    if (bytesOf(kept) <= MAX_KEPT_BYTES) return kept;
  }
}

function bytesOf(message: ChatMessage): number {
  return jsonBytes({ ...message });
}

/** A word for each part that is no text. */
function filesIn({ content }: ChatMessage): readonly string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part) => {
    const type: unknown = isObject(part) ? part["type"] : undefined;
    return typeof type === "string" && type !== "text" ? [`[${type.slice(0, 40)}]`] : [];
  });
}
