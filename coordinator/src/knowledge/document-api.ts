/** DocumentService. */

import { createHash } from "node:crypto";

import { mediaTypeOf } from "@mesh/documents";
import { filePath, type Ids, isId, MeshError } from "@mesh/kernel";
import type {
  CreateUploadRequest,
  CreateUploadResponse,
  Document,
  GetDocumentResponse,
  ListDocumentsRequest,
  ListDocumentsResponse,
  SearchDocumentsRequest,
  SearchDocumentsResponse,
  UploadDocumentRequest,
} from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import { touchFeed } from "../feed/feed-object.ts";
import { commandOf } from "../files/content.ts";
import { type Devices, isOn } from "../files/devices.ts";
import type { Call, DocumentApi } from "../gateway/operation.ts";
import { lockStorage } from "../workspaces/setting-store.ts";
import { searchDocuments } from "./document-search.ts";
import {
  countDocuments,
  deleteDocuments,
  type DocumentRow,
  findDocuments,
  insertVersions,
  listDocuments,
  listVersions,
  queueDocument,
  readText,
} from "./document-store.ts";
import { toDocument } from "./document-view.ts";
import { MAX_DOCUMENTS, MAX_UPLOAD_BYTES, UPLOAD_DAYS, UPLOAD_URI } from "./limit.ts";
import { insertUpload, type NewUpload, putUploaded, uploadedBytes } from "./upload-store.ts";

/** What the handlers use. */
export interface DocumentApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly devices: Devices;
  /** There is an uploaded document to read. */
  readonly uploaded: () => void;
  /** Called after a commit that recorded changes. */
  readonly recorded: () => void;
}

const DEFAULT_LIST = 50;
const DEFAULT_HITS = 10;

/** Builds the handlers. */
export function createDocumentApi(deps: DocumentApiDeps): DocumentApi {
  return {
    uploadDocument: (request, call) => upload(deps, request, call),
    listDocuments: (request, call) => list(deps, request, call),
    getDocument: (request, call) => get(deps, request.document, call),
    deleteDocument: (request, call) => remove(deps, request.document, call),
    reindexDocument: (request, call) => reindex(deps, request.document, call),
    searchDocuments: (request, call) => search(deps, request, call),
    createUpload: (request, call) => createUpload(deps, request, call),
  };
}

async function upload(
  deps: DocumentApiDeps,
  request: UploadDocumentRequest,
  { caller }: Call,
): Promise<{ readonly document: Document }> {
  const { id: workspaceId } = await deps.access.workspace(caller, request.workspace, "write");
  const file = newUpload(deps, request, { workspaceId, createdBy: actorOf(caller), days: undefined });
  const id = await deps.store.sql.begin(async (tx) => {
    await storeUpload(tx, file);
    if ((await countDocuments(tx, workspaceId)) >= MAX_DOCUMENTS) {
      throw new MeshError(
        "resource_exhausted",
        `a workspace holds at most ${MAX_DOCUMENTS} documents; delete some first`,
      );
    }
    const document = await putUploaded(tx, { id: deps.ids.next("doc"), upload: file });
    await insertVersions(tx, [{ ...document, hash: file.hash, run_id: null, node_id: null }]);
    await touchFeed(tx, workspaceId, "document", document.id);
    const detail = { name: file.name, bytes: file.bytes.length, version: document.version };
    await insertAudit(
      tx,
      auditOf(deps, caller, { action: "document.upload", object: document.id, workspaceId, detail }),
    );
    return document.id;
  });
  deps.uploaded();
  deps.recorded();
  return { document: toDocument(await mustFind(deps, id)) };
}

async function createUpload(
  deps: DocumentApiDeps,
  request: CreateUploadRequest,
  { caller }: Call,
): Promise<CreateUploadResponse> {
  const { id: workspaceId } = await deps.access.workspace(caller, request.workspace, "write");
  const file = newUpload(deps, request, { workspaceId, createdBy: actorOf(caller), days: UPLOAD_DAYS });
  await deps.store.sql.begin(async (tx) => {
    await storeUpload(tx, file);
    const detail = { name: file.name, bytes: file.bytes.length };
    await insertAudit(tx, auditOf(deps, caller, { action: "upload.create", object: file.id, workspaceId, detail }));
  });
  return { upload: `${UPLOAD_URI}${file.id}`, media_type: file.mediaType, size_bytes: file.bytes.length };
}

async function list(
  { store, access }: DocumentApiDeps,
  request: ListDocumentsRequest,
  { caller }: Call,
): Promise<ListDocumentsResponse> {
  const { id: workspaceId } = await access.workspace(caller, request.workspace, "read");
  const limit = request.limit === 0 ? DEFAULT_LIST : request.limit;
  const before = request.cursor === "" ? undefined : readCursor(request.cursor);
  const rows = await listDocuments(store.sql, { workspaceId, before, limit });
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { documents: rows.map(toDocument), next_cursor: last === undefined ? "" : writeCursor(last) };
}

async function get(deps: DocumentApiDeps, id: string, call: Call): Promise<GetDocumentResponse> {
  const row = await allowed(deps, id, call, "read");
  const [{ text, isCut }, versions] = await Promise.all([
    readText(deps.store.sql, id),
    listVersions(deps.store.sql, id),
  ]);
  return {
    document: toDocument(row),
    text,
    text_cut: isCut,
    versions: versions.map((version) => ({
      version: version.version,
      hash: version.hash,
      at: version.created_at.toISOString(),
      run_id: version.run_id ?? undefined,
      node: version.node ?? undefined,
    })),
  };
}

async function remove(deps: DocumentApiDeps, id: string, call: Call): Promise<Record<string, never>> {
  const row = await allowed(deps, id, call, "write");
  await deps.store.sql.begin(async (tx) => {
    await deleteDocuments(tx, [id]);
    await touchFeed(tx, row.workspace_id, "document", id);
    await insertAudit(tx, auditOf(deps, call.caller, changeOf("document.delete", row)));
  });
  deps.recorded();
  return {};
}

async function reindex(deps: DocumentApiDeps, id: string, call: Call): Promise<{ readonly document: Document }> {
  const row = await allowed(deps, id, call, "write");
  const { digest, node_id: nodeId, node, workspace_id: workspaceId } = row;
  if (nodeId !== null && !isOn(row)) {
    throw new MeshError(
      "failed_precondition",
      `device ${node ?? ""} is off, and the document is on it; its text is that of the last time it was read`,
    );
  }
  await deps.store.sql.begin(async (tx) => {
    await queueDocument(tx, id);
    await touchFeed(tx, workspaceId, "document", id);
    await insertAudit(tx, auditOf(deps, call.caller, changeOf("document.reindex", row)));
  });
  deps.recorded();
  if (nodeId === null || digest === null || node === null) deps.uploaded();
  else {
    const look = commandOf({ workspaceId, path: "" }, { $case: "look", value: {} });
    // Where it is not heard, the device's next look asks by itself.
    await deps.devices.command({ id: nodeId, name: node, digest }, look, call.signal).catch(() => undefined);
  }
  return { document: toDocument(await mustFind(deps, id)) };
}

async function search(
  { store, access }: DocumentApiDeps,
  request: SearchDocumentsRequest,
  { caller }: Call,
): Promise<SearchDocumentsResponse> {
  const { id: workspaceId } = await access.workspace(caller, request.workspace, "read");
  const limit = request.limit === 0 ? DEFAULT_HITS : request.limit;
  const hits = await searchDocuments(store.sql, request.query, { workspaceId, collections: [], limit });
  return {
    hits: hits.map((hit) => ({
      document: toDocument(hit.document),
      snippet: hit.snippet,
      line_from: hit.lineFrom,
      line_to: hit.lineTo,
      score: hit.score,
    })),
  };
}

async function allowed(deps: DocumentApiDeps, id: string, { caller }: Call, need: Need): Promise<DocumentRow> {
  const [row] = isId("doc", id) ? await findDocuments(deps.store.sql, [id]) : [];
  await deps.access.object(caller, row?.workspace_id, need, { kind: "document", id, list: "yao docs list" });
  return row ?? mustFind(deps, id);
}

async function mustFind({ store }: DocumentApiDeps, id: string): Promise<DocumentRow> {
  const [row] = await findDocuments(store.sql, [id]);
  if (row !== undefined) return row;
  throw new MeshError("not_found", `document ${id} was deleted meanwhile; see: yao docs list`);
}

function newUpload(
  { ids }: DocumentApiDeps,
  { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
  of: Pick<NewUpload, "workspaceId" | "createdBy" | "days">,
): NewUpload {
  const plain = filePath(name);
  if (plain.includes("/")) throw new MeshError("invalid_argument", "name is the name of a file, without folders");
  if (bytes.length === 0) throw new MeshError("invalid_argument", "the file is empty: send its bytes as the body");
  const hash = createHash("sha256").update(bytes).digest("hex");
  return { ...of, id: ids.next("upl"), name: plain, mediaType: mediaTypeOf(plain), hash, bytes: Buffer.from(bytes) };
}

async function storeUpload(tx: Tx, file: NewUpload): Promise<void> {
  const ownMb = await lockStorage(tx, file.workspaceId);
  await insertUpload(tx, file);
  const most = Math.min(MAX_UPLOAD_BYTES, (ownMb ?? Infinity) * 1024 * 1024);
  if ((await uploadedBytes(tx, file.workspaceId)) <= most) return;
  throw new MeshError(
    "resource_exhausted",
    `the uploads of this workspace have at most ${most / 1024 / 1024} MB together; delete some documents first`,
  );
}

type AuditFacts = Pick<Parameters<typeof insertAudit>[1], "action" | "object" | "detail"> & {
  readonly workspaceId: string;
};

function changeOf(action: string, row: DocumentRow): AuditFacts {
  return { action, object: row.id, workspaceId: row.workspace_id, detail: { path: row.path } };
}

function auditOf(
  { ids }: DocumentApiDeps,
  caller: Call["caller"],
  facts: AuditFacts,
): Parameters<typeof insertAudit>[1] {
  return { id: ids.next("audit"), actor: actorOf(caller), ...facts };
}

function writeCursor({ updated, id }: DocumentRow): string {
  return Buffer.from(`${updated}|${id}`).toString("base64url");
}

function readCursor(text: string): readonly [string, string] {
  const [updated = "", id = ""] = Buffer.from(text, "base64url").toString().split("|");
  if (/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?[+-]\d\d(:\d\d)?$/.test(updated) && isId("doc", id)) return [updated, id];
  throw new MeshError("invalid_argument", "cursor is none that a list gave; leave it out to start over");
}
