/**
 * Encrypted reasoning of the Responses API, kept so that it can be sent back in its exact place: a reasoning item is only
 * accepted together with the item that followed it, under that item's own id.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import { nonEmpty } from "./json-field.ts";

/** What a thinking block keeps of a reasoning item. */
export interface KeptReasoning {
  readonly id: string;
  readonly summary: readonly Json[];
  readonly encrypted_content: string;
  /** Ids of the function-call items that followed, by call id. */
  readonly call_ids: Readonly<Record<string, string>>;
  /** Id of the first message item that followed. */
  readonly message_id?: string;
}

/** An output item of a response, as far as reasoning cares. */
export interface SeenItem {
  readonly type: string;
  readonly id: string;
  readonly callId?: string;
  /** Of a finished reasoning item. */
  readonly item?: Record<string, unknown>;
}

/** What to keep of the reasoning item at `index`; undefined when it cannot be sent back. */
export function keptReasoning(items: readonly (SeenItem | undefined)[], index: number): KeptReasoning | undefined {
  const item = items[index]?.item;
  const id = nonEmpty(item?.["id"]);
  const encrypted = nonEmpty(item?.["encrypted_content"]);
  if (item === undefined || id === undefined || encrypted === undefined) return undefined;
  const after = itemsUntilReasoning(items.slice(index + 1));
  const calls = after.filter((next) => next.type === "function_call");
  const messageId = after.find((next) => next.type === "message")?.id;
  return {
    id,
    summary: Array.isArray(item["summary"]) ? (item["summary"] as readonly Json[]) : [],
    encrypted_content: encrypted,
    call_ids: Object.fromEntries(calls.map((next) => [next.callId ?? "", next.id])),
    ...(messageId === undefined ? {} : { message_id: messageId }),
  };
}

function itemsUntilReasoning(items: readonly (SeenItem | undefined)[]): readonly SeenItem[] {
  const end = items.findIndex((item) => item?.type === "reasoning");
  const near = end < 0 ? items : items.slice(0, end);
  return near.filter((item): item is SeenItem => item !== undefined && item.id !== "");
}

/** Reads what a thinking block kept; undefined when it is not of this form. */
export function parseKept(text: string): KeptReasoning | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const id = nonEmpty(value["id"]);
  const encrypted = nonEmpty(value["encrypted_content"]);
  if (id === undefined || encrypted === undefined) return undefined;
  const messageId = nonEmpty(value["message_id"]);
  return {
    id,
    summary: Array.isArray(value["summary"]) ? (value["summary"] as readonly Json[]) : [],
    encrypted_content: encrypted,
    call_ids: isObject(value["call_ids"]) ? (value["call_ids"] as Record<string, string>) : {},
    ...(messageId === undefined ? {} : { message_id: messageId }),
  };
}

/** The item as it goes back. */
export function reasoningItem(kept: KeptReasoning): JsonObject {
  return { type: "reasoning", id: kept.id, summary: kept.summary, encrypted_content: kept.encrypted_content };
}
