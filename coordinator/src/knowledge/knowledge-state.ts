/**
 * What runs ask about the knowledge of their workspace: passages of documents, uploads of messages, files on other devices.
 *
 * K1  The workspace is that of the run's own row: no argument names another one.
 * K2  What a run reads from another device leaves an audit row.
 */

import { filePath, type Ids, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { insertAudit, type Store } from "@mesh/store";

import { keyOf } from "../board/task-view.ts";
import { readPart } from "../files/content.ts";
import type { Devices } from "../files/devices.ts";
import { listFiles } from "../files/file-store.ts";
import { fromFacts, toFile } from "../files/file-view.ts";
import type { RunScope, StateHandler } from "../state/state-rpc.ts";
import { type Hit, searchDocuments } from "./document-search.ts";
import { findByPath, readText } from "./document-store.ts";
import { readUpload } from "./upload-store.ts";

/** What the handlers use. */
export interface KnowledgeStateDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly devices: Devices;
}

const MAX_QUERY_CHARS = 2_000;
const MAX_COLLECTIONS = 50;
const DEFAULT_HITS = 10;
const MAX_HITS = 50;
const PART_BYTES = 512 * 1024;
const MAX_OFFSET = 2 ** 31 - PART_BYTES;
const MAX_LISTED = 500;
const MAX_WORDS = 10;
const MAX_TEXT_CHARS = 200_000;
const READ_MS = 20_000;

/** Handlers of `search` `KB`, `attachment` and `files`. */
export function createKnowledgeState(
  deps: KnowledgeStateDeps,
): Readonly<Record<"search" | "attachment" | "files", StateHandler>> {
  return {
    search: (scope, method, [request]) => {
      if (method !== "KB") throw new MeshError("not_found", `search has no method ${method}`);
      return searchKnowledge(deps, scope, request);
    },
    attachment: async (scope, method, [id, offset]) => {
      if (method !== "Read") throw new MeshError("not_found", `attachments have no method ${method}`);
      return readAttachment(deps, scope, id, offset);
    },
    files: async (scope, method, [request]) => {
      const wanted = isObject(request) ? request : {};
      if (method === "List") return list(deps, scope, wanted);
      if (method === "Read") return read(deps, scope, wanted);
      throw new MeshError("not_found", `files have no method ${method}`);
    },
  };
}

async function searchKnowledge(
  { store }: KnowledgeStateDeps,
  { workspaceId }: RunScope,
  request: Json | undefined,
): Promise<Json> {
  const { query, collections, limit, threshold } = isObject(request) ? request : {};
  if (typeof query !== "string" || query.trim() === "")
    throw new MeshError("invalid_argument", "a search needs {query}");
  const wanted = typeof limit === "number" && limit >= 1 ? Math.min(Math.floor(limit), MAX_HITS) : DEFAULT_HITS;
  const names = Array.isArray(collections)
    ? collections.filter((name) => typeof name === "string").slice(0, MAX_COLLECTIONS)
    : [];
  const hits = await searchDocuments(store.sql, query.slice(0, MAX_QUERY_CHARS), {
    workspaceId,
    collections: names.map((name) => storable(name)),
    limit: wanted,
  });
  const least = typeof threshold === "number" ? threshold : 0;
  return hits.filter(({ score }) => score >= least).map(toItem);
}

/** A passage with all that it takes to cite it. */
function toItem({ document, passage, heading, lineFrom, lineTo, score }: Hit): JsonObject {
  return {
    title: heading === "" || heading === document.title ? document.title : `${document.title} › ${heading}`,
    url: `/documents/${document.id}#L${lineFrom}-L${lineTo}`,
    content: passage,
    score,
    path: document.path,
    line_from: lineFrom,
    line_to: lineTo,
    document_id: document.id,
    version: document.version,
    document_source: document.source,
    ...(document.task_id === null ? {} : { task_id: document.task_id }),
    ...(document.task_number === null ? {} : { task: keyOf(document.task_number) }),
    ...(document.run_id === null ? {} : { run_id: document.run_id }),
    ...(document.node === null ? {} : { node: document.node }),
  };
}

async function readAttachment(
  { store }: KnowledgeStateDeps,
  { workspaceId }: RunScope,
  id: Json | undefined,
  offset: Json | undefined,
): Promise<Json> {
  const from = offset ?? 0;
  if (typeof id !== "string" || !/^(upl|doc)_[0-9a-z]{26}$/.test(id)) {
    throw new MeshError("not_found", "the upload is not one of this workspace, or was too long ago; upload it again");
  }
  if (typeof from !== "number" || !Number.isInteger(from) || from < 0 || from > MAX_OFFSET) {
    throw new MeshError("invalid_argument", "an upload is read from a whole number of bytes on");
  }
  const found = await readUpload(store.sql, workspaceId, { id, offset: from, bytes: PART_BYTES });
  if (found === undefined) {
    throw new MeshError("not_found", "the upload is not one of this workspace, or was too long ago; upload it again");
  }
  const { name, media_type, size_bytes, part } = found;
  return { name, content_type: media_type, total_bytes: size_bytes, base64: part.toString("base64") };
}

async function list(
  { store, devices }: KnowledgeStateDeps,
  { workspaceId }: RunScope,
  request: JsonObject,
): Promise<Json> {
  const node = textOf(request, "node");
  const words = textOf(request, "query")
    .split(/\s+/)
    .filter((word) => word !== "");
  const rows = await listFiles(store.sql, {
    workspaceId,
    path: filePath(textOf(request, "path"), { allowTop: true }),
    isRecursive: request["recursive"] === true,
    words: words.slice(0, MAX_WORDS),
    nodeId: node === "" ? "" : (await devices.serving(workspaceId, node)).id,
    after: undefined,
    limit: MAX_LISTED,
  });
  return rows.map((row): JsonObject => {
    const { offline_since: since, ...file } = toFile(row);
    return { ...file, ...(since === undefined ? {} : { offline_since: since }) };
  });
}

async function read(deps: KnowledgeStateDeps, scope: RunScope, request: JsonObject): Promise<Json> {
  const { workspaceId } = scope;
  const path = filePath(textOf(request, "path"));
  const { offset: wantedOffset, limit: wantedLimit } = request;
  const offset = typeof wantedOffset === "number" && wantedOffset > 0 ? Math.floor(wantedOffset) : 0;
  const limit =
    typeof wantedLimit === "number" && wantedLimit >= 1 ? Math.min(Math.floor(wantedLimit), PART_BYTES) : PART_BYTES;
  try {
    const device = await deps.devices.holding({ workspaceId, path, node: textOf(request, "node") });
    const signal = AbortSignal.timeout(READ_MS);
    const { file, bytes } = await readPart(deps.devices, { workspaceId, path, device }, { offset, limit }, signal);
    await audit(deps, scope, { path, node: device.name });
    const { offline_since: _never, ...facts } = fromFacts(file, device);
    return { file: facts, base64: bytes.toString("base64") };
  } catch (thrown) {
    const error = MeshError.from(thrown);
    const known = error.code === "failed_precondition" ? await lastKnown(deps, workspaceId, path) : undefined;
    if (known === undefined) throw error;
    await audit(deps, scope, { path, node: "" });
    return { last_known_text: known, reason: error.message };
  }
}

/** The text of the document at that path, for when its device is off. */
async function lastKnown(
  { store }: KnowledgeStateDeps,
  workspaceId: string,
  path: string,
): Promise<string | undefined> {
  const [document] = await findByPath(store.sql, workspaceId, path);
  if (document === undefined) return undefined;
  const { text } = await readText(store.sql, document.id);
  return text === "" ? undefined : text.slice(0, MAX_TEXT_CHARS);
}

async function audit(
  { store, ids }: KnowledgeStateDeps,
  { runId, workspaceId }: RunScope,
  { path, node }: { readonly path: string; readonly node: string },
): Promise<void> {
  const detail = node === "" ? { last_known: true } : { node };
  await insertAudit(store.sql, {
    id: ids.next("audit"),
    actor: `run:${runId}`,
    action: "file.read",
    object: path,
    workspaceId,
    detail,
  });
}

function textOf(request: JsonObject, name: string): string {
  const value = request[name];
  return typeof value === "string" ? storable(value) : "";
}

function storable(text: string): string {
  return text.replaceAll("\0", "").slice(0, 2_000);
}
