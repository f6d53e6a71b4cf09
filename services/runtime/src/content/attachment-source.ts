/**
 * Loads what a part of a message refers to.
 *
 * A1  `file://` means a file of the app, never one of the device; what makes up the app itself (settings, prompts, scripts) is
 *     not to be had by messages.
 * A2  Only images are fetched from addresses, by the rules that scripts are bound to.
 * A3  Nothing larger than `maxBytes` is loaded.
 */

import { posix } from "node:path";

import type { Assistant } from "@mesh/assistants";
import { isObject, MeshError } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";
import type { Attachment } from "@mesh/documents";
import { cleanName, type GivenAttachment } from "./part.ts";

/** Who loads, and how much of it. */
export interface LoadScope {
  readonly context: Pick<AgentContext, "shared" | "signal">;
  readonly assistant: Pick<Assistant, "folder">;
  readonly maxBytes: number;
}

const MAX_URI_HEAD = 1_000;
const MAX_READS = 10_000;

/** Loads it; throws what the reader of the message should know. */
export async function loadAttachment(given: GivenAttachment, scope: LoadScope): Promise<Attachment> {
  const loaded = await load(given, scope);
  if (loaded.bytes.byteLength === 0) throw new MeshError("invalid_argument", "it is empty");
  if (loaded.bytes.byteLength > scope.maxBytes) throw tooLarge(scope.maxBytes);
  return { ...loaded, name: cleanName(given.name ?? loaded.name) };
}

function load(given: GivenAttachment, scope: LoadScope): Promise<Attachment> | Attachment {
  const { url } = given;
  if (url === "") throw new MeshError("invalid_argument", "it says neither its data nor where it is");
  if (url.startsWith("data:")) return fromDataUri(url, scope);
  if (url.startsWith("file://")) return fromApp(url.slice("file://".length), scope);
  const upload = /^__[\w.-]+:\/\/([\w.:-]{1,200})$/.exec(url)?.[1];
  if (upload !== undefined) return fromUpload(upload, scope);
  if (/^https?:\/\//i.test(url) && given.sense === "image") return fromAddress(url, scope);
  throw new MeshError("invalid_argument", "where it is said to be cannot be read; send it as a data URI or upload it");
}

function fromDataUri(uri: string, { maxBytes }: LoadScope): Attachment {
  const comma = uri.slice(0, MAX_URI_HEAD).indexOf(",");
  if (comma < 0) throw new MeshError("invalid_argument", "its data URI has no data");
  const [mimeType = "", ...flags] = uri.slice("data:".length, comma).split(";");
  const body = uri.slice(comma + 1);
  const isBase64 = flags.at(-1)?.trim().toLowerCase() === "base64";
  // Before it is decoded; the padding of base64 may count as two more.
  if (body.length * (isBase64 ? 0.75 : 1 / 3) > maxBytes + 2) throw tooLarge(maxBytes);
  return { bytes: isBase64 ? Buffer.from(body, "base64") : percentDecoded(body), name: "", mimeType };
}

function percentDecoded(text: string): Uint8Array {
  try {
    return Buffer.from(decodeURIComponent(text));
  } catch {
    throw new MeshError("invalid_argument", "its data URI is damaged");
  }
}

function fromApp(path: string, { context, assistant }: LoadScope): Attachment {
  const { app } = context.shared.input;
  const clean = posix.normalize(path.replace(/^\/+/, ""));
  for (const place of [posix.join(assistant.folder, clean), clean]) {
    const bytes = isAppItself(place) ? undefined : app.bytes(place);
    if (bytes === undefined) continue;
    return { bytes, name: posix.basename(place), mimeType: "" };
  }
  throw new MeshError("not_found", "the app has no such file for messages");
}

const OWN_FOLDERS: readonly string[] = ["agent", "connectors", "models", "mcps", "scripts"];
const OWN_SUBFOLDERS: readonly string[] = ["src", "prompts", "mcps", "models"];

/** Whether a file tells how the app works: it may hold what its author tells nobody. */
function isAppItself(path: string): boolean {
  const [top = "", ...rest] = path.toLowerCase().split("/");
  const isOwnFolder = OWN_FOLDERS.includes(top) || rest.some((folder) => OWN_SUBFOLDERS.includes(folder));
  return isOwnFolder || /(^|\/)prompts\.ya?ml$|\.yao$/i.test(path);
}

async function fromUpload(id: string, { context, maxBytes }: LoadScope): Promise<Attachment> {
  const { state } = context.shared.ports;
  if (state === undefined) throw new MeshError("failed_precondition", "this run has no uploads: it has no workspace");
  const pieces: Uint8Array[] = [];
  let read = 0;
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const answer = await state.call("attachment", "Read", [id, read], context.signal);
    const { name, content_type: mimeType, total_bytes: total, base64 } = isObject(answer) ? answer : {};
    if (typeof total !== "number" || typeof base64 !== "string") break;
    if (total > maxBytes) throw tooLarge(maxBytes);
    const piece = Buffer.from(base64, "base64");
    pieces.push(piece);
    read += piece.byteLength;
    if (read >= total) {
      const facts = {
        name: typeof name === "string" ? name : "",
        mimeType: typeof mimeType === "string" ? mimeType : "",
      };
      return { bytes: Buffer.concat(pieces, total), ...facts };
    }
    if (piece.byteLength === 0) break;
  }
  throw new MeshError("data_loss", "the upload could not be read to its end; upload it again");
}

async function fromAddress(url: string, { context }: LoadScope): Promise<Attachment> {
  const { scripts } = context.shared.ports;
  if (scripts === undefined) throw new MeshError("failed_precondition", "this run cannot fetch; send it as a data URI");
  const answer = await scripts.http.send({ method: "GET", url, headers: { Accept: "image/*" } }, context.signal);
  if (answer.status !== 200) {
    const why = answer.status === 0 ? answer.message : `the server answered ${answer.status}`;
    throw new MeshError("failed_precondition", `it could not be fetched: ${why}`);
  }
  const mimeType = answer.headers["Content-Type"]?.[0]?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (!mimeType.startsWith("image/") || typeof answer.data !== "string") {
    throw new MeshError("failed_precondition", "what is at its address is not an image");
  }
  return { bytes: Buffer.from(answer.data, "base64"), name: posix.basename(new URL(url).pathname), mimeType };
}

function tooLarge(maxBytes: number): MeshError {
  const most = Math.floor(maxBytes / 1024);
  return new MeshError("resource_exhausted", `it is too large: ${most} KB are left for it`);
}
