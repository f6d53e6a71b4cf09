/** What a model file may hold, for editors. Who creates tables from it checks it too, in more detail. */

import {
  any,
  anyMap,
  count,
  field,
  flag,
  listOf,
  object,
  type ObjectShape,
  openObject,
  openWord,
  required,
  type Shape,
  text,
  texts,
  word,
} from "./shape.ts";

const TYPES = [
  "ID", "string", "char", "text", "mediumText", "longText", "tinyInteger", "smallInteger", "integer", "bigInteger",
  "unsignedInteger", "unsignedBigInteger", "float", "double", "decimal", "boolean", "date", "datetime", "timestamp",
  "time", "year", "json", "jsonb", "uuid", "binary", "enum", "ipAddress", "macAddress",
]; // prettier-ignore

const column = openObject({
  name: required(text, "Name of the column."),
  type: required(openWord(...TYPES), "What it holds."),
  label: field(text, "What people call it."),
  comment: field(text, "What it means."),
  description: field(text, "What it means."),
  primary: field(flag, "Whether it is the primary key."),
  nullable: field(flag, "Whether it may be empty."),
  default: field(any, "The value when none is given."),
  default_raw: field(text, "An expression of the database for it."),
  unique: field(flag, "Whether each value occurs once."),
  index: field(flag, "Whether it is searched by."),
  length: field(count, "Length of a text: 255 unless stated."),
  precision: field(count, "Digits of a number."),
  scale: field(count, "Digits after the point."),
  option: field(listOf(any), "The words of an enum."),
  crypt: field(openWord("AES", "PASSWORD"), "How the value is protected."),
  validations: field(
    listOf(
      openObject({
        method: required(text, "What is checked."),
        args: field(listOf(any), "What it is checked against."),
        message: field(text, "What is said when it does not hold."),
      }),
    ),
    "What values must be.",
  ),
});

const relation: Shape = openObject({
  type: required(word("hasOne", "hasMany", "hasOneThrough", "hasManyThrough"), "How the models belong together."),
  model: field(text, "The other model."),
  key: field(text, "The column of the other model."),
  foreign: field(text, "The column of this model."),
  links: field(listOf(anyMap), "The models in between."),
  select: field(texts, "The columns to read."),
  query: field(anyMap, "A query of its own."),
});

/** A file *.mod.yao. */
export const MODEL_SHAPE: ObjectShape = openObject({
  name: field(text, "What people call the model."),
  label: field(text, "What people call it."),
  description: field(text, "What it holds."),
  tags: field(texts, "Words to find it by."),
  table: field(
    openObject({
      name: field(text, "Name of the table; a prefix keeps assistants apart."),
      comment: field(text, "What it holds."),
    }),
    "The table.",
  ),
  columns: required(listOf(column), "The columns."),
  relations: field({ kind: "map", of: relation }, "How it belongs to other models."),
  values: field(listOf(any), "The first rows of a new table."),
  indexes: field(
    listOf(
      object({
        name: required(text, "Name of the index."),
        columns: required(texts, "Its columns."),
        type: field(word("index", "unique", "fulltext", "primary", "match"), "What kind."),
        comment: field(text, "What it is for."),
      }),
    ),
    "Indexes over several columns.",
  ),
  option: field(
    openObject({
      timestamps: field(flag, "Whether created_at and updated_at are kept."),
      soft_deletes: field(flag, "Whether deleted rows stay, marked by deleted_at."),
      permission: field(flag, "Whether rows belong to who made them."),
      trackings: field(flag, "Whether changes are kept."),
      readonly: field(flag, "Whether rows may only be read."),
    }),
    "What is done by itself.",
  ),
});
