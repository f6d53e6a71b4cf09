/** The rules a column may set for its values. Patterns run in linear time: a model cannot stall the process with one. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import { RE2JS } from "re2js";

import { lengthOf, textOf } from "./json-text.ts";
import type { Column, Validation } from "./model.ts";

type Accepts = (value: Json) => boolean;

const MAX_PATTERN_LENGTH = 1000;

const EMAIL = RE2JS.compile(String.raw`^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$`);
const MOBILE = RE2JS.compile(String.raw`^\+?[0-9][0-9 -]{5,18}[0-9]$`);

const CHECKS: Readonly<Record<string, (args: readonly Json[]) => Accepts>> = {
  typeof:
    ([type]) =>
    (value) =>
      isOfType(value, textOf(type ?? "")),
  min:
    ([limit]) =>
    (value) =>
      Number(value) >= Number(limit),
  max:
    ([limit]) =>
    (value) =>
      Number(value) <= Number(limit),
  enum: (options) => (value) => options.some((option) => textOf(option) === textOf(value)),
  pattern: ([pattern]) => matches(RE2JS.compile(textOf(pattern ?? ""))),
  minLength:
    ([limit]) =>
    (value) =>
      lengthOf(textOf(value)) >= Number(limit),
  maxLength:
    ([limit]) =>
    (value) =>
      lengthOf(textOf(value)) <= Number(limit),
  email: () => matches(EMAIL),
  mobile: () => matches(MOBILE),
};

/** The methods a rule may name. */
export const VALIDATION_METHODS: readonly string[] = Object.keys(CHECKS);

/** Makes a rule; gives the reason when there is none. */
export function makeValidation(
  method: string,
  args: readonly Json[],
  message: string | undefined,
): Validation | { readonly fault: string } {
  const make = Object.hasOwn(CHECKS, method) ? CHECKS[method] : undefined;
  if (make === undefined) return { fault: `unknown validation; the methods are ${VALIDATION_METHODS.join(", ")}` };
  const [first] = args;
  if (method === "pattern" && (typeof first !== "string" || first.length > MAX_PATTERN_LENGTH)) {
    return { fault: `a pattern is one text of at most ${MAX_PATTERN_LENGTH} characters` };
  }
  try {
    return { method, message, accepts: make(args) };
  } catch {
    return { fault: "not a valid pattern (look-arounds and back-references are not supported)" };
  }
}

/** Throws `invalid_argument` with the rule's own words when a value breaks one; null breaks none. */
export function checkValidations(column: Column, value: Json): void {
  if (value === null) return;
  for (const { method, message, accepts } of column.validations) {
    if (accepts(value)) continue;
    const text = (message ?? "{{label}} does not pass {{method}}")
      .replaceAll("{{input}}", () => (column.crypt === undefined ? textOf(value).slice(0, 100) : "the value"))
      .replaceAll("{{label}}", () => column.label)
      .replaceAll("{{method}}", () => method);
    throw new MeshError("invalid_argument", `${column.name}: ${text}`, { details: { column: column.name } });
  }
}

const IS_TYPE: Readonly<Record<string, Accepts>> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(numberOf(value)),
  int: (value) => Number.isInteger(numberOf(value)),
  number: (value) => Number.isFinite(numberOf(value)),
  float: (value) => Number.isFinite(numberOf(value)),
  double: (value) => Number.isFinite(numberOf(value)),
  bool: (value) => typeof value === "boolean" || value === 0 || value === 1,
  boolean: (value) => typeof value === "boolean" || value === 0 || value === 1,
  array: (value) => Array.isArray(value),
  object: isObject,
  map: isObject,
};

// A type nobody knows excludes nothing.
function isOfType(value: Json, type: string): boolean {
  const name = type.toLowerCase();
  return !Object.hasOwn(IS_TYPE, name) || IS_TYPE[name]?.(value) === true;
}

function numberOf(value: Json): number {
  if (typeof value === "string") return value.trim() === "" ? Number.NaN : Number(value);
  return typeof value === "number" ? value : Number.NaN;
}

function matches(pattern: RE2JS): Accepts {
  return (value) => pattern.matcher(textOf(value)).find();
}
