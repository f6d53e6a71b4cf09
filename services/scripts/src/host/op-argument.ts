/** Checks what a script sends before a handler sees it. Everything here may come from hostile code. */

import { isObject, type Json, MeshError } from "@mesh/kernel";

import { OP_ARGS, type OpArgKind } from "../op.ts";

const CHECKS: Readonly<Record<OpArgKind, (value: Json) => boolean>> = {
  text: isText,
  "text?": (value) => value === null || isText(value),
  number: isNumber,
  "number?": (value) => value === null || isNumber(value),
  value: () => true,
  list: Array.isArray,
  texts: (value) => Array.isArray(value) && value.every(isText),
  record: isObject,
  "record?": (value) => value === null || isObject(value),
  callback: isNumber,
  "callback?": (value) => value === null || isNumber(value),
};

const KINDS: Readonly<Record<string, readonly OpArgKind[] | undefined>> = Object.assign(
  Object.create(null) as Record<string, readonly OpArgKind[]>,
  OP_ARGS,
);

/** The arguments of an operation; refuses unknown operations and arguments of the wrong kind. */
export function readOpArguments(op: string, text: string): readonly Json[] {
  const kinds = KINDS[op];
  if (kinds === undefined)
    throw new MeshError("unimplemented", `There is no operation ${JSON.stringify(op.slice(0, 100))}`);
  const args = parsed(op, text);
  if (!Array.isArray(args) || args.length !== kinds.length) {
    throw new MeshError("invalid_argument", `${op} takes ${kinds.length} arguments`);
  }
  const values: readonly Json[] = args;
  for (const [index, kind] of kinds.entries()) {
    if (!CHECKS[kind](values[index] ?? null)) {
      throw new MeshError("invalid_argument", `${op}: argument ${index + 1} must be ${WORDS[kind]}`);
    }
  }
  return values;
}

function parsed(op: string, text: string): Json {
  try {
    return parseUntrusted(text);
  } catch {
    throw new MeshError("invalid_argument", `The arguments of ${op} cannot be read`);
  }
}

/** JSON of a script, without keys that could change the prototype of whatever they are copied to. */
export function parseUntrusted(text: string): Json {
  // The guest's JSON never escapes these letters, so that the common case is one search.
  if (!text.includes("__proto__")) return JSON.parse(text) as Json;
  return JSON.parse(text, function reviver(this: unknown, key: string, value: Json): Json | undefined {
    return key === "__proto__" ? undefined : value;
  }) as Json;
}

const WORDS: Readonly<Record<OpArgKind, string>> = {
  text: "a text",
  "text?": "a text or null",
  number: "a number",
  "number?": "a number or null",
  value: "a value",
  list: "a list",
  texts: "a list of texts",
  record: "an object",
  "record?": "an object or null",
  callback: "a function's number",
  "callback?": "a function's number or null",
};

function isText(value: Json): value is string {
  return typeof value === "string";
}

function isNumber(value: Json): value is number {
  return typeof value === "number";
}
