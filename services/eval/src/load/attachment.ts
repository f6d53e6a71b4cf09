/**
 * Files that an input names with `file://`, beside the file of the cases: checked before anything runs, read when the case is.
 * Parts become what models are sent: images and documents as data URIs, texts as text.
 */

import { readFile, stat } from "node:fs/promises";
import { basename, extname, isAbsolute, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { EvalCase, InputMessage } from "../eval-case.ts";
import type { LoadProblem } from "./problem.ts";

const MAX_FILE_BYTES = 32 * 1024 * 1024;
const TYPES: Readonly<Record<string, string>> = {
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".png": "image/png",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".wav": "audio/wav",
  ".mp3": "audio/mpeg",
  ".pdf": "application/pdf",
  ".doc": "application/msword",
  ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".json": "application/json",
};

/** Where cases' files may lie. */
export interface AttachmentBounds {
  /** Only in the base directory: the cases are not those of the owner of this machine. */
  readonly isConfined: boolean;
}

/** Problems of the files that cases name. */
export async function checkAttachments(
  cases: readonly EvalCase[],
  baseDir: string,
  { isConfined }: AttachmentBounds = { isConfined: false },
): Promise<readonly LoadProblem[]> {
  const problems: LoadProblem[] = [];
  for (const { id, messages, place } of cases) {
    for (const source of sourcesOf(messages)) {
      const isOutside = isConfined && !isInside(pathOf(source, baseDir), baseDir);
      const problem = isOutside
        ? `${source} is outside of the directory of the cases, and a device has only what is in it`
        : await problemOf(source, baseDir);
      if (problem !== undefined) problems.push({ ...place, message: `${id}: ${problem}` });
    }
  }
  return problems;
}

/** Whether something must be read before the messages can be sent. */
export function hasParts(messages: readonly InputMessage[]): boolean {
  return messages.some(({ content }) => Array.isArray(content));
}

/** The messages with their files in them. */
export async function withAttachments(
  messages: readonly InputMessage[],
  baseDir: string,
): Promise<readonly InputMessage[]> {
  if (!hasParts(messages)) return messages;
  return Promise.all(
    messages.map(async (message) => {
      if (!Array.isArray(message.content)) return message;
      const parts = message.content as readonly Json[];
      return { ...message, content: await Promise.all(parts.map((part) => sent(part, baseDir))) };
    }),
  );
}

/** The `file://` addresses that cases name, each once. */
export function fileSources(cases: readonly EvalCase[]): ReadonlySet<string> {
  return new Set(cases.flatMap(({ messages }) => sourcesOf(messages)));
}

function sourcesOf(messages: readonly InputMessage[]): readonly string[] {
  return messages.flatMap(({ content }) =>
    Array.isArray(content) ? (content as readonly Json[]).flatMap((part) => fileIn(part) ?? []) : [],
  );
}

/** The `file://` address of a part, whichever of its fields holds it. */
function fileIn(part: Json): string | undefined {
  if (!isObject(part)) return undefined;
  const inner = part["image_url"] ?? part["file"] ?? part["input_audio"];
  const nested = isObject(inner) ? inner["url"] : inner;
  for (const value of [part["source"], part["url"], part["data"], nested]) {
    if (typeof value === "string" && value.startsWith("file://")) return value;
  }
  return undefined;
}

function pathOf(source: string, baseDir: string): string {
  const path = source.slice("file://".length);
  if (!isAbsolute(path)) return join(baseDir, path);
  return source.includes("%") ? fileURLToPath(source) : path;
}

function isInside(path: string, baseDir: string): boolean {
  const way = relative(baseDir, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function problemOf(source: string, baseDir: string): Promise<string | undefined> {
  const path = pathOf(source, baseDir);
  const facts = await stat(path).catch(() => undefined);
  if (facts === undefined) return `${source} does not exist (looked for ${path})`;
  if (!facts.isFile()) return `${source} is not a file`;
  if (facts.size > MAX_FILE_BYTES) return `${source} has ${facts.size} bytes; ${MAX_FILE_BYTES} are the most`;
  return undefined;
}

async function sent(part: Json, baseDir: string): Promise<Json> {
  const source = fileIn(part);
  if (source === undefined || !isObject(part)) return isObject(part) ? webPart(part) : part;
  const path = pathOf(source, baseDir);
  const type = TYPES[extname(path).toLowerCase()] ?? "application/octet-stream";
  const bytes = await readFile(path).catch((error: unknown) => {
    throw new MeshError("not_found", `${source} cannot be read`, { cause: error });
  });
  const name = typeof part["name"] === "string" ? part["name"] : basename(path);
  if (type.startsWith("text/") || type === "application/json") {
    return { type: "text", text: `${name}:\n${bytes.toString("utf8")}` };
  }
  const url = `data:${type};base64,${bytes.toString("base64")}`;
  if (type.startsWith("image/")) {
    const { detail } = part;
    return { type: "image_url", image_url: { url, ...(typeof detail === "string" ? { detail } : {}) } };
  }
  if (type.startsWith("audio/")) {
    return { type: "input_audio", input_audio: { data: bytes.toString("base64"), format: extname(path).slice(1) } };
  }
  return { type: "file", file: { filename: name, file_data: url } };
}

/** An image by address in the one form that models are sent. */
function webPart(part: JsonObject): JsonObject {
  const { type, url, source } = part;
  const address = typeof url === "string" ? url : source;
  return type === "image" && typeof address === "string" ? { type: "image_url", image_url: { url: address } } : part;
}
