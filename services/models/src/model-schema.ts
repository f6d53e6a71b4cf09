/** The form of model files as a JSON Schema, for editors. What is right beyond form is checked by `parseModel`. */

import type { JsonObject } from "@mesh/kernel";

import { COLUMN_TYPES } from "./column-type.ts";
import { COLUMN_KEYS } from "./parse-column.ts";
import { MODEL_KEYS, OPTION_KEYS } from "./parse-model.ts";
import { VALIDATION_METHODS } from "./validation.ts";

const text: JsonObject = { type: "string" };
const flag: JsonObject = { type: "boolean" };
const count: JsonObject = { type: "integer", minimum: 1 };
const names: JsonObject = { type: "array", items: text };

function described(schema: JsonObject, description: string): JsonObject {
  return { ...schema, description };
}

const link: JsonObject = {
  model: described(text, "Id of the related model; a model of the same assistant by its short name."),
  key: described(text, "Column of the related model."),
  foreign: described(text, "Column of this model, or of the link before."),
  select: described(names, "Columns of the related rows; all when left out."),
  query: described({ type: "object" }, "Default query of the related rows."),
};

const relation: JsonObject = {
  type: "object",
  required: ["type"],
  properties: {
    ...link,
    type: { enum: ["hasOne", "hasMany", "hasOneThrough", "hasManyThrough"] },
    links: described(
      { type: "array", items: { type: "object", required: ["model", "key", "foreign"], properties: link } },
      "The way to the related rows, for the types that end in Through.",
    ),
  },
};

const validation: JsonObject = {
  type: "object",
  required: ["method"],
  properties: {
    method: { enum: [...VALIDATION_METHODS] },
    args: { type: "array" },
    message: described(text, "May hold {{input}} and {{label}}."),
  },
};

const columnProperties: JsonObject = {
  name: described(text, "Letters, digits and _; unique in the model."),
  type: described({ enum: [...COLUMN_TYPES] }, "What the column holds."),
  label: described(text, "Name for people."),
  comment: described(text, "Comment of the column in the database."),
  length: described(count, "Longest text; 255 when left out."),
  precision: described(count, "Digits of a decimal; 10 when left out."),
  scale: described({ type: "integer", minimum: 0 }, "Digits of a decimal behind the point; 2 when left out."),
  option: described({ type: "array", items: { type: ["string", "number"] }, minItems: 1 }, "The values of an enum."),
  default: described({}, "Value of a row that gives none."),
  default_raw: described(text, "NOW() for times, UUID() for a uuid."),
  nullable: described(flag, "Whether a row may leave it empty; false when left out."),
  index: described(flag, "Finds rows by this column faster."),
  unique: described(flag, "No two rows have the same value."),
  primary: described(flag, "The key rows are found by; a column of type ID always is."),
  crypt: described({ enum: ["AES", "PASSWORD"] }, "Encrypted, or kept as a hash."),
  validations: described({ type: "array", items: validation }, "Rules for values."),
};

/** JSON Schema (draft 2020-12) of a `*.mod.yao` file. */
export const modelSchema: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Data model",
  type: "object",
  required: ["columns"],
  properties: {
    ...anything(MODEL_KEYS),
    name: described(text, "Name of the model."),
    label: described(text, "Name for people."),
    description: described(text, "What the rows are."),
    table: {
      type: "object",
      properties: {
        name: described(text, "Name of the table; an assistant's gets the assistant's prefix."),
        comment: described(text, "Comment of the table in the database."),
      },
    },
    columns: {
      type: "array",
      minItems: 1,
      items: {
        type: "object",
        required: ["name", "type"],
        properties: { ...anything(COLUMN_KEYS), ...columnProperties },
        additionalProperties: false,
      },
    },
    relations: { type: "object", additionalProperties: relation },
    values: described({ type: "array", items: { type: "object" } }, "Rows a new table starts with."),
    indexes: {
      type: "array",
      items: {
        type: "object",
        required: ["columns"],
        properties: {
          name: text,
          comment: text,
          columns: { ...names, minItems: 1 },
          type: { enum: ["index", "unique", "fulltext", "primary"] },
        },
      },
    },
    option: {
      type: "object",
      properties: {
        ...anything(OPTION_KEYS),
        timestamps: described(flag, "Adds created_at and updated_at."),
        soft_deletes: described(flag, "Adds deleted_at; deleted rows are hidden, not removed."),
        permission: described(flag, "Rows belong to the user or team that made them."),
        readonly: described(flag, "Rows are only read."),
      },
      additionalProperties: false,
    },
  },
  additionalProperties: false,
};

function anything(keys: readonly string[]): JsonObject {
  return Object.fromEntries(keys.map((key) => [key, {}]));
}
