/** HTTP as scripts see it: a request made of JSON, an answer made of JSON. Pure. */

import { isObject, type Json, MeshError } from "@mesh/kernel";
import { FormData, Headers } from "undici";

/** A request of a script. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  /** Text is sent as it is; anything else as JSON, or as the form the Content-Type header names. */
  readonly payload?: Json;
  /** Added to the query of the URL: an object, a list of pairs or of objects, or text. */
  readonly query?: Json;
  /** An object or a list of objects. */
  readonly headers?: Json;
  /** `[{name, filename?, content_type?, data}]`, data as base64 or a data URI; the payload's fields go along. */
  readonly files?: Json;
}

/** The answer; `status` 0 means that there was none, and `message` says why. */
export type HttpResponse = {
  readonly status: number;
  /** Equal to `status`. */
  readonly code: number;
  /** JSON that was parsed, or text, or base64 of anything else. */
  readonly data: Json;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly message: string;
};

/** What goes over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string | FormData | undefined;
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const JSON_TYPE = /[/+]json\b/i;
const TEXT_TYPE = /^(?:text\/|application\/(?:xml|javascript|yaml|x-ndjson|x-www-form-urlencoded|.*\+(?:xml|yaml)))/i;
const MAX_FILES = 20;
/** Names that belong to the connection. */
const RESERVED = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "upgrade",
  "expect",
  "te",
  "trailer",
]);

/** Checks a request and puts it into the form that is sent. */
export function toWire(request: HttpRequest): WireRequest {
  const method = request.method.toUpperCase();
  if (!METHODS.has(method)) throw invalid(`"${request.method}" is not an HTTP method (${[...METHODS].join(", ")})`);
  if (!URL.canParse(request.url))
    throw invalid(`"${request.url.slice(0, 200)}" is not a whole URL such as https://example.com/path`);
  const url = new URL(request.url);
  for (const [key, value] of pairs(request.query ?? null, "query")) url.searchParams.append(key, value);
  const headers = new Headers();
  for (const [key, value] of pairs(request.headers ?? null, "headers")) {
    if (RESERVED.has(key.toLowerCase())) throw invalid(`the header ${key} is set by the connection; leave it out`);
    headers.append(...checkedHeader(key, value));
  }
  if (url.username !== "" || url.password !== "") moveCredentials(url, headers);
  return { method, url, headers, body: method === "GET" || method === "HEAD" ? undefined : bodyOf(request, headers) };
}

/** Name and password in an address belong in a header; addresses end up in logs. */
function moveCredentials(url: URL, headers: Headers): void {
  const pair = `${decoded(url.username)}:${decoded(url.password)}`;
  if (!headers.has("authorization")) headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  url.username = "";
  url.password = "";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Data of an answer by its content type. */
export function toData(bytes: Buffer, contentType: string): Json {
  if (bytes.length === 0) return null;
  if (JSON_TYPE.test(contentType)) {
    try {
      return JSON.parse(bytes.toString()) as Json;
    } catch {
      return bytes.toString();
    }
  }
  return TEXT_TYPE.test(contentType) || contentType === "" ? bytes.toString() : bytes.toString("base64");
}

/** Headers by their usual spelling, each with the list of its values. */
export function toHeaders(headers: Headers): Record<string, readonly string[]> {
  const names = [...new Set([...headers].map(([name]) => name))];
  return Object.fromEntries(
    names.map((name) => [
      name.replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase()),
      name === "set-cookie" ? headers.getSetCookie() : [headers.get(name) ?? ""],
    ]),
  );
}

/** The answer that stands for "there was no answer". */
export function noAnswer(message: string): HttpResponse {
  return { status: 0, code: 0, data: null, headers: {}, message };
}

function bodyOf(request: HttpRequest, headers: Headers): string | FormData | undefined {
  const { payload = null, files = null } = request;
  const type = headers.get("content-type") ?? "";
  if (files !== null || /^multipart\/form-data/i.test(type)) {
    // The boundary belongs to the header, so the header is made with the body.
    headers.delete("content-type");
    return formOf(payload, files);
  }
  if (payload === null) return undefined;
  if (typeof payload === "string") return payload;
  if (/^application\/x-www-form-urlencoded/i.test(type))
    return new URLSearchParams(pairs(payload, "payload")).toString();
  if (type === "") headers.set("content-type", "application/json; charset=utf-8");
  return JSON.stringify(payload);
}

function formOf(payload: Json, files: Json): FormData {
  const form = new FormData();
  for (const [key, value] of pairs(payload, "payload")) form.append(key, value);
  const list = files === null ? [] : Array.isArray(files) ? (files as readonly Json[]) : [files];
  if (list.length > MAX_FILES) throw invalid(`at most ${MAX_FILES} files at once`);
  for (const file of list) {
    const { name, filename, content_type: type, data } = isObject(file) ? file : {};
    if (typeof name !== "string" || typeof data !== "string") {
      throw invalid("files must be a list of {name, filename?, content_type?, data}, data as base64 or a data URI");
    }
    const [, uriType, base64 = data] = /^data:([^;,]*)(?:;[^,]*)?,(.*)$/s.exec(data) ?? [];
    const blob = new Blob([Buffer.from(base64, "base64")], { type: typeof type === "string" ? type : (uriType ?? "") });
    form.append(name, blob, typeof filename === "string" ? filename : name);
  }
  return form;
}

function pairs(value: Json, what: string): [string, string][] {
  if (value === null || value === "") return [];
  if (typeof value === "string") return [...new URLSearchParams(value)];
  const list = Array.isArray(value) ? (value as readonly Json[]) : [value];
  return list.flatMap((entry): [string, string][] => {
    if (Array.isArray(entry) && entry.length === 2) return [[String(entry[0]), written(entry[1] as Json)]];
    if (!isObject(entry)) throw invalid(`${what} must be an object, a list of objects, or text`);
    return Object.entries(entry).flatMap(([key, inner]) =>
      (Array.isArray(inner) ? (inner as readonly Json[]) : [inner]).map((one): [string, string] => [key, written(one)]),
    );
  });
}

function written(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function checkedHeader(name: string, value: string): [string, string] {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\u0020-\u00ff]*$/.test(value)) return [name, value];
  throw invalid(`the header "${name.slice(0, 100)}" has a name or value that HTTP does not allow`);
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
