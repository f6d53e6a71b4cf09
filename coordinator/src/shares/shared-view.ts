/**
 * What a share link shows of a conversation. Pure.
 *
 * V1  Texts and the names of tools; never what tools were called with or gave back, never what the model thought.
 * V2  What looks like a secret or like a path of somebody's home directory is taken out of texts.
 */

import { isObject } from "@mesh/kernel";
import { scrubText } from "@mesh/observability";
import type { SharedMessage } from "@mesh/proto";

/** A stored message of a conversation. */
export interface StoredMessage {
  readonly role: string;
  readonly at: string;
  readonly body: unknown;
}

const MORE_SECRETS: readonly RegExp[] = [
  /\byao_[A-Za-z0-9_-]{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bxox[abprs]-[\w-]{10,}/g,
  /\bA(?:KIA|SIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
];
const HOMES: readonly RegExp[] = [
  /(?<![\w.])\/(?:home|Users)\/[^\s/'"`)]+/g,
  /(?<![\w.])\/root(?=\/|\b)/g,
  /\b[A-Za-z]:\\Users\\[^\s\\'"`)]+/g,
];

/** The messages as a stranger may see them; those that show nothing are left out. */
export function sharedMessages(messages: readonly StoredMessage[]): SharedMessage[] {
  return messages.flatMap(({ role, at, body }) => {
    const message = isObject(body) ? shown(body) : undefined;
    return message === undefined ? [] : [{ role, at, message }];
  });
}

/** The text without secrets and home directories. */
export function sharedText(text: string): string {
  const scrubbed = MORE_SECRETS.reduce((rest, form) => rest.replace(form, "[redacted]"), scrubText(text));
  return HOMES.reduce((rest, home) => rest.replace(home, "~"), scrubbed);
}

function shown(body: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined {
  const props = isObject(body["props"]) ? body["props"] : {};
  switch (body["type"]) {
    case "text": {
      const content = props["content"];
      return typeof content === "string" && content.trim() !== ""
        ? { type: "text", props: { content: sharedText(content) } }
        : undefined;
    }
    case "tool_call": {
      const name = props["name"] ?? props["tool"];
      return typeof name === "string" ? { type: "tool_call", props: { name } } : undefined;
    }
    case "error":
      return { type: "error", props: { content: "the work failed here" } };
    default:
      return undefined;
  }
}
