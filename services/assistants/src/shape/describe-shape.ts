/** Shapes and values in words, for messages. */

import type { SourceNode } from "../source-node.ts";
import type { NumberShape, Shape } from "./shape.ts";

const MAX_SHOWN_KEY = 80;
const MAX_SHOWN_TEXT = 40;
const MAX_SHOWN_WORDS = 4;
const MAX_DEPTH = 3;

/** What a value must be. */
export function describeShape(shape: Shape): string {
  switch (shape.kind) {
    case "word":
      return shape.isOpen === true ? "text" : shape.words.map((word) => `"${word}"`).join(" or ");
    case "either":
      return [...new Set(shape.of.map(describeShape))].join(" or ");
    case "list":
      return `a list of ${describeItems(shape.of, 0)}`;
    case "named":
      return describeShape(shape.shape());
    case "number":
      return describeNumber(shape);
    case "any":
      return "a value";
    case "flag":
      return "true or false";
    case "map":
    case "object":
      return "an object";
    case "text":
      return "text";
  }
}

function describeNumber({ isWhole, min, max }: NumberShape): string {
  const noun = isWhole === true ? "a whole number" : "a number";
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`;
  if (min !== undefined) return `${noun} of at least ${min}`;
  return max === undefined ? noun : `${noun} of at most ${max}`;
}

function describeItems(shape: Shape, depth: number): string {
  switch (shape.kind) {
    case "either":
      return [...new Set(shape.of.map((option) => describeItems(option, depth)))].join(" or ");
    case "named":
      return depth < MAX_DEPTH ? describeItems(shape.shape(), depth + 1) : "values";
    case "word":
      if (shape.isOpen === true) return "strings";
      return shape.words.length > MAX_SHOWN_WORDS ? "such words" : shape.words.map((word) => `"${word}"`).join(" or ");
    case "text":
      return "strings";
    case "number":
      return "numbers";
    case "map":
    case "object":
      return "objects";
    case "list":
      return "lists";
    case "any":
    case "flag":
      return "values";
  }
}

/** What a value is; short texts are shown. */
export function describeNode(node: SourceNode): string {
  if (node.kind === "boolean") return String(node.value);
  if (node.kind === "number") return Math.abs(node.value) < 1e9 ? String(node.value) : "a number";
  if (node.kind === "string") return node.value.length <= MAX_SHOWN_TEXT ? JSON.stringify(node.value) : "text";
  return NODE_WORDS[node.kind];
}

const NODE_WORDS = { null: "empty", list: "a list", object: "an object" } as const;

/** A key, cut to a length that fits a message. */
export function shownKey(key: string): string {
  return key.length <= MAX_SHOWN_KEY ? key : `${key.slice(0, MAX_SHOWN_KEY)}…`;
}
