/** The group `text`: what a model wrote around what was asked for. Pure; scanners are linear in the text. */

import type { Json } from "@mesh/kernel";

import { parseLenient } from "./encoding-group.ts";
import { functionGroup, type ProcessGroup } from "./process-group.ts";

const MAX_BLOCKS = 1000;
const MAX_STARTS = 50;
const MAX_REPAIRS = 5;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

/** A fenced block of Markdown. */
interface CodeBlock {
  readonly type: string;
  readonly content: string;
  /** First and last line of the content, from 1. */
  readonly start: number;
  readonly end: number;
}

/** `text.Extract ExtractFirst ExtractByType ExtractJSON`. */
export function textGroup(): ProcessGroup {
  return functionGroup({
    Extract: (args) => codeBlocks(args.text(0, "text")).map(toJson),
    ExtractFirst: (args) => {
      const first = codeBlocks(args.text(0, "text"))[0];
      return first === undefined ? null : toJson(first);
    },
    ExtractByType: (args) => {
      const type = args.text(1, "type").toLowerCase();
      return codeBlocks(args.text(0, "text"))
        .filter((block) => block.type === type)
        .map(toJson);
    },
    ExtractJSON: (args) => extractJson(args.text(0, "text")),
  });
}

/** Blocks of structured data also carry what they say. */
function toJson(block: CodeBlock): Json {
  const data = block.type === "json" ? tryParse(block.content) : undefined;
  return { ...block, ...(data === undefined ? {} : { data }) };
}

function codeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open:
    | { readonly fence: string; readonly type: string; readonly start: number; readonly lines: string[] }
    | undefined;
  const lines = text.split(/\r?\n/);
  for (const [index, line] of lines.entries()) {
    const [, fence = "", label = ""] = FENCE.exec(line) ?? [];
    if (open === undefined) {
      if (fence === "") continue;
      open = { fence, type: label.trim().split(/\s/, 1)[0]?.toLowerCase() || "text", start: index + 2, lines: [] };
    } else if (fence.startsWith(open.fence) && label.trim() === "") {
      blocks.push({ type: open.type, content: open.lines.join("\n"), start: open.start, end: index });
      open = undefined;
      if (blocks.length === MAX_BLOCKS) return blocks;
    } else {
      open.lines.push(line);
    }
  }
  // An answer that was cut off leaves its last block open.
  if (open !== undefined)
    blocks.push({ type: open.type, content: open.lines.join("\n"), start: open.start, end: lines.length });
  return blocks;
}

/** The JSON in a text: the whole text, a fenced block, or the first bracketed part; repaired last. `null` when there is none. */
function extractJson(text: string): Json {
  const blocks = codeBlocks(text).filter(({ type }) => type === "json" || type === "text");
  // The longest bracketed part first: a citation such as [1] is JSON too, but not what was asked for.
  const found = bracketed(text).toSorted((a, b) => b.length - a.length);
  const parts = [...blocks.map(({ content }) => content), ...found];
  for (const part of [text, ...parts]) {
    const value = tryStrict(part);
    if (value !== undefined) return value;
  }
  for (const part of parts.slice(0, MAX_REPAIRS)) {
    const value = tryParse(part);
    if (typeof value === "object" && value !== null) return value;
  }
  return null;
}

/**
 * Parts that begin with a bracket and end where it closes; brackets in strings do not count. Of those that never close
 * (prose, a cut-off answer) only the first is a part, since it holds the others.
 */
function bracketed(text: string): readonly string[] {
  const parts: string[] = [];
  let position = 0;
  let isCut = false;
  for (let tries = 0; tries < MAX_STARTS; tries += 1) {
    const offset = text.slice(position).search(/[[{]/);
    if (offset < 0) return parts;
    const start = position + offset;
    const end = closing(text, start);
    if (end !== undefined || !isCut) parts.push(text.slice(start, end));
    isCut ||= end === undefined;
    position = end ?? start + 1;
  }
  return parts;
}

/** Where the bracket at `start` closes. */
function closing(text: string, start: number): number | undefined {
  let depth = 0;
  let isText = false;
  for (let i = start; i < text.length; i += 1) {
    const character = text[i];
    if (isText) {
      if (character === "\\") i += 1;
      else if (character === '"') isText = false;
    } else if (character === '"') isText = true;
    else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") depth -= 1;
    if (depth === 0) return i + 1;
  }
  return undefined;
}

function tryStrict(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function tryParse(text: string): Json | undefined {
  try {
    return parseLenient(text);
  } catch {
    return undefined;
  }
}
