/**
 * A quick yes for values of the schemas that most tools have: an object of plainly typed fields.
 *
 * Q1  What passes here passes the validator as well; a no means only that the validator must say what is wrong.
 * Q2  A schema with any keyword that is not understood here has no quick check.
 */

import { isObject } from "@mesh/kernel";

/** Whether a value is certainly valid. */
export type PlainCheck = (value: unknown) => boolean;

const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$comment",
  "$schema",
]);
const KNOWN: ReadonlySet<string> = new Set(["type", "enum", "properties", "required", "additionalProperties", "items"]);

const TYPE_CHECKS: ReadonlyMap<unknown, PlainCheck> = new Map<unknown, PlainCheck>([
  ["string", (value) => typeof value === "string"],
  ["number", Number.isFinite],
  ["integer", Number.isInteger],
  ["boolean", (value) => typeof value === "boolean"],
  ["null", (value) => value === null],
]);

/** The check of a schema that is known to be one; undefined where only the validator can tell. */
export function plainCheck(schema: unknown): PlainCheck | undefined {
  if (!isObject(schema)) return undefined;
  for (const keyword of Object.keys(schema)) {
    if (!ANNOTATIONS.has(keyword) && !KNOWN.has(keyword)) return undefined;
  }
  const { type, enum: choices } = schema;
  if (type === "object") return choices === undefined ? objectCheck(schema) : undefined;
  if (type === "array") return choices === undefined ? arrayCheck(schema["items"]) : undefined;
  const ofType = TYPE_CHECKS.get(type);
  if (ofType === undefined || choices === undefined) return ofType;
  // Objects and lists are equal by their parts; values of these types by themselves.
  return Array.isArray(choices) ? (value) => ofType(value) && choices.includes(value) : undefined;
}

function arrayCheck(items: unknown): PlainCheck | undefined {
  if (items === undefined) return Array.isArray;
  const item = plainCheck(items);
  return item === undefined ? undefined : (value) => Array.isArray(value) && value.every(item);
}

function objectCheck(schema: Record<string, unknown>): PlainCheck | undefined {
  const { properties = {}, required = [], additionalProperties = true } = schema;
  if (!isObject(properties) || !Array.isArray(required) || typeof additionalProperties !== "boolean") return undefined;
  const checks = new Map<string, PlainCheck>();
  for (const [name, child] of Object.entries(properties)) {
    const check = plainCheck(child);
    // The validator sees what every object inherits as fields of it.
    if (check === undefined || name in Object.prototype) return undefined;
    checks.set(name, check);
  }
  return (value) => {
    if (!isObject(value)) return false;
    for (const name of required) if (!Object.hasOwn(value, name)) return false;
    for (const name of Object.keys(value)) {
      const check = checks.get(name);
      if (check === undefined ? !additionalProperties : !check(value[name])) return false;
    }
    return true;
  };
}
