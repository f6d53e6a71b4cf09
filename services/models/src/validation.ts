/** The rules a column may set for its values. Patterns run in linear time: a model cannot stall the process with one. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import { RE2JS } from "re2js";

import type { Column, Validation } from "./model.ts";

type Accepts = (value: Json) => boolean;

const MAX_PATTERN_LENGTH = 1000;

const EMAIL = RE2JS.compile(String.raw`^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$`);
const MOBILE = RE2JS.compile(String.raw`^\+?[0-9][0-9 -]{5,18}[0-9]$`);

const CHECKS: Readonly<Record<string, (args: readonly Json[]) => Accepts>> = {
  typeof: ([type]) => (value) => isOfType(value, String(type)),
  min: ([limit]) => (value) => Number(value) >= Number(limit),
  max: ([limit]) => (value) => Number(value) <= Number(limit),
  enum: (options) => (value) => options.some((option) => String(option) === String(value)),
  pattern: ([pattern]) => matches(RE2JS.compile(String(pattern))),
  minLength: ([limit]) => (value) => [...textOf(value)].length >= Number(limit),
  maxLength: ([limit]) => (value) => [...textOf(value)].length <= Number(limit),
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

function isOfType(value: Json, type: string): boolean {
  switch (type.toLowerCase()) {
    case "string":
      return typeof value === "string";
    case "integer":
    case "int":
      return Number.isInteger(typeof value === "string" && value.trim() !== "" ? Number(value) : value);
    case "number":
    case "float":
    case "double":
      return Number.isFinite(typeof value === "string" && value.trim() !== "" ? Number(value) : value);
    case "bool":
    case "boolean":
      return typeof value === "boolean" || value === 0 || value === 1;
    case "array":
      return Array.isArray(value);
    case "object":
    case "map":
      return isObject(value);
    default:
      return true;
  }
}

function textOf(value: Json): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function matches(pattern: RE2JS): Accepts {
  return (value) => pattern.matcher(textOf(value)).find();
}
