/** The bridge between Node's HTTP server and the handler's requests and responses. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

import type { McpHttp } from "./serve-http.ts";

/** Serves one request of a Node server; `body` is given when it has already been parsed. Resolves when the response has ended. */
export async function serveNodeRequest<Caller>(
  http: McpHttp<Caller>,
  exchange: { readonly request: IncomingMessage; readonly response: ServerResponse },
  caller: Caller,
  body?: unknown,
): Promise<void> {
  const { request, response } = exchange;
  await send(await http.handle(webRequest(request, body !== undefined), caller, body), response);
}

function webRequest(request: IncomingMessage, isParsed: boolean): Request {
  const { method = "GET", url = "/" } = request;
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && !name.startsWith(":"))
      headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const init: RequestInit = { method, headers };
  if (method === "POST" && !isParsed) {
    // Node's types of web streams and those of fetch are declared apart.
    Object.assign(init, { body: Readable.toWeb(request), duplex: "half" });
  }
  // Only the path matters: the host is taken from its header, which is checked.
  return new Request(new URL(url.replace(/^\/+/, "/"), "http://localhost"), init);
}

async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  if (answer.body === null) {
    response.end();
    return;
  }
  const reader = answer.body.getReader();
  const gone = (): void => void reader.cancel().catch(() => undefined);
  response.once("close", gone);
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!response.write(next.value)) await drained(response);
    }
    response.end();
  } catch {
    // Half an answer cannot be taken back: the client sees that it broke.
    response.destroy();
  } finally {
    response.off("close", gone);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.once("drain", done);
    response.once("close", done);
  });
}
