/**
 * JSON Schema as Gemini takes it: the subset of OpenAPI that its schema type knows, local references resolved. What has no
 * counterpart is left out; the tool's own validation still uses the full schema.
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

const KEPT: ReadonlySet<string> = new Set([
  "title",
  "description",
  "format",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "pattern",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
  "required",
  "default",
  "example",
  "nullable",
]);
const MAX_DEPTH = 32;

/** Converts a schema; a reference that cannot be followed becomes an object without rules. */
export function geminiSchema(schema: JsonObject): JsonObject {
  return convert(schema, { root: schema, depth: 0, open: [] });
}

interface Place {
  readonly root: JsonObject;
  readonly depth: number;
  /** References being followed, for schemas that contain themselves. */
  readonly open: readonly string[];
}

function convert(given: JsonObject, place: Place): JsonObject {
  const reference = given["$ref"];
  if (place.depth > MAX_DEPTH) return { type: "OBJECT" };
  if (typeof reference === "string") {
    const found = place.open.includes(reference) ? undefined : resolve(place.root, reference);
    if (found === undefined) return { type: "OBJECT" };
    const { $ref: _dropped, ...beside } = given;
    return convert({ ...found, ...beside }, { ...place, depth: place.depth + 1, open: [...place.open, reference] });
  }
  const schema = merged(given);
  const below: Place = { ...place, depth: place.depth + 1 };
  const out: Record<string, Json> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (KEPT.has(name)) out[name] = value;
  }
  addType(out, schema);
  addValues(out, schema);
  if (isObject(schema["properties"])) out["properties"] = eachOf(schema["properties"], below);
  const items = schema["items"];
  if (isObject(items)) out["items"] = convert(items, below);
  else if (out["type"] === "ARRAY") out["items"] = { type: "STRING" };
  addUnion(out, schema, below);
  if (Array.isArray(out["required"])) {
    const known = isObject(out["properties"]) ? out["properties"] : {};
    const required = (out["required"] as readonly Json[]).filter((name) => typeof name === "string" && name in known);
    if (required.length === 0) delete out["required"];
    else out["required"] = required;
  }
  return out;
}

// `allOf` has no counterpart; its parts are laid over each other.
function merged(schema: JsonObject): JsonObject {
  if (!Array.isArray(schema["allOf"])) return schema;
  const { allOf: _dropped, ...rest } = schema;
  return (schema["allOf"] as readonly Json[]).reduce<JsonObject>((all, part) => {
    if (!isObject(part)) return all;
    const properties = { ...(all["properties"] as JsonObject), ...(part["properties"] as JsonObject) };
    return { ...all, ...part, ...(Object.keys(properties).length === 0 ? {} : { properties }) };
  }, rest);
}

function addType(out: Record<string, Json>, schema: JsonObject): void {
  const { type } = schema;
  if (typeof type === "string") out["type"] = type.toUpperCase();
  else if (Array.isArray(type)) {
    const types = (type as readonly Json[]).filter((each) => typeof each === "string" && each !== "null");
    if (types.length < type.length) out["nullable"] = true;
    const [first] = types;
    if (types.length === 1 && typeof first === "string") out["type"] = first.toUpperCase();
    else out["anyOf"] = types.map((each) => ({ type: typeof each === "string" ? each.toUpperCase() : "STRING" }));
  } else if (isObject(schema["properties"])) out["type"] = "OBJECT";
}

function addValues(out: Record<string, Json>, schema: JsonObject): void {
  const values = schema["const"] === undefined ? schema["enum"] : [schema["const"]];
  if (!Array.isArray(values)) return;
  // Only strings can be enumerated.
  if (values.every((value) => typeof value === "string")) {
    out["enum"] = values;
    out["type"] = "STRING";
  } else {
    const listed = `One of: ${values.map((value) => JSON.stringify(value)).join(", ")}`;
    out["description"] = typeof out["description"] === "string" ? `${out["description"]} ${listed}` : listed;
  }
}

function addUnion(out: Record<string, Json>, schema: JsonObject, below: Place): void {
  const union = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(union)) return;
  const parts = (union as readonly Json[]).filter(isObject).map((part) => convert(part as JsonObject, below));
  const real = parts.filter((part) => part["type"] !== "NULL");
  if (real.length < parts.length) out["nullable"] = true;
  const [only] = real;
  if (real.length === 1 && only !== undefined) Object.assign(out, only);
  else if (real.length > 1) out["anyOf"] = real;
}

function eachOf(properties: JsonObject, place: Place): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [name, isObject(value) ? convert(value, place) : {}]),
  );
}

function resolve(root: JsonObject, reference: string): JsonObject | undefined {
  if (!reference.startsWith("#")) return undefined;
  let at: unknown = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    at = isObject(at) ? at[name] : undefined;
  }
  return isObject(at) ? (at as JsonObject) : undefined;
}
