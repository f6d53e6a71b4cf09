/** FileService. */

import { filePath, type Ids, isObject, type JsonObject, MeshError } from "@mesh/kernel";
import type {
  CopyFileRequest,
  DeleteFileRequest,
  File,
  FileFacts,
  ListFilesRequest,
  ListFilesResponse,
  MoveFileRequest,
  ReadFileRequest,
  ReadFileResponse,
  WriteFileRequest,
} from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import type { Access, Need } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import { touchFeed } from "../feed/feed-object.ts";
import type { Call, FileApi } from "../gateway/operation.ts";
import { commandOf, factsOf, type Place, readContent, readPart, statFile, writeContent } from "./content.ts";
import type { Device, Devices } from "./devices.ts";
import { dropFiles, listFiles, moveFiles, putFiles } from "./file-store.ts";
import { fromFacts, toFile } from "./file-view.ts";

/** What the handlers use. */
export interface FileApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly ids: Ids;
  readonly devices: Devices;
}

const DEFAULT_LIMIT = 200;
const DEFAULT_PART_BYTES = 65_536;
const MAX_WORDS = 10;

/** Builds the handlers. */
export function createFileApi(deps: FileApiDeps): FileApi {
  return {
    listFiles: (request, call) => list(deps, request, call),
    readFile: (request, call) => read(deps, request, call),
    downloadFile: (request, call) => download(deps, request, call),
    writeFile: (request, call) => write(deps, request, call),
    moveFile: (request, call) => move(deps, request, call),
    copyFile: (request, call) => copy(deps, request, call),
    deleteFile: (request, call) => remove(deps, request, call),
  };
}

/** The place that a request to read means; throws what the caller may not see, or cannot be read now. */
export async function placeOf(
  { access, devices }: Pick<FileApiDeps, "access" | "devices">,
  request: { readonly workspace: string; readonly path: string; readonly node: string },
  call: Call,
): Promise<Place> {
  const { id: workspaceId } = await access.workspace(call.caller, request.workspace, "read");
  const path = filePath(request.path);
  return { workspaceId, path, device: await devices.holding({ workspaceId, path, node: request.node }) };
}

async function list(
  { store, access, devices }: FileApiDeps,
  request: ListFilesRequest,
  { caller }: Call,
): Promise<ListFilesResponse> {
  const { id: workspaceId } = await access.workspace(caller, request.workspace, "read");
  const path = filePath(request.path, { allowTop: true });
  const nodeId = request.node === "" ? "" : (await devices.serving(workspaceId, request.node)).id;
  const limit = request.limit === 0 ? DEFAULT_LIMIT : request.limit;
  const words = request.query
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, MAX_WORDS);
  const after = request.cursor === "" ? undefined : readCursor(request.cursor);
  const filter = { workspaceId, path, isRecursive: request.recursive, words, nodeId, after, limit };
  const rows = await listFiles(store.sql, filter);
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return { files: rows.map(toFile), next_cursor: last === undefined ? "" : writeCursor(last.path, last.node_id) };
}

async function read(deps: FileApiDeps, request: ReadFileRequest, call: Call): Promise<ReadFileResponse> {
  const place = await placeOf(deps, request, call);
  const limit = request.limit === 0 ? DEFAULT_PART_BYTES : request.limit;
  const part = await told(deps, place, readPart(deps.devices, place, { offset: request.offset, limit }, call.signal));
  // In JSON bytes are base64, as everywhere in the API.
  const bytes = Object.defineProperty(part.bytes, "toJSON", { value: () => part.bytes.toString("base64") });
  return { file: fromFacts(part.file, place.device), bytes };
}

async function* download(
  deps: FileApiDeps,
  request: Parameters<typeof placeOf>[1],
  call: Call,
): AsyncGenerator<{ readonly bytes: Buffer }> {
  const place = await placeOf(deps, request, call);
  const facts = await told(deps, place, statFile(deps.devices, place, call.signal));
  const range = { facts, from: 0, to: facts.size_bytes };
  for await (const bytes of readContent(deps.devices, place, range, call.signal)) yield { bytes };
}

/** Passes on what a device says; a file that is not there any more leaves the index. */
export async function told<T>({ store }: Pick<FileApiDeps, "store">, place: Place, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (MeshError.from(error).code === "not_found") {
      await dropFiles(store.sql, { ...place, nodeId: place.device.id }, [place.path]);
    }
    throw error;
  }
}

async function write(deps: FileApiDeps, request: WriteFileRequest, call: Call): Promise<{ readonly file: File }> {
  const { device, workspaceId, path } = await takingPlace(deps, request, call, "write");
  const parts = (async function* bytes() {
    yield Buffer.from(request.bytes);
  })();
  const place = { workspaceId, path, device };
  const facts = await writeContent(deps.devices, place, { parts, ifHash: request.if_hash }, call.signal);
  return { file: await recordPut(deps, place, facts, { call, action: "file.write" }) };
}

async function copy(deps: FileApiDeps, request: CopyFileRequest, call: Call): Promise<{ readonly file: File }> {
  const workspace = await deps.access.workspace(call.caller, request.workspace, "write");
  const from = await placeOf(deps, request, call);
  const path = request.to_path === "" ? from.path : filePath(request.to_path);
  const wanted = { workspaceId: workspace.id, path, node: request.to_node === "" ? from.device.id : request.to_node };
  const to = { workspaceId: workspace.id, path, device: await deps.devices.taking(wanted) };
  if (to.device.id === from.device.id && to.path === from.path) {
    throw new MeshError("invalid_argument", "the copy would be the file itself; name another device or another path");
  }
  const facts = await told(deps, from, statFile(deps.devices, from, call.signal));
  const parts = readContent(deps.devices, from, { facts, from: 0, to: facts.size_bytes }, call.signal);
  const written = await writeContent(deps.devices, to, { parts, ifHash: "", hash: facts.hash }, call.signal);
  const detail = { from_node: from.device.name, from_path: from.path };
  return { file: await recordPut(deps, to, written, { call, action: "file.copy", detail }) };
}

async function move(deps: FileApiDeps, request: MoveFileRequest, call: Call): Promise<{ readonly file: File }> {
  await deps.access.workspace(call.caller, request.workspace, "write");
  const place = await placeOf(deps, request, call);
  const to = filePath(request.to);
  const answer = await deps.devices.command(
    place.device,
    commandOf(place, { $case: "move", value: { to } }),
    call.signal,
  );
  const facts = factsOf(answer.file);
  const key = { workspaceId: place.workspaceId, nodeId: place.device.id };
  await deps.store.sql.begin(async (tx) => {
    await moveFiles(tx, key, { from: place.path, to });
    await putFiles(tx, key, [toldOf(facts)], "");
    await touchFeed(tx, place.workspaceId, "file", place.device.id);
    await insertAudit(tx, auditOf(deps, place, call, { action: "file.move", detail: { to } }));
  });
  return { file: fromFacts(facts, place.device) };
}

async function remove(deps: FileApiDeps, request: DeleteFileRequest, call: Call): Promise<Record<string, never>> {
  await deps.access.workspace(call.caller, request.workspace, "write");
  const place = await placeOf(deps, request, call);
  const gone = deps.devices.command(place.device, commandOf(place, { $case: "delete", value: {} }), call.signal);
  await told(deps, place, gone);
  await deps.store.sql.begin(async (tx) => {
    await dropFiles(tx, { workspaceId: place.workspaceId, nodeId: place.device.id }, [place.path]);
    await touchFeed(tx, place.workspaceId, "file", place.device.id);
    await insertAudit(tx, auditOf(deps, place, call, { action: "file.delete" }));
  });
  return {};
}

async function takingPlace(
  { access, devices }: FileApiDeps,
  request: { readonly workspace: string; readonly path: string; readonly node: string },
  { caller }: Call,
  need: Need,
): Promise<Place> {
  const { id: workspaceId } = await access.workspace(caller, request.workspace, need);
  const path = filePath(request.path);
  return { workspaceId, path, device: await devices.taking({ workspaceId, path, node: request.node }) };
}

interface Change {
  readonly action: string;
  readonly detail?: JsonObject;
}

async function recordPut(
  deps: FileApiDeps,
  place: Place,
  facts: FileFacts,
  { call, ...change }: Change & { readonly call: Call },
): Promise<File> {
  const detail = { ...change.detail, bytes: facts.size_bytes, hash: facts.hash };
  await deps.store.sql.begin(async (tx) => {
    // Known at once; the device tells the same a moment later.
    await putFiles(tx, { workspaceId: place.workspaceId, nodeId: place.device.id }, [toldOf(facts)], "");
    await touchFeed(tx, place.workspaceId, "file", place.device.id);
    await insertAudit(tx, auditOf(deps, place, call, { ...change, detail }));
  });
  return fromFacts(facts, place.device);
}

function auditOf(
  { ids }: FileApiDeps,
  { workspaceId, path, device }: { readonly workspaceId: string; readonly path: string; readonly device: Device },
  { caller }: Call,
  { action, detail }: Change,
): Parameters<typeof insertAudit>[1] {
  const base = { id: ids.next("audit"), actor: actorOf(caller), action, object: path, workspaceId };
  return { ...base, detail: { node: device.name, ...detail } };
}

function toldOf(facts: FileFacts): Parameters<typeof putFiles>[2][number] {
  return {
    path: facts.path,
    isDirectory: facts.is_directory,
    size: facts.size_bytes,
    hash: facts.hash,
    modifiedMs: facts.is_directory ? 0 : facts.modified_ms,
  };
}

function writeCursor(path: string, nodeId: string): string {
  return Buffer.from(JSON.stringify({ path, nodeId })).toString("base64url");
}

function readCursor(text: string): { readonly path: string; readonly nodeId: string } {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    if (isObject(parsed)) {
      const { path, nodeId } = parsed;
      if (typeof path === "string" && typeof nodeId === "string" && !`${path}${nodeId}`.includes("\0"))
        return { path, nodeId };
    }
  } catch {
    // Said below.
  }
  throw new MeshError("invalid_argument", "cursor is none that a list gave; leave it out to start over");
}
