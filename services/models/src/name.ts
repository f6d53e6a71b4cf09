/**
 * Names: ids of models from paths, and names of tables, indexes and schemas.
 *
 * N1  A name of this file never holds a dot, a quote or a space, so it stays one identifier wherever it is put.
 * N2  A name that is too long for PostgreSQL is cut and ends in a digest of the whole: different names stay different.
 */

import { createHash } from "node:crypto";

import { canonicalJson, MeshError } from "@mesh/kernel";

import type { ModelDefinition, ModelIndex } from "./model.ts";

const MAX_NAME_BYTES = 63;
const DIGEST_LENGTH = 10;
const SUFFIX = /\.mod\.(?:yao|json|jsonc)$/;
const COLUMN_NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u;
const SCHEMA_NAME = /^ws_[a-z0-9]{1,60}$/;
// Columns every table of PostgreSQL has already.
const SYSTEM_COLUMNS = new Set(["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]);

/** Where a model file is, and what follows from that. */
export interface ModelPlace {
  readonly id: string;
  readonly assistantId: string | undefined;
  /** Name of the table when the file gives none. */
  readonly baseName: string;
}

/** Reads a path such as `assistants/shop/models/a/b.mod.yao`; undefined when it is no place for a model. */
export function placeOf(path: string): ModelPlace | undefined {
  if (!SUFFIX.test(path)) return undefined;
  const parts = path.replace(SUFFIX, "").split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return undefined;
  if (parts[0] === "models" && parts.length > 1) return place(parts.slice(1), undefined);
  const at = parts.indexOf("models", 2);
  if (parts[0] !== "assistants" || at === -1 || at === parts.length - 1) return undefined;
  return place(parts.slice(at + 1), parts.slice(1, at).join("."));
}

function place(parts: readonly string[], assistantId: string | undefined): ModelPlace {
  const dotted = parts.join(".");
  const id = assistantId === undefined ? dotted : `agents.${assistantId}.${dotted}`;
  return { id, assistantId, baseName: parts.join("_") };
}

/** The table of a model: the written name, behind the assistant's prefix. */
export function tableName(written: string, assistantId: string | undefined): string {
  const name = identifier(written);
  if (assistantId === undefined) return shortened(name);
  const prefix = identifier(`agents_${assistantId}_`);
  return shortened(name.startsWith(prefix) ? name : prefix + name);
}

/** The index's name in the database; another definition has another name. */
export function indexName(model: ModelDefinition, index: ModelIndex): string {
  const definition = [model.table, index.columns, index.type, model.hasSoftDeletes];
  return shortened(`${identifier(`${model.table}_${index.name}`)}_ix${digest(canonicalJson(definition))}`);
}

/** Whether an index of the database was made by {@link indexName}. */
export function isModelIndexName(name: string): boolean {
  return /_ix[0-9a-f]{10}$/.test(name) || /_[0-9a-f]{10}$/.test(name);
}

/** The name of the rule that keeps a column to its options. */
export function checkName(table: string, column: string): string {
  return shortened(`${table}_${column}_options`);
}

/** Why this cannot be a column's name, or undefined. */
export function columnNameFault(name: string): string | undefined {
  if (!COLUMN_NAME.test(name)) return "a column name has letters, digits and _ only and starts with a letter or _";
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) return `a column name has at most ${MAX_NAME_BYTES} bytes`;
  if (SYSTEM_COLUMNS.has(name) || name === "__proto__") return `the column name "${name}" is reserved; choose another`;
  return undefined;
}

/** The PostgreSQL schema that holds a workspace's tables: the workspace's id itself. */
export function workspaceSchema(workspaceId: string): string {
  if (SCHEMA_NAME.test(workspaceId)) return workspaceId;
  throw new MeshError("invalid_argument", "this is not the id of a workspace: it must look like ws_01j9…");
}

function identifier(text: string): string {
  return text.replaceAll(/[^\p{L}\p{M}\p{N}_]/gu, "_");
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_NAME_BYTES) return name;
  const room = MAX_NAME_BYTES - DIGEST_LENGTH - 1;
  let cut = "";
  for (const letter of name) {
    if (Buffer.byteLength(cut + letter) > room) break;
    cut += letter;
  }
  return `${cut}_${digest(name)}`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_LENGTH);
}
