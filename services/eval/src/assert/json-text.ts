/**
 * The JSON in an answer: the whole text, else a fenced block, else the first value in it.
 *
 * J1  A text that is JSON is taken as it is: fences inside of its strings are text.
 * J2  Of fenced blocks only one that is tagged as JSON, or that is all there is, counts.
 */

import type { Json } from "@mesh/kernel";

/** JSON that was found, and where. */
export interface FoundJson {
  readonly value: Json;
  readonly rule: "whole" | "fence" | "embedded";
}

const FENCE = /^[ \t]*(`{3,}|~{3,})[ \t]*([\w+.-]*)[^\n]*\n([\s\S]*?)\n?^[ \t]*\1[`~]*[ \t]*$/gm;
const JSON_TAGS = new Set(["json", "jsonc", "json5"]);
const MAX_TRIES = 1_000;

/** The JSON in a text; undefined where there is none. */
export function jsonIn(text: string): FoundJson | undefined {
  const trimmed = text.replace(/^\uFEFF/, "").trim();
  const whole = parsed(trimmed);
  if (whole !== undefined) return { value: whole.value, rule: "whole" };
  const fenced = inFence(trimmed);
  if (fenced !== undefined) return { value: fenced.value, rule: "fence" };
  const embedded = balanced(trimmed, "first");
  return embedded === undefined ? undefined : { value: embedded, rule: "embedded" };
}

/** The last JSON object in a text that `accepts` takes: what was said last counts, not what was quoted before. */
export function lastObjectIn(text: string, accepts: (value: Json) => boolean): Json | undefined {
  const whole = parsed(text.trim());
  if (whole !== undefined && accepts(whole.value)) return whole.value;
  return balanced(text, "last", accepts);
}

function parsed(text: string): { readonly value: Json } | undefined {
  if (text === "") return undefined;
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}

function inFence(text: string): { readonly value: Json } | undefined {
  for (const [block, , tag = "", body = ""] of text.matchAll(FENCE)) {
    const isAll = block.trim().length === text.length;
    if (!isAll && !JSON_TAGS.has(tag.toLowerCase())) continue;
    const found = parsed(body.trim());
    if (found !== undefined) return found;
  }
  return undefined;
}

function balanced(
  text: string,
  which: "first" | "last",
  accepts: (value: Json) => boolean = () => true,
): Json | undefined {
  let last: Json | undefined;
  let tries = 0;
  for (let at = nextOpen(text, 0); at !== -1 && tries < MAX_TRIES;) {
    tries += 1;
    const end = endOf(text, at);
    const found = end === undefined ? undefined : parsed(text.slice(at, end));
    if (found !== undefined && accepts(found.value)) {
      if (which === "first") return found.value;
      last = found.value;
    }
    // What was no JSON may hold some; what was is read once.
    at = nextOpen(text, found === undefined || end === undefined ? at + 1 : end);
  }
  return last;
}

function nextOpen(text: string, from: number): number {
  const at = text.slice(from).search(/[[{]/);
  return at === -1 ? -1 : from + at;
}

function endOf(text: string, from: number): number | undefined {
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      for (at += 1; at < text.length && text[at] !== '"'; at += 1) if (text[at] === "\\") at += 1;
    } else if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return undefined;
}
