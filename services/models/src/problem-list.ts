/** Reads fields of one model file and collects what is wrong with them, bounded, so that all of it is seen at once. */

import { isObject, type Json, type JsonObject, nearestName } from "@mesh/kernel";

import type { ModelProblem } from "./model.ts";
import type { JsonPath, ModelSource } from "./model-source.ts";

const MAX_PROBLEMS = 200;
const MAX_SHOWN = 60;

/** The fields and findings of one file. */
export class ProblemList {
  readonly #problems: ModelProblem[] = [];
  readonly #path: string;
  readonly #source: ModelSource;

  constructor(path: string, source: ModelSource) {
    this.#path = path;
    this.#source = source;
  }

  /** All findings, in the order of their lines. */
  get problems(): readonly ModelProblem[] {
    return this.#problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  }

  get hasError(): boolean {
    return this.#problems.some((problem) => problem.severity === "error");
  }

  lineOf(at: JsonPath): number | undefined {
    return this.#source.lineOf(at);
  }

  error(at: JsonPath, message: string): void {
    this.#add("error", at, message);
  }

  warn(at: JsonPath, message: string): void {
    this.#add("warning", at, message);
  }

  /** The text of a field; undefined, after reporting it, when it is something else. */
  text(holder: JsonObject, key: string, at: JsonPath): string | undefined {
    const value = own(holder, key);
    if (value === undefined || typeof value === "string") return value;
    return this.#wrong([...at, key], "text", value);
  }

  flag(holder: JsonObject, key: string, at: JsonPath): boolean {
    const value = own(holder, key);
    if (typeof value === "boolean") return value;
    if (value !== undefined) this.#wrong([...at, key], "true or false", value);
    return false;
  }

  /** A whole number within bounds. */
  count(holder: JsonObject, key: string, at: JsonPath, bounds: readonly [number, number]): number | undefined {
    const value = own(holder, key);
    if (value === undefined) return undefined;
    const [min, max] = bounds;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.#wrong([...at, key], `a whole number from ${min} to ${max}`, value);
  }

  object(holder: JsonObject, key: string, at: JsonPath): JsonObject | undefined {
    const value = own(holder, key);
    if (value === undefined) return undefined;
    return isObject(value) ? value : this.#wrong([...at, key], "an object", value);
  }

  list(holder: JsonObject, key: string, at: JsonPath): readonly Json[] {
    const value = own(holder, key);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value as readonly Json[];
    this.#wrong([...at, key], "a list", value);
    return [];
  }

  /** A list of objects; items that are none are reported and left out. */
  objects(
    holder: JsonObject,
    key: string,
    at: JsonPath,
  ): readonly { readonly item: JsonObject; readonly at: JsonPath }[] {
    return this.list(holder, key, at).flatMap((item, index) => {
      const itemAt = [...at, key, index];
      if (isObject(item)) return [{ item, at: itemAt }];
      this.#wrong(itemAt, "an object", item);
      return [];
    });
  }

  /** A list of names; items that are none are reported and left out. */
  names(holder: JsonObject, key: string, at: JsonPath): readonly string[] {
    return this.list(holder, key, at).flatMap((item, index) => {
      if (typeof item === "string") return [item];
      this.#wrong([...at, key, index], "text", item);
      return [];
    });
  }

  /** Warns of keys that mean nothing. */
  checkKeys(holder: JsonObject, known: readonly string[], at: JsonPath): void {
    for (const key of Object.keys(holder)) {
      if (known.includes(key)) continue;
      const guess = nearestName(key, known);
      this.warn([...at, key], `unknown key "${short(key)}"; ${guess ? `did you mean "${guess}"?` : "it is ignored"}`);
    }
  }

  #wrong(at: JsonPath, expected: string, value: Json): undefined {
    this.error(at, `${named(at)} must be ${expected}, not ${describe(value)}`);
  }

  #add(severity: ModelProblem["severity"], at: JsonPath, message: string): void {
    if (this.#problems.length >= MAX_PROBLEMS) {
      // Whether there is any error decides whether the model is loaded, so one more is always kept.
      if (severity === "warning" || this.hasError) return;
    }
    const line = this.#source.lineOf(at);
    this.#problems.push({ path: this.#path, ...(line === undefined ? {} : { line }), message, severity });
  }
}

/** A value in an error message. */
export function describe(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  return short(JSON.stringify(value));
}

function named(at: JsonPath): string {
  return at.join(".");
}

function short(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`;
}

// Null is the same as leaving a field out.
function own(holder: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(holder, key) ? (holder[key] ?? undefined) : undefined;
}
