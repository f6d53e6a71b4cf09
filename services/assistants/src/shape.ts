/**
 * What a configuration file may hold, as data, and the one checker over it.
 *
 * Messages name the field, what it must be and what it is. A small checker instead of a JSON Schema library: those generate
 * code from strings, which is switched off where user code runs, and their errors know no lines.
 */

import type { ProblemLog } from "./problem-log.ts";
import type { SourceEntry, SourceNode, SourceObject } from "./source-node.ts";

const MAX_UNKNOWN_KEYS = 20;
const MAX_SHOWN_KEY = 80;
const MAX_SHOWN_TEXT = 40;

/** The form of one value. */
export type Shape =
  | { readonly kind: "text" | "number" | "flag" | "any" }
  | { readonly kind: "word"; readonly words: readonly string[] }
  | { readonly kind: "list"; readonly of: Shape }
  | { readonly kind: "map"; readonly of: Shape }
  | { readonly kind: "object"; readonly fields: Fields; readonly isOpen?: boolean }
  | { readonly kind: "either"; readonly of: readonly [Shape, ...Shape[]] };

/** The fields of a mapping by key. */
export type Fields = Readonly<Record<string, Field>>;

/** One field of a mapping. */
export interface Field {
  readonly shape: Shape;
  readonly isRequired?: boolean;
  /** Set for keys that old files carry and nothing reads: any value is accepted and this is said about it. */
  readonly legacy?: string;
  /** An old form that is ignored with a warning instead of refused. */
  readonly tolerated?: { readonly kind: SourceNode["kind"]; readonly message: string };
}

/** A file being checked. */
export interface CheckContext {
  readonly file: string;
  readonly log: ProblemLog;
}

/** Checks a value; true when it has no error. `name` is what messages call it. */
export function checkShape(context: CheckContext, name: string, node: SourceNode, shape: Shape): boolean {
  const found = firstMismatch(node, shape);
  if (found !== undefined) {
    const where = found.index === undefined ? "" : `: item ${found.index + 1} is ${describeNode(found.node)}`;
    const instead = where === "" ? `, not ${describeNode(node)}` : where;
    context.log.error(context.file, found.node.line, `${name} must be ${describeShape(shape)}${instead}`);
    return false;
  }
  return checkInside(context, name, node, shape);
}

/** Checks the keys of a mapping; true when it has no error. `prefix` is put before field names in messages. */
export function checkFields(context: CheckContext, prefix: string, node: SourceObject, shape: Fields): boolean {
  let isGood = true;
  for (const [key, field] of Object.entries(shape)) {
    if (field.isRequired !== true) continue;
    if (node.entries.some((entry) => entry.key === key && entry.value.kind !== "null")) continue;
    context.log.error(context.file, node.line, `${prefix}${key} is missing: it must be ${describeShape(field.shape)}`);
    isGood = false;
  }
  const known = Object.keys(shape);
  let unknownCount = 0;
  for (const { key, line, value } of node.entries) {
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    if (field === undefined) {
      unknownCount += 1;
      if (unknownCount <= MAX_UNKNOWN_KEYS) context.log.warn(context.file, line, unknownKey(prefix, key, known));
    } else if (!checkField(context, { key: `${prefix}${key}`, line, value }, field)) {
      isGood = false;
    }
  }
  if (unknownCount > MAX_UNKNOWN_KEYS) {
    context.log.warn(context.file, node.line, `${unknownCount - MAX_UNKNOWN_KEYS} more unknown keys`);
  }
  return isGood;
}

function checkField(context: CheckContext, { key, line, value }: SourceEntry, field: Field): boolean {
  const old = field.legacy ?? (field.tolerated?.kind === value.kind ? field.tolerated.message : undefined);
  if (old !== undefined) {
    context.log.warn(context.file, line, `${key} ${old}`);
    return true;
  }
  // An empty value (`"tags": null`) is the same as leaving the field out.
  return value.kind === "null" || checkShape(context, key, value, field.shape);
}

function checkInside(context: CheckContext, name: string, node: SourceNode, shape: Shape): boolean {
  if (shape.kind === "either") {
    const fitting = shape.of.find((option) => firstMismatch(node, option) === undefined);
    return fitting === undefined || checkInside(context, name, node, fitting);
  }
  if (shape.kind === "object" && node.kind === "object") {
    if (shape.isOpen !== true) return checkFields(context, `${name}.`, node, shape.fields);
    const known = node.entries.filter((entry) => Object.hasOwn(shape.fields, entry.key));
    return checkFields(context, `${name}.`, { ...node, entries: known }, shape.fields);
  }
  if (shape.kind === "list" && node.kind === "list") {
    return node.items.map((item, index) => checkInside(context, `${name}.${index}`, item, shape.of)).every(Boolean);
  }
  if (shape.kind === "map" && node.kind === "object") {
    return node.entries
      .map((entry) => checkShape(context, `${name}.${entry.key}`, entry.value, shape.of))
      .every(Boolean);
  }
  return true;
}

/** The value that has the wrong kind: the node itself or, for a list, its first wrong item. */
function firstMismatch(node: SourceNode, shape: Shape): { node: SourceNode; index?: number } | undefined {
  if (!fits(node, shape)) return { node };
  if (shape.kind !== "list" || node.kind !== "list") return undefined;
  const index = node.items.findIndex((item) => !fits(item, shape.of));
  const item = node.items[index];
  return item === undefined ? undefined : { node: item, index };
}

function fits(node: SourceNode, shape: Shape): boolean {
  if (shape.kind === "any") return true;
  if (shape.kind === "either") return shape.of.some((option) => fits(node, option));
  if (shape.kind === "word") return node.kind === "string" && shape.words.includes(node.value);
  return node.kind === NODE_KINDS[shape.kind];
}

const NODE_KINDS = {
  text: "string",
  number: "number",
  flag: "boolean",
  list: "list",
  map: "object",
  object: "object",
} as const satisfies Partial<Record<Shape["kind"], SourceNode["kind"]>>;

function describeShape(shape: Shape): string {
  if (shape.kind === "word") return shape.words.map((word) => `"${word}"`).join(" or ");
  if (shape.kind === "either") return shape.of.map(describeShape).join(" or ");
  if (shape.kind === "list") return `a list of ${describeItems(shape.of)}`;
  return SINGULAR[shape.kind];
}

function describeItems(shape: Shape): string {
  if (shape.kind === "either") return shape.of.map(describeItems).join(" or ");
  return PLURAL[shape.kind] ?? "values";
}

const SINGULAR = {
  any: "a value",
  text: "text",
  number: "a number",
  flag: "true or false",
  map: "an object",
  object: "an object",
} as const;

const PLURAL: Readonly<Partial<Record<Shape["kind"], string>>> = {
  text: "strings",
  number: "numbers",
  object: "objects",
  map: "objects",
};

function describeNode(node: SourceNode): string {
  if (node.kind === "boolean") return String(node.value);
  if (node.kind === "string") return node.value.length <= MAX_SHOWN_TEXT ? JSON.stringify(node.value) : "text";
  return NODE_WORDS[node.kind];
}

const NODE_WORDS = { null: "empty", number: "a number", list: "a list", object: "an object" } as const;

function unknownKey(prefix: string, key: string, known: readonly string[]): string {
  const shown = key.length <= MAX_SHOWN_KEY ? key : `${key.slice(0, MAX_SHOWN_KEY)}…`;
  const guess = nearest(key, known);
  return `unknown key ${prefix}${shown}${guess === undefined ? "; it is ignored" : `; did you mean ${prefix}${guess}?`}`;
}

// The known word closest to `word`, when close enough to be a slip of the hand.
function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = word.length <= 3 ? 1 : 2;
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) > limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance)) best = { word: candidate, distance };
  }
  return best?.word;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
