/**
 * Takes what devices tell of their files.
 *
 * R1  Whose files they are is read from the subject; a workspace that the device does not serve is refused.
 * R2  A page is taken as a whole, and only after the one before it; one that came already changes nothing.
 * R3  Every text that is stored is bounded, and none is believed to be well-formed.
 */

import { inflateSync } from "node:zlib";

import { type Bus, COORDINATOR_QUEUE, nodeOfSubject, subjects } from "@mesh/bus";
import { MAX_TEXT_BYTES } from "@mesh/documents";
import { filePath, MeshError, retryable, type Service } from "@mesh/kernel";
import { FilesAnswer, FilesReport, FileTextAnswer, FileTextReport, type IndexedFile } from "@mesh/proto";
import { databaseError, type Store } from "@mesh/store";

import { touchFeed } from "../feed/feed-object.ts";
import { storableText } from "../runs/storable.ts";
import {
  countFiles,
  dropFiles,
  dropUnnamed,
  findServing,
  type IndexKey,
  lockIndex,
  putFiles,
  type ServingNode,
  setDigest,
  type Told,
} from "./file-store.ts";
import type { NodeDocuments } from "../knowledge/node-documents.ts";

/** What the responder uses. */
export interface FileRpcDeps {
  readonly bus: Bus;
  readonly store: Store;
  readonly documents: NodeDocuments;
  /** Called after a commit that recorded changes. */
  readonly recorded: () => void;
}

const MAX_PAGE = 2_000;
// A little more than devices index, for what is told before what is gone.
const MAX_FILES = 110_000;
const MAX_TEXT_CHARS = 200;
// The end of the year 9999: a date that all readers understand.
const MAX_TIME_MS = 253_402_300_799_999;

/** The responder of one replica. */
export function createFileRpc(deps: FileRpcDeps): Service {
  const methods: Readonly<Record<string, (digest: string, data: Uint8Array) => Promise<Uint8Array>>> = {
    files: async (digest, data) =>
      FilesAnswer.encode(FilesAnswer.fromPartial(await take(deps, digest, FilesReport.decode(data)))).finish(),
    file_text: async (digest, data) => {
      await takeText(deps, digest, FileTextReport.decode(data));
      return FileTextAnswer.encode({}).finish();
    },
  };
  return {
    name: "file-rpc",
    async run(signal) {
      const served = Object.entries(methods).map(([method, handle]) =>
        deps.bus.serve(
          subjects.anyRpc(method),
          (data, subject) => handle(nodeOfSubject(subject), data).catch(throwForNode),
          { queue: COORDINATOR_QUEUE },
        ),
      );
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      for (const subscription of served) subscription.stop();
    },
  };
}

function throwForNode(error: unknown): never {
  const { code } = databaseError(error);
  if (!retryable(code)) throw error;
  throw new MeshError(code, "the coordinator cannot reach its database; ask again", { cause: error });
}

async function take(deps: FileRpcDeps, digest: string, page: FilesReport): Promise<Partial<FilesAnswer>> {
  const node = await servingNode(deps, digest, page.workspace_id);
  if (
    page.changed.length + page.gone.length > MAX_PAGE ||
    page.base.length + page.digest.length + page.sync.length > MAX_TEXT_CHARS
  ) {
    throw new MeshError("invalid_argument", `a page holds at most ${MAX_PAGE} files`);
  }
  const key = { workspaceId: page.workspace_id, nodeId: node.id };
  const files = page.changed.map(readFile);
  const gone = page.gone.filter((path) => isPath(path));
  const answer = await deps.store.sql.begin(async (tx): Promise<Partial<FilesAnswer>> => {
    const stored = await lockIndex(tx, key);
    const startsSync = page.sync !== "" && page.first;
    const isRepeated = stored === page.digest && page.base !== page.digest && !startsSync;
    if (!isRepeated && !startsSync && stored !== page.base) return { resync: true };
    if (!isRepeated) await apply(deps, tx, { key, page, files, gone });
    return page.last ? { wanted: [...(await deps.documents.wanted(tx, key))] } : {};
  });
  if (files.length + gone.length > 0) deps.recorded();
  return answer;
}

async function apply(
  { documents }: FileRpcDeps,
  tx: Parameters<typeof lockIndex>[0],
  { key, page, files, gone }: { key: IndexKey; page: FilesReport; files: readonly Told[]; gone: readonly string[] },
): Promise<void> {
  await putFiles(tx, key, files, storableText(page.sync));
  await documents.changed(tx, key, files);
  await dropFiles(tx, key, gone);
  await documents.gone(tx, key, gone);
  if (page.sync !== "" && page.last) {
    await dropUnnamed(tx, key, storableText(page.sync));
    await documents.goneUnnamed(tx, key);
  }
  if (files.length > 0 && (await countFiles(tx, key)) > MAX_FILES) {
    throw new MeshError(
      "resource_exhausted",
      `a workspace has at most 100000 files on a device; name more in .yaoignore`,
    );
  }
  if (files.length + gone.length > 0) await touchFeed(tx, key.workspaceId, "file", key.nodeId);
  await setDigest(tx, key, storableText(page.digest));
}

async function takeText(deps: FileRpcDeps, digest: string, report: FileTextReport): Promise<void> {
  const node = await servingNode(deps, digest, report.workspace_id);
  if (!isPath(report.path)) throw new MeshError("invalid_argument", "the path of the document is not one");
  const key = { workspaceId: report.workspace_id, nodeId: node.id };
  const text = report.failure === "" ? inflated(report.deflated) : "";
  const failure = storableText(report.failure.slice(0, 500));
  await deps.documents.read(key, { path: report.path, hash: report.hash, text, isCut: report.cut, failure });
  deps.recorded();
}

function inflated(bytes: Uint8Array): string {
  try {
    const text = bytes.length === 0 ? "" : inflateSync(bytes, { maxOutputLength: MAX_TEXT_BYTES + 16 }).toString();
    return storableText(text).replaceAll(/[\uE000\uE001]/g, "");
  } catch (error) {
    throw new MeshError("invalid_argument", `a text has at most ${MAX_TEXT_BYTES} bytes`, { cause: error });
  }
}

async function servingNode({ store }: FileRpcDeps, digest: string, workspaceId: string): Promise<ServingNode> {
  const node = /^[\w-]{1,64}$/.test(workspaceId) ? await findServing(store.sql, digest, workspaceId) : undefined;
  if (node !== undefined) return node;
  throw new MeshError("permission_denied", "this device does not serve that workspace");
}

function readFile(file: IndexedFile): Told {
  const { path, is_directory: isDirectory, size_bytes: size, hash, modified_ms: modifiedMs, run_id: runId } = file;
  const isSound = isPath(path) && /^([0-9a-f]{64})?$/.test(hash) && Number.isSafeInteger(size);
  if (!isSound) throw new MeshError("invalid_argument", "a file of the page is not one");
  const isTime = modifiedMs >= 0 && modifiedMs <= MAX_TIME_MS;
  return {
    path,
    isDirectory,
    size,
    hash,
    modifiedMs: isTime ? modifiedMs : 0,
    runId: /^\w{1,64}$/.test(runId) ? runId : "",
  };
}

function isPath(path: string): boolean {
  try {
    return filePath(path) === path && storableText(path) === path;
  } catch {
    return false;
  }
}
