/** Changes inside the JSON of a message, by dotted path: what Append, Merge, Set and Replace do. Pure; never changes its input. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { DeltaAction } from "./message.ts";

const MAX_DEPTH = 32;
// A list grows by setting its next index, not by leaving a million holes.
const MAX_INDEX = 10_000;
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);

/** One change of a message `{type, props}`. */
export interface MessageChange {
  readonly action: DeltaAction;
  /** Dotted, from the message: `props.content`; a path without `props` in front means inside of props. */
  readonly path: string;
  readonly value: Json;
}

/** Gives the props of a message after a change. */
export function changedProps(props: JsonObject, { action, path, value }: MessageChange): JsonObject {
  const steps = stepsOf(path);
  const next = changed(props, steps, (before) => applied(action, before, value, path));
  if (!isObject(next)) throw new MeshError("invalid_argument", "the props of a message must stay an object");
  return next;
}

/** The path inside of props. */
export function stepsOf(path: string): readonly string[] {
  const steps = path === "" ? [] : path.split(".");
  const inside = steps[0] === "props" ? steps.slice(1) : steps;
  if (inside.length > MAX_DEPTH || inside.some((step) => step === "" || FORBIDDEN.has(step))) {
    throw new MeshError("invalid_argument", `"${path.slice(0, 100)}" is not a path like props.content`);
  }
  return inside;
}

function changed(value: Json | undefined, steps: readonly string[], change: (before: Json | undefined) => Json): Json {
  const [step, ...rest] = steps;
  if (step === undefined) return change(value);
  if (Array.isArray(value)) {
    const index = Number(step);
    if (!Number.isInteger(index) || index < 0 || index > Math.min(value.length, MAX_INDEX)) {
      throw new MeshError("invalid_argument", `"${step}" is not an index of a list of ${value.length}`);
    }
    return value.toSpliced(index, 1, changed(value[index], rest, change));
  }
  const object = isObject(value) ? value : {};
  const before = Object.hasOwn(object, step) ? object[step] : undefined;
  return { ...object, [step]: changed(before, rest, change) };
}

function applied(action: DeltaAction, before: Json | undefined, value: Json, path: string): Json {
  switch (action) {
    case "append":
      if (Array.isArray(before)) return [...before, ...(Array.isArray(value) ? value : [value])];
      if (before !== undefined && before !== null && typeof before !== "string") {
        throw new MeshError("invalid_argument", `${path} is neither a text nor a list; nothing can be appended to it`);
      }
      return `${before ?? ""}${typeof value === "string" ? value : JSON.stringify(value)}`;
    case "merge":
      if (!isObject(value)) throw new MeshError("invalid_argument", "what is merged must be an object");
      return { ...(isObject(before) ? before : {}), ...value };
    default:
      return value;
  }
}
