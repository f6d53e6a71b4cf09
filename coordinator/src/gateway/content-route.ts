/**
 * Whole files over HTTP.
 *
 * C1  What people and programs put into a workspace is handed on as a download, in a sandbox, and never as a page of ours.
 * C2  The ETag is the hash of the content; a range of it is of that content, or nothing.
 * C3  Bytes are read no faster than the client takes them; a content that cannot be finished ends with a cut connection, so that
 *     nobody takes a part for the whole.
 */

import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";

import { type Clock, MeshError } from "@mesh/kernel";
import type { FastifyRequest } from "fastify";

import { drained } from "./backpressure.ts";
import type { ErrorLog } from "./error-log.ts";
import type { HttpCall, HttpHandler } from "./http-server.ts";
import type { OpenStreams } from "./open-streams.ts";
import type { Call } from "./operation.ts";
import { operationOf, validate } from "./operations.ts";
import { HttpError } from "./problem.ts";

/** A content that can be read now. */
export interface OpenContent {
  /** The last part of its path. */
  readonly name: string;
  readonly mediaType: string;
  readonly size: number;
  /** Hex SHA-256; empty where it is not known. */
  readonly hash: string;
  /** Differs when the content may differ. */
  readonly revision: string;
  /** The bytes from `from` up to, not including, `to`. */
  parts(range: { readonly from: number; readonly to: number }, call: Call): AsyncIterable<Buffer>;
}

/** Opens contents; throws what may not be read, or cannot be now. */
export interface FileContents {
  open(
    request: { readonly workspace: string; readonly path: string; readonly node: string },
    call: Call,
  ): Promise<OpenContent>;
}

/** What the route uses. */
export interface ContentRouteDeps {
  readonly contents: FileContents;
  readonly streams: OpenStreams;
  readonly errors: ErrorLog;
  readonly clock: Clock;
}

const SLICE_BYTES = 64 * 1024;

/** Answers `GET …/files/content`. */
export function contentHandler(deps: ContentRouteDeps): HttpHandler {
  const operation = operationOf("files", "downloadFile");
  return async (request, reply, call, input) => {
    const message = validate(operation, input) as Parameters<FileContents["open"]>[0];
    const content = await deps.contents.open(message, call);
    const etag = `"${content.hash === "" ? createHash("sha256").update(content.revision).digest("hex").slice(0, 32) : content.hash}"`;
    void reply.headers({ ...headersOf(content), etag });
    if (matches(request.headers["if-none-match"], etag)) return reply.code(304).send();
    const range = rangeOf(request, content.size, etag);
    const { from, to } = range ?? { from: 0, to: content.size };
    reply.hijack();
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value);
    reply.raw.setHeader("content-length", to - from);
    if (range !== undefined) reply.raw.setHeader("content-range", `bytes ${from}-${to - 1}/${content.size}`);
    reply.raw.writeHead(range === undefined ? 200 : 206);
    await send(deps, reply.raw, { content, from, to }, { call, request });
    return undefined;
  };
}

async function send(
  { streams, clock, errors }: ContentRouteDeps,
  raw: ServerResponse,
  { content, from, to }: { readonly content: OpenContent; readonly from: number; readonly to: number },
  { call, request }: { readonly call: HttpCall; readonly request: FastifyRequest },
): Promise<void> {
  try {
    for await (const part of streams.follow((bounded) => content.parts({ from, to }, bounded), call, call.token)) {
      for (let at = 0; at < part.length; at += SLICE_BYTES) {
        if (raw.write(part.subarray(at, at + SLICE_BYTES)) || (await drained(clock, raw, call.signal))) continue;
        raw.destroy();
        return;
      }
    }
    raw.end();
  } catch (error) {
    const path = request.url.split("?", 1)[0] ?? "";
    if (!call.signal.aborted)
      errors.report(MeshError.from(error), { requestId: call.requestId, path, transport: "http" });
    raw.destroy();
  }
}

function headersOf({ name, mediaType }: OpenContent): Readonly<Record<string, string>> {
  const plain = name.replaceAll(/[^\w.-]/g, "_").slice(-100);
  return {
    "content-type": mediaType.startsWith("text/") ? `${mediaType}; charset=utf-8` : mediaType,
    "content-disposition": `attachment; filename="${plain}"; filename*=UTF-8''${encodeURIComponent(name).replaceAll("'", "%27")}`,
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache",
  };
}

function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const tags = header.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  return tags.includes(etag) || tags.includes("*");
}

/** One range that can be satisfied; undefined for the whole. */
function rangeOf(
  { headers }: FastifyRequest,
  size: number,
  etag: string,
): { readonly from: number; readonly to: number } | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(headers.range ?? "") ?? [];
  const ifRange = headers["if-range"];
  // Several ranges, other units and ranges of another content: the whole is the answer.
  if (first + last === "" || (ifRange !== undefined && ifRange !== etag)) return undefined;
  const from = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === "" || last === "" ? size : Math.min(size, Number(last) + 1);
  if (from < to) return { from, to };
  throw new HttpError(416, "Not in the file", {
    code: "out_of_range",
    message: `the file has ${size} bytes; the range is outside of it`,
  });
}
