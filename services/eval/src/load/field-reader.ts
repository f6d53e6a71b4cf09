/** Reads the fields of one case strictly: what is not known, or not of its type, is a problem with its line. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";
import { findNodeAtLocation, parseTree } from "jsonc-parser";

import type { LoadProblem } from "./problem.ts";
import { linesIn, type PlacedValue } from "./value-stream.ts";

/** Where a field is, from the case on. */
export type FieldPath = readonly (string | number)[];

/** An object whose fields are read one by one. */
export interface Fields {
  readonly value: JsonObject;
  readonly path: FieldPath;
}

/** See the file comment. */
export class FieldReader {
  readonly #placed: PlacedValue;
  readonly #file: string;
  readonly #problems: LoadProblem[];
  /** Said before each problem; set once the case's id is known. */
  label = "";

  constructor(placed: PlacedValue, file: string, problems: LoadProblem[]) {
    this.#placed = placed;
    this.#file = file;
    this.#problems = problems;
  }

  /** Notes a problem with a field. */
  refuse(path: FieldPath, message: string): undefined {
    const label = this.label === "" ? "" : `${this.label}: `;
    this.#problems.push({ file: this.#file, line: this.#lineOf(path), message: `${label}${message}` });
    return undefined;
  }

  /** An object with these fields and no others. */
  fields(value: Json | undefined, path: FieldPath, known: readonly string[]): Fields | undefined {
    if (!isObject(value)) return this.refuse(path, `${nameOf(path)} must be an object, not ${describe(value)}`);
    for (const key of Object.keys(value)) {
      if (known.includes(key)) continue;
      const meant = nearest(key, known);
      const hint = meant === undefined ? `there are ${known.join(", ")}` : `did you mean "${meant}"?`;
      this.refuse([...path, key], `${nameOf([...path, key])} is not known; ${hint}`);
    }
    return { value: value, path };
  }

  text({ value, path }: Fields, key: string): string | undefined {
    const field = value[key];
    if (field === undefined || typeof field === "string") return field;
    return this.#mistyped([...path, key], "a text", field);
  }

  /** A text that is there and not empty; white space alone is empty unless it counts. */
  requiredText(fields: Fields, key: string, space?: "space counts"): string | undefined {
    const path = [...fields.path, key];
    if (!Object.hasOwn(fields.value, key)) return this.refuse(fields.path, `${nameOf(path)} is missing`);
    const text = this.text(fields, key);
    return text !== undefined && (space === undefined ? text.trim() : text) === ""
      ? this.refuse(path, `${nameOf(path)} is empty`)
      : text;
  }

  flag({ value, path }: Fields, key: string): boolean | undefined {
    const field = value[key];
    if (field === undefined || typeof field === "boolean") return field;
    return this.#mistyped([...path, key], "true or false", field);
  }

  whole({ value, path }: Fields, key: string, [min, max]: readonly [number, number]): number | undefined {
    const field = value[key];
    if (field === undefined) return undefined;
    if (typeof field === "number" && Number.isInteger(field) && field >= min && field <= max) return field;
    return this.#mistyped([...path, key], `a whole number from ${min} to ${max}`, field);
  }

  record({ value, path }: Fields, key: string): JsonObject | undefined {
    const field = value[key];
    if (field === undefined || isObject(field)) return field;
    return this.#mistyped([...path, key], "an object", field);
  }

  texts({ value, path }: Fields, key: string): readonly string[] {
    const field = value[key];
    if (field === undefined) return [];
    if (Array.isArray(field) && field.every((each) => typeof each === "string")) return field;
    this.#mistyped([...path, key], "a list of texts", field);
    return [];
  }

  #mistyped(path: FieldPath, wanted: string, value: Json): undefined {
    return this.refuse(path, `${nameOf(path)} must be ${wanted}, not ${describe(value)}`);
  }

  // Only problems pay for finding their line.
  #lineOf(path: FieldPath): number {
    const { text, line } = this.#placed;
    const root = parseTree(text);
    if (root === undefined) return line;
    for (let length = path.length; length > 0; length -= 1) {
      const node = findNodeAtLocation(root, path.slice(0, length));
      if (node !== undefined) return line + linesIn(text.slice(0, node.parent?.offset ?? node.offset));
    }
    return line;
  }
}

/** A path as people write it: `checkpoints[0].assert`. */
export function nameOf(path: FieldPath): string {
  const text = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  return text === "" ? "the case" : text.replace(/^\./, "");
}

function describe(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** The known name that was probably meant. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  let best: string | undefined;
  let least = 3;
  for (const each of known) {
    const distance = distanceOf(lower, each.toLowerCase());
    if (distance < least && distance < each.length) [best, least] = [each, distance];
  }
  return best;
}

function distanceOf(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_none, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 3;
}
