/** Sending messages: the methods of `ctx` itself. */

import { isRecord, jsonOf, optionalText, recordOf, textOf } from "./api.ts";
import { invoke } from "./bridge.ts";
import type { Json } from "@mesh/kernel";

/** The messaging methods of a context. */
export function messaging(): Record<string, unknown> {
  return {
    __proto__: null,
    Send: (message: unknown, blockId?: unknown) =>
      invoke("ctx.Send", messageOf(message, "Send"), optionalText(blockId, "ctx.Send: block_id")),
    SendStream: (message: unknown, blockId?: unknown) =>
      invoke("ctx.SendStream", messageOf(message, "SendStream"), optionalText(blockId, "ctx.SendStream: block_id")),
    Append: (id: unknown, content: unknown, path?: unknown) =>
      invoke("ctx.Append", idOf(id, "Append"), contentOf(content, "Append"), optionalText(path, "ctx.Append: path")),
    Replace: (id: unknown, message: unknown) =>
      invoke("ctx.Replace", idOf(id, "Replace"), messageOf(message, "Replace")),
    Merge: (id: unknown, data: unknown, path?: unknown) =>
      invoke("ctx.Merge", idOf(id, "Merge"), recordOf(data, "ctx.Merge: data"), optionalText(path, "ctx.Merge: path")),
    Set: (id: unknown, data: unknown, path: unknown) =>
      invoke("ctx.Set", idOf(id, "Set"), jsonOf(data), textOf(path, "ctx.Set: path")),
    End: (id: unknown, final?: unknown) =>
      invoke("ctx.End", idOf(id, "End"), final === undefined || final === null ? null : contentOf(final, "End")),
    EndBlock: (id: unknown) => void invoke("ctx.EndBlock", textOf(id, "ctx.EndBlock: block_id")),
    MessageID: () => invoke("ctx.MessageID"),
    BlockID: () => invoke("ctx.BlockID"),
    ThreadID: () => invoke("ctx.ThreadID"),
  };
}

function idOf(value: unknown, method: string): string {
  return textOf(value, `ctx.${method}: message_id`);
}

function messageOf(value: unknown, method: string): Json {
  if (typeof value === "string") return value;
  if (isRecord(value) && typeof value["type"] === "string") return value as Json;
  throw new TypeError(`ctx.${method}: the message must be a string, or an object with a "type"`);
}

function contentOf(value: unknown, method: string): Json {
  if (typeof value === "string" || typeof value === "number" || isRecord(value)) return jsonOf(value);
  throw new TypeError(`ctx.${method}: the content must be a string or a message`);
}
