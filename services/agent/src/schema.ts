/** Validates JSON values against JSON Schema without generating code; a schema that is not one is a clear error. */

import { Validator } from "@cfworker/json-schema";
import { errorText, isObject, type JsonObject, MeshError } from "@mesh/kernel";

import { plainCheck } from "./plain-schema.ts";

/** What is wrong with a value: where and why, most specific first; empty when it is valid. */
export type SchemaFaults = readonly string[];

/** A compiled schema. */
export interface CompiledSchema {
  check(value: unknown): SchemaFaults;
}

const NO_FAULTS: SchemaFaults = [];
const MAX_FAULTS = 8;
const MAX_DEPTH = 200;
const TYPES: ReadonlySet<unknown> = new Set(["object", "array", "string", "number", "integer", "boolean", "null"]);

// Keyed by identity: tools keep one schema object for their whole life.
const compiled = new WeakMap<JsonObject, CompiledSchema>();

/** Compiles a schema once; throws `invalid_argument` when it is not JSON Schema. */
export function compileSchema(schema: JsonObject, what: string): CompiledSchema {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const fault = schemaFault(schema, 0);
  if (fault !== undefined)
    throw new MeshError("invalid_argument", `the schema of ${what} is not JSON Schema: ${fault}`);
  let validator: Validator;
  try {
    validator = new Validator(schema, draftOf(schema), false);
    validator.validate({});
  } catch (cause) {
    throw new MeshError("invalid_argument", `the schema of ${what} is not JSON Schema: ${errorText(cause)}`, { cause });
  }
  const isPlainlyValid = plainCheck(schema);
  const result: CompiledSchema = {
    check: (value) => (isPlainlyValid?.(value) === true ? NO_FAULTS : checkWith(validator, value)),
  };
  compiled.set(schema, result);
  return result;
}

function checkWith(validator: Validator, value: unknown): SchemaFaults {
  let outcome: ReturnType<Validator["validate"]>;
  try {
    outcome = validator.validate(value);
  } catch (cause) {
    return [`could not be checked: ${errorText(cause)}`];
  }
  if (outcome.valid) return [];
  // Wrapper errors ("does not match schema of property x") only repeat what their leaves say.
  const leaves = outcome.errors.filter((error) => !WRAPPERS.has(error.keyword));
  const errors = leaves.length > 0 ? leaves : outcome.errors;
  const lines = errors.map((error) => `${pathOf(error.instanceLocation)}: ${error.error}`);
  return [...new Set(lines)].slice(0, MAX_FAULTS);
}

const WRAPPERS: ReadonlySet<string> = new Set(["properties", "items", "$ref", "allOf", "additionalProperties"]);

function pathOf(location: string): string {
  const path = location.replace(/^#/, "");
  return path === "" ? "(root)" : path;
}

function draftOf(schema: JsonObject): "7" | "2019-09" | "2020-12" | "4" {
  const uri = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  if (uri.includes("2019-09")) return "2019-09";
  if (uri.includes("draft-04")) return "4";
  return uri.includes("draft-07") || uri.includes("draft-06") ? "7" : "2020-12";
}

/** What the validator would silently ignore: a wrong `type`, `properties` that is no object, and so on. */
function schemaFault(schema: unknown, depth: number): string | undefined {
  if (typeof schema === "boolean") return undefined;
  if (!isObject(schema)) return `${JSON.stringify(schema)?.slice(0, 60)} stands where a schema should`;
  if (depth > MAX_DEPTH) return "it is nested too deeply";
  const fault = keywordFault(schema) ?? listFault(schema, depth);
  if (fault !== undefined) return fault;
  for (const keyword of ["properties", "$defs", "definitions", "patternProperties"]) {
    const children = schema[keyword];
    if (children === undefined) continue;
    if (!isObject(children)) return `"${keyword}" is not an object`;
    for (const child of Object.values(children)) {
      const inner = schemaFault(child, depth + 1);
      if (inner !== undefined) return inner;
    }
  }
  return undefined;
}

function keywordFault(schema: Record<string, unknown>): string | undefined {
  const types = Array.isArray(schema["type"]) ? schema["type"] : [schema["type"] ?? "object"];
  const bad: unknown = types.find((type) => !TYPES.has(type));
  if (bad !== undefined || types.length === 0) return `unknown type ${JSON.stringify(bad ?? [])}`;
  if (schema["required"] !== undefined && !isStrings(schema["required"])) return '"required" is not a list of names';
  return schema["enum"] === undefined || Array.isArray(schema["enum"]) ? undefined : '"enum" is not a list';
}

function listFault(schema: Record<string, unknown>, depth: number): string | undefined {
  for (const keyword of ["anyOf", "oneOf", "allOf"]) {
    const children = schema[keyword];
    if (children === undefined) continue;
    if (!Array.isArray(children)) return `"${keyword}" is not a list`;
    for (const child of children) {
      const fault = schemaFault(child, depth + 1);
      if (fault !== undefined) return fault;
    }
  }
  const items = schema["items"];
  if (items === undefined || Array.isArray(items)) return undefined;
  return schemaFault(items, depth + 1);
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
