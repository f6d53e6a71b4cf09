/** What the database refused, in terms of the model. */

import { type ErrorCode, MeshError } from "@mesh/kernel";
import { databaseError } from "@mesh/store";

import type { ModelDefinition } from "./model.ts";
import { indexName } from "./name.ts";

interface Meaning {
  readonly code: ErrorCode;
  readonly message: string;
}

// By SQLSTATE.
const MEANINGS: Readonly<Record<string, Meaning | undefined>> = {
  "22001": { code: "invalid_argument", message: "a text is too long for its column" },
  "22003": { code: "invalid_argument", message: "a number is too large for its column" },
  "22021": { code: "invalid_argument", message: "a text holds characters that cannot be stored" },
  "22025": { code: "invalid_argument", message: 'a like pattern must not end with "\\"' },
  "22P02": { code: "invalid_argument", message: "a value does not have the form of its column" },
  "22P05": { code: "invalid_argument", message: "a text holds characters that cannot be stored" },
  "23502": { code: "invalid_argument", message: "a required column is empty" },
  "23514": { code: "invalid_argument", message: "a value is not among the options of its column" },
  "42P01": { code: "failed_precondition", message: "its table is not there yet; push the app to create it" },
  "42703": { code: "failed_precondition", message: "its table lacks a column; push the app to add it" },
  "42P10": { code: "invalid_argument", message: "there is no unique index on exactly these columns" },
  "54000": { code: "invalid_argument", message: "a value is too long for an index" },
  "57014": { code: "deadline_exceeded", message: "the query took too long; narrow it or add an index" },
};

/** The MeshError of anything a statement on this model failed with. */
export function modelError(thrown: unknown, model: ModelDefinition): MeshError {
  if (thrown instanceof MeshError) return thrown;
  const state = textOf(thrown, "code");
  if (state === "23505") return conflict(thrown, model);
  const meaning = state === undefined ? undefined : (MEANINGS[state] ?? dataFault(state));
  if (meaning === undefined) return databaseError(thrown, `${model.id}: the database refused`);
  const column = textOf(thrown, "column_name");
  const where = column !== undefined && model.columns.has(column) ? ` (${column})` : "";
  return new MeshError(meaning.code, `${model.id}: ${meaning.message}${where}`, { cause: thrown });
}

/** Whether a new row failed because its generated key was taken already. */
export function isKeyTaken(thrown: unknown, model: ModelDefinition): boolean {
  if (textOf(thrown, "code") !== "23505") return false;
  const constraint = textOf(thrown, "constraint_name");
  return constraint !== undefined && !model.indexes.some((index) => indexName(model, index) === constraint);
}

function conflict(thrown: unknown, model: ModelDefinition): MeshError {
  const constraint = textOf(thrown, "constraint_name");
  const index = model.indexes.find((candidate) => indexName(model, candidate) === constraint);
  const columns = index?.columns ?? (model.primaryKey === undefined ? [] : [model.primaryKey.name]);
  return new MeshError("already_exists", `${model.id}: a row with the same ${columns.join(" and ")} exists already`, {
    details: { columns },
    cause: thrown,
  });
}

// Class 22 is about data in general.
function dataFault(state: string): Meaning | undefined {
  if (!state.startsWith("22")) return undefined;
  return { code: "invalid_argument", message: "a value does not fit its column" };
}

function textOf(thrown: unknown, key: string): string | undefined {
  if (typeof thrown !== "object" || thrown === null || !(key in thrown)) return undefined;
  const value: unknown = (thrown as Record<string, unknown>)[key];
  return typeof value === "string" ? value : undefined;
}
