/** Validates values against the JSON Schemas of tools, without generating code; faults name the field. */

import { Validator } from "@cfworker/json-schema";
import { errorText, type JsonObject } from "@mesh/kernel";

const MAX_FAULTS = 8;
/** Faults that only repeat what those inside them say. */
const WRAPPERS: ReadonlySet<string> = new Set(["properties", "items", "$ref", "allOf", "additionalProperties"]);

// Keyed by identity: a listed tool keeps its schema object until the list changes.
const validators = new WeakMap<JsonObject, Validator>();

/** What is wrong with a value, one line each; empty when it is valid or when the schema itself cannot be used. */
export function schemaFaults(schema: JsonObject, value: unknown): readonly string[] {
  let outcome: ReturnType<Validator["validate"]>;
  try {
    outcome = validatorOf(schema).validate(value);
  } catch (error) {
    // A server's broken schema is no reason to keep its tool from being called; a cyclic or too deep value is.
    return error instanceof RangeError ? [`could not be checked: ${errorText(error)}`] : [];
  }
  if (outcome.valid) return [];
  const leaves = outcome.errors.filter((error) => !WRAPPERS.has(error.keyword));
  const errors = leaves.length > 0 ? leaves : outcome.errors;
  return [...new Set(errors.map((error) => `${fieldOf(error.instanceLocation)}: ${error.error}`))].slice(0, MAX_FAULTS);
}

function validatorOf(schema: JsonObject): Validator {
  const known = validators.get(schema);
  if (known !== undefined) return known;
  const validator = new Validator(schema, draftOf(schema), false);
  validators.set(schema, validator);
  return validator;
}

function draftOf(schema: JsonObject): "4" | "7" | "2019-09" | "2020-12" {
  const uri = typeof schema["$schema"] === "string" ? schema["$schema"] : "";
  if (uri.includes("2019-09")) return "2019-09";
  if (uri.includes("draft-04")) return "4";
  return uri.includes("draft-07") || uri.includes("draft-06") ? "7" : "2020-12";
}

/** `#/items/0/name` as `items.0.name`. */
function fieldOf(location: string): string {
  const path = location.replace(/^#\/?/, "").split("/");
  const names = path.map((name) => decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.join(".") === "" ? "arguments" : names.join(".");
}
