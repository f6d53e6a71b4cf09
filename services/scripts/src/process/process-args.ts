/** The arguments of one process call, read with checks whose messages name the process, the position and the meaning. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

/** Positional arguments of a call. Missing and `null` are the same: scripts pass `null` to skip one. */
export class ProcessArgs {
  readonly #process: string;
  readonly #values: readonly Json[];

  constructor(process: string, values: readonly Json[]) {
    this.#process = process;
    this.#values = values;
  }

  /** All of them, as they came. */
  get values(): readonly Json[] {
    return this.#values;
  }

  /** Whether something other than `null` stands here. */
  has(index: number): boolean {
    return this.json(index) !== null;
  }

  /** Whatever stands here; `null` when missing. */
  json(index: number): Json {
    return this.#values[index] ?? null;
  }

  /** Text; numbers and booleans are written out. */
  text(index: number, label: string, fallback?: string): string {
    const value = this.json(index);
    if (typeof value === "string") return value;
    if (typeof value === "number" || typeof value === "boolean") return String(value);
    return this.#fallback(index, label, { expected: "text", fallback });
  }

  /** A finite number; text that is a number is read as one. */
  number(index: number, label: string, fallback?: number): number {
    const value = this.json(index);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number)) return number;
    return this.#fallback(index, label, { expected: "a number", fallback });
  }

  /** A whole number. */
  integer(index: number, label: string, fallback?: number): number {
    const number = this.number(index, label, fallback);
    return Number.isSafeInteger(number) ? number : this.#refuse(index, label, "a whole number");
  }

  /** A list of anything. */
  list(index: number, label: string, fallback?: readonly Json[]): readonly Json[] {
    const value = this.json(index);
    return Array.isArray(value) ? value : this.#fallback(index, label, { expected: "a list", fallback });
  }

  /** A list of texts. */
  texts(index: number, label: string): readonly string[] {
    return this.list(index, label).map((value) =>
      typeof value === "string" ? value : this.#refuse(index, label, "a list of texts"),
    );
  }

  /** An object. */
  object(index: number, label: string, fallback?: JsonObject): JsonObject {
    const value = this.json(index);
    return isObject(value) ? value : this.#fallback(index, label, { expected: "an object", fallback });
  }

  /** A list of objects. */
  objects(index: number, label: string): readonly JsonObject[] {
    return this.list(index, label).map((value) =>
      isObject(value) ? value : this.#refuse(index, label, "a list of objects"),
    );
  }

  /** One of the given words, in any case. */
  word<const T extends string>(index: number, label: string, words: readonly T[], fallback?: T): T {
    const value = this.text(index, label, fallback).toLowerCase();
    return (
      words.find((word) => word.toLowerCase() === value) ?? this.#refuse(index, label, `one of ${words.join(", ")}`)
    );
  }

  /** An error about the call as a whole. */
  refuse(reason: string): never {
    throw new MeshError("invalid_argument", `${this.#process}: ${reason}`);
  }

  #fallback<T>(index: number, label: string, rule: { expected: string; fallback: T | undefined }): T {
    if (!this.has(index) && rule.fallback !== undefined) return rule.fallback;
    return this.#refuse(index, label, rule.expected);
  }

  #refuse(index: number, label: string, expected: string): never {
    const found = this.has(index) ? `not ${kindOf(this.json(index))}` : "but is missing";
    this.refuse(`argument ${index + 1} (${label}) must be ${expected}, ${found}`);
  }
}

function kindOf(value: Json): string {
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "string":
      return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
    case "object":
      return "an object";
    default:
      return String(value);
  }
}
