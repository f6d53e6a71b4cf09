/** Parts of an answer while they grow, and what they become when the answer ends. */

import { isObject, type JsonObject } from "@mesh/kernel";

import type { ApiProtocol, Content, ThinkingContent } from "./message.ts";

/** How much of a broken call is quoted. */
export const MAX_QUOTE = 200;

/** Text. */
export interface TextBlock {
  readonly kind: "text";
  text: string;
  metadata?: JsonObject;
}

/** Reasoning. */
export interface ThinkingBlock {
  readonly kind: "thinking";
  text: string;
  signature: string;
  redacted: string;
  isClosed: boolean;
}

/** A tool call. */
export interface CallBlock {
  readonly kind: "call";
  id: string;
  name: string;
  args: string;
  metadata?: JsonObject;
  isClosed: boolean;
  /** A part of the stream was lost while this call was open. */
  isDamaged: boolean;
}

/** Any part. */
export type Block = TextBlock | ThinkingBlock | CallBlock;

/** Arguments as an object; undefined when they are not one. */
export function parseArguments(text: string): JsonObject | undefined {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && !isTooDeep(value, text) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

const MAX_DEPTH = 500;

// JSON.parse reads any depth and JSON.stringify does not write it: such a call could never be sent again.
function isTooDeep(value: object, text: string): boolean {
  // Each level has a bracket at either end.
  if (text.length <= 2 * MAX_DEPTH) return false;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
  }
  return false;
}

/** An empty text. */
export function newText(): TextBlock {
  return { kind: "text", text: "" };
}

/** Empty reasoning. */
export function newThinking(): ThinkingBlock {
  return { kind: "thinking", text: "", signature: "", redacted: "", isClosed: false };
}

/** An empty call. */
export function newCall(): CallBlock {
  return { kind: "call", id: "", name: "", args: "", isClosed: false, isDamaged: false };
}

/** The text, if it says anything. */
export function textOf(block: TextBlock): readonly Content[] {
  if (block.text === "" && block.metadata === undefined) return [];
  return [
    {
      type: "text",
      text: block.text,
      ...(block.metadata === undefined ? {} : { providerMetadata: block.metadata }),
    },
  ];
}

/** The reasoning, if there is any. */
export function thinkingOf(block: ThinkingBlock, protocol: ApiProtocol): readonly ThinkingContent[] {
  if (block.text === "" && block.signature === "" && block.redacted === "") return [];
  return [
    {
      type: "thinking",
      thinking: block.text,
      ...(block.signature === "" ? {} : { signature: block.signature }),
      ...(block.redacted === "" ? {} : { redacted: block.redacted, redactedProtocol: protocol }),
    },
  ];
}

/** A call that must not run, as text. */
export function noteOf(block: CallBlock, why: string): Content {
  const quote = block.args.slice(0, MAX_QUOTE);
  return {
    type: "text",
    text: `[tool call ${block.name === "" ? "(unnamed)" : block.name} was not run: ${why}${quote === "" ? "" : `; arguments so far: ${quote}`}]`,
  };
}

/** The parts with ids of calls that differ. */
export function withUniqueIds(content: readonly Content[]): readonly Content[] {
  const seen = new Set<string>();
  return content.map((part) => {
    if (part.type !== "toolCall") return part;
    let { id } = part;
    for (let n = 2; seen.has(id); n += 1) id = `${part.id}_${n}`;
    seen.add(id);
    return id === part.id ? part : { ...part, id };
  });
}
