/**
 * One part of a message's content, in the many forms that programs write it, read into one. Pure.
 *
 * Taken are the forms of Chat Completions (`image_url`, `input_audio`, `file`), those of evals (`{type: "image", source: "file://…"}`)
 * and those of Messages (`source: {data, media_type}`).
 */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";

/** What a part claims to be; what it is, its bytes say. */
export type Sense = "image" | "audio" | "file";

/** Something that is not text, and where it is to be had. */
export interface GivenAttachment {
  readonly sense: Sense;
  /** A data URI, `file://…`, `__<uploader>://<id>` or an http address; empty when the part names none. */
  readonly url: string;
  readonly name?: string;
}

/** One part. */
export type GivenPart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "data"; readonly value: Json }
  | { readonly kind: "attachment"; readonly attachment: GivenAttachment }
  | { readonly kind: "unknown"; readonly type: string };

const SENSES: Readonly<Record<string, Sense>> = {
  image: "image",
  image_url: "image",
  input_image: "image",
  audio: "audio",
  input_audio: "audio",
  file: "file",
  input_file: "file",
};

const MAX_NAME_CHARS = 120;

/** Reads one part. */
export function readPart(part: Json): GivenPart {
  if (typeof part === "string") return { kind: "text", text: part };
  if (!isObject(part)) return { kind: "unknown", type: part === null ? "null" : typeof part };
  const type = textOf(part["type"]) ?? "text";
  const sense = Object.hasOwn(SENSES, type) ? SENSES[type] : undefined;
  if (sense !== undefined) return { kind: "attachment", attachment: attachmentOf(sense, type, part) };
  if (type === "data") return { kind: "data", value: part["data"] ?? null };
  // Kinds of text that are not known here are text all the same.
  if (typeof part["text"] === "string") return { kind: "text", text: part["text"] };
  return { kind: "unknown", type: cleanName(type) };
}

/** A name as it may stand in a line of text. */
export function cleanName(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what must go
  return name.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029[\]]+/g, " ").slice(0, MAX_NAME_CHARS);
}

function attachmentOf(sense: Sense, type: string, part: JsonObject): GivenAttachment {
  const inner = part[type];
  const fields: JsonObject = { ...part, ...objectOf(part["source"]), ...objectOf(inner) };
  const name = textOf(fields["filename"]) ?? textOf(fields["name"]);
  const url = textOf(inner) ?? textOf(fields["url"]) ?? textOf(part["source"]) ?? inlineOf(sense, fields) ?? "";
  return { sense, url, ...(name === undefined ? {} : { name: cleanName(name) }) };
}

/** Bytes that stand in the part itself, or the id of an upload. */
function inlineOf(sense: Sense, fields: JsonObject): string | undefined {
  const data = textOf(fields["data"]) ?? textOf(fields["file_data"]);
  if (data?.startsWith("data:") === true) return data;
  if (data !== undefined) return `data:${mimeTypeOf(sense, fields)};base64,${data}`;
  const id = textOf(fields["file_id"]);
  if (id === undefined) return undefined;
  return id.startsWith("__") ? id : `__yao.attachment://${id}`;
}

function mimeTypeOf(sense: Sense, fields: JsonObject): string {
  const named = textOf(fields["mimeType"]) ?? textOf(fields["media_type"]) ?? textOf(fields["content_type"]);
  if (named !== undefined && /^[\w.+-]+\/[\w.+-]+$/.test(named)) return named;
  const format = textOf(fields["format"]);
  return format !== undefined && /^[\w.+-]+$/.test(format) && sense !== "file" ? `${sense}/${format}` : "";
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
