/** Shapes as JSON Schema (draft 7, which editors speak), so that what an editor underlines is what the loader refuses. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { ConfigKind } from "./config-kind.ts";
import type { Field, NumberShape, ObjectShape, Shape } from "./shape.ts";

/** The JSON Schema of one kind of file. */
export function jsonSchemaOf(kind: ConfigKind): JsonObject {
  const definitions = new Map<string, Json>();
  const root = schemaOf(kind.shape, definitions);
  if (kind.shape.kind === "object") allowSchemaKey(root);
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: kind.title,
    description: kind.doc,
    ...root,
    ...(definitions.size === 0 ? {} : { definitions: Object.fromEntries(definitions) }),
  };
}

type MutableSchema = { [key: string]: Json };

function allowSchemaKey(root: MutableSchema): void {
  const properties = root["properties"];
  if (!isObject(properties)) return;
  root["properties"] = {
    $schema: { type: "string", description: "The schema of this file, for editors." },
    ...properties,
  };
}

function schemaOf(shape: Shape, definitions: Map<string, Json>): MutableSchema {
  switch (shape.kind) {
    case "any":
      return {};
    case "text":
      return { type: "string" };
    case "flag":
      return { type: "boolean" };
    case "number":
      return numberSchema(shape);
    case "word":
      if (shape.isOpen === true) return { anyOf: [{ enum: [...shape.words] }, { type: "string" }] };
      return { enum: [...shape.words] };
    case "list":
      return { type: "array", items: schemaOf(shape.of, definitions) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(shape.of, definitions) };
    case "object":
      return objectSchema(shape, definitions);
    case "either":
      return { anyOf: shape.of.map((option) => schemaOf(option, definitions)) };
    case "named":
      if (!definitions.has(shape.name)) {
        // Set first: the shape may hold itself.
        definitions.set(shape.name, {});
        definitions.set(shape.name, schemaOf(shape.shape(), definitions));
      }
      return { $ref: `#/definitions/${shape.name}` };
  }
}

function numberSchema({ isWhole, min, max }: NumberShape): MutableSchema {
  return {
    type: isWhole === true ? "integer" : "number",
    ...(min === undefined ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
  };
}

function objectSchema({ fields, isOpen, marker }: ObjectShape, definitions: Map<string, Json>): MutableSchema {
  const keys = Object.keys(fields).filter((key) => fields[key]?.isRequired === true);
  const required = marker === undefined || keys.includes(marker) ? keys : [...keys, marker];
  const properties = Object.entries(fields).map(([key, field]) => [key, fieldSchema(field, definitions)]);
  return {
    type: "object",
    properties: Object.fromEntries(properties) as JsonObject,
    ...(required.length === 0 ? {} : { required }),
    ...(isOpen === true ? {} : { additionalProperties: false }),
  };
}

function fieldSchema({ shape, doc, legacy, tolerated }: Field, definitions: Map<string, Json>): MutableSchema {
  if (legacy !== undefined) return { description: doc, deprecated: true };
  const schema = schemaOf(shape, definitions);
  if (tolerated !== undefined) return { description: doc, anyOf: [schema, { type: JSON_TYPES[tolerated.kind] }] };
  // Beside $ref, draft 7 ignores everything.
  return "$ref" in schema ? { description: doc, allOf: [schema] } : { description: doc, ...schema };
}

const JSON_TYPES = {
  null: "null",
  boolean: "boolean",
  number: "number",
  string: "string",
  list: "array",
  object: "object",
} as const;
