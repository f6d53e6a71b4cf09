/** Bodies of requests: bounded, and read for what the handler must know of them. */

import { isObject } from "@mesh/kernel";

import { problem } from "./http-response.ts";
import { RPC_CODE } from "./rpc-error.ts";

/** A parsed body. */
export interface HttpBody {
  readonly message: unknown;
  readonly isInitialize: boolean;
  /** Ids of the requests in it. */
  readonly requestIds: readonly (string | number)[];
}

/** Reads a body, or takes the one given; a response when it is too long or no JSON. */
export async function readBody(request: Request, parsed: unknown, maxBytes: number): Promise<HttpBody | Response> {
  if (parsed !== undefined) return bodyOf(parsed);
  try {
    const text = await boundedText(request, maxBytes);
    if (text === undefined) return problem(413, RPC_CODE.connectionClosed, `The body is longer than ${maxBytes} bytes`);
    return bodyOf(JSON.parse(text));
  } catch {
    // Cut off or malformed.
    return problem(400, RPC_CODE.parse, "The body is not JSON");
  }
}

async function boundedText(request: Request, maxBytes: number): Promise<string | undefined> {
  if (Number(request.headers.get("content-length")) > maxBytes) return undefined;
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of request.body ?? []) {
    bytes += part.length;
    if (bytes > maxBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function bodyOf(message: unknown): HttpBody {
  const messages: readonly unknown[] = Array.isArray(message) ? message : [message];
  const requests = messages.filter(isObject).filter((item) => "method" in item);
  return {
    message,
    isInitialize: requests.some((item) => item["method"] === "initialize"),
    requestIds: requests.map((item) => item["id"]).filter((id) => typeof id === "string" || typeof id === "number"),
  };
}
