/** The checker over shapes. Messages name the field, what it must be and what it is. */

import { nearestName } from "@mesh/kernel";

import type { ProblemLog } from "../problem-log.ts";
import type { SourceEntry, SourceNode, SourceObject } from "../source-node.ts";
import { describeNode, describeShape, shownKey } from "./describe-shape.ts";
import type { Field, NumberShape, ObjectShape, Shape } from "./shape.ts";

const MAX_UNKNOWN_KEYS = 20;

/** Names the schema of a file for editors; allowed at the top of each file. */
const SCHEMA_KEY = "$schema";

/** A file being checked. */
export interface CheckContext {
  readonly file: string;
  readonly log: ProblemLog;
}

/** Checks a file that is a mapping; true when it has no error. */
export function checkRoot(context: CheckContext, root: SourceObject, shape: ObjectShape): boolean {
  const entries = root.entries.filter((entry) => entry.key !== SCHEMA_KEY);
  return checkObject(context, "", { ...root, entries }, shape);
}

/** Checks a value; true when it has no error. `name` is what messages call it. */
export function checkShape(context: CheckContext, name: string, node: SourceNode, shape: Shape): boolean {
  const found = firstMismatch(node, shape);
  if (found === undefined) return checkInside(context, name, node, shape);
  const { index } = found;
  const instead =
    index === undefined ? `, not ${describeNode(node)}` : `: item ${index + 1} is ${describeNode(found.node)}`;
  context.log.error(context.file, found.node.line, `${name} must be ${describeShape(shape)}${instead}`);
  return false;
}

/** Checks the keys of a mapping; true when it has no error. `prefix` is put before field names in messages. */
export function checkObject(context: CheckContext, prefix: string, node: SourceObject, shape: ObjectShape): boolean {
  const { fields } = shape;
  let isGood = true;
  for (const [key, field] of Object.entries(fields)) {
    if (field.isRequired !== true) continue;
    if (node.entries.some((entry) => entry.key === key && entry.value.kind !== "null")) continue;
    context.log.error(context.file, node.line, `${prefix}${key} is missing: it must be ${describeShape(field.shape)}`);
    isGood = false;
  }
  const unknown: SourceEntry[] = [];
  for (const entry of node.entries) {
    const field = Object.hasOwn(fields, entry.key) ? fields[entry.key] : undefined;
    if (field === undefined) unknown.push(entry);
    else if (!checkField(context, { ...entry, key: `${prefix}${entry.key}` }, field)) isGood = false;
  }
  if (shape.isOpen !== true) warnOfUnknown(context, { prefix, node, unknown, known: Object.keys(fields) });
  return isGood;
}

interface UnknownKeys {
  readonly prefix: string;
  readonly node: SourceObject;
  readonly unknown: readonly SourceEntry[];
  readonly known: readonly string[];
}

function warnOfUnknown({ file, log }: CheckContext, { prefix, node, unknown, known }: UnknownKeys): void {
  for (const { key, line } of unknown.slice(0, MAX_UNKNOWN_KEYS)) {
    const guess = nearestName(key, known);
    const advice = guess === undefined ? "; it is ignored" : `; did you mean ${prefix}${guess}?`;
    log.warn(file, line, `unknown key ${prefix}${shownKey(key)}${advice}`);
  }
  if (unknown.length > MAX_UNKNOWN_KEYS) {
    log.warn(file, node.line, `${unknown.length - MAX_UNKNOWN_KEYS} more unknown keys`);
  }
}

function checkField(context: CheckContext, { key, line, value }: SourceEntry, field: Field): boolean {
  const old = field.legacy ?? (field.tolerated?.kind === value.kind ? field.tolerated.message : undefined);
  if (old !== undefined) {
    context.log.note(context.file, line, `${key} ${old}`);
    return true;
  }
  // An empty value (`"tags": null`) is the same as leaving the field out.
  return value.kind === "null" || checkShape(context, key, value, field.shape);
}

function checkInside(context: CheckContext, name: string, node: SourceNode, shape: Shape): boolean {
  switch (shape.kind) {
    case "either": {
      const fitting = shape.of.find((option) => firstMismatch(node, option) === undefined);
      return fitting === undefined || checkInside(context, name, node, fitting);
    }
    case "named":
      return checkInside(context, name, node, shape.shape());
    case "object":
      return node.kind !== "object" || checkObject(context, `${name}.`, node, shape);
    case "list":
      if (node.kind !== "list") return true;
      return node.items.map((item, index) => checkInside(context, `${name}.${index}`, item, shape.of)).every(Boolean);
    case "map":
      if (node.kind !== "object") return true;
      return node.entries
        .map((entry) => checkShape(context, `${name}.${shownKey(entry.key)}`, entry.value, shape.of))
        .every(Boolean);
    case "word":
      warnOfOtherWord(context, name, node, shape.words);
      return true;
    case "any":
    case "flag":
    case "number":
    case "text":
      return true;
  }
}

function warnOfOtherWord({ file, log }: CheckContext, name: string, node: SourceNode, words: readonly string[]): void {
  if (node.kind !== "string" || words.includes(node.value)) return;
  const guess = nearestName(node.value, words);
  const advice = guess === undefined ? `known are ${words.join(", ")}` : `did you mean "${guess}"?`;
  log.warn(file, node.line, `${name} is ${describeNode(node)}, which is not known here; ${advice}`);
}

/** The value that has the wrong kind: the node itself or, for a list, its first wrong item. */
function firstMismatch(node: SourceNode, shape: Shape): { node: SourceNode; index?: number } | undefined {
  if (shape.kind === "named") return firstMismatch(node, shape.shape());
  if (!fits(node, shape)) return { node };
  if (shape.kind === "either") {
    const found = shape.of.filter((option) => fits(node, option)).map((option) => firstMismatch(node, option));
    return found.includes(undefined) ? undefined : found.length === 1 ? found[0] : { node };
  }
  if (shape.kind !== "list" || node.kind !== "list") return undefined;
  const index = node.items.findIndex((item) => !fits(item, shape.of));
  const item = node.items[index];
  return item === undefined ? undefined : { node: item, index };
}

function fits(node: SourceNode, shape: Shape): boolean {
  if (shape.kind === "any") return true;
  if (shape.kind === "either") return shape.of.some((option) => fits(node, option));
  if (shape.kind === "named") return fits(node, shape.shape());
  return node.kind === NODE_KINDS[shape.kind] && fitsBounds(node, shape);
}

const NODE_KINDS = {
  flag: "boolean",
  list: "list",
  map: "object",
  number: "number",
  object: "object",
  text: "string",
  word: "string",
} as const;

/** The part of a shape that goes beyond the kind of value. */
function fitsBounds(node: SourceNode, shape: Shape): boolean {
  if (shape.kind === "word" && node.kind === "string") return shape.isOpen === true || shape.words.includes(node.value);
  if (shape.kind === "number" && node.kind === "number") return fitsNumber(node.value, shape);
  if (shape.kind === "object" && node.kind === "object")
    return shape.marker === undefined || hasKey(node, shape.marker);
  return true;
}

function hasKey(node: SourceObject, key: string): boolean {
  return node.entries.some((entry) => entry.key === key);
}

function fitsNumber(value: number, { isWhole, min, max }: NumberShape): boolean {
  if (isWhole === true && !Number.isSafeInteger(value)) return false;
  return (min === undefined || value >= min) && (max === undefined || value <= max);
}
