/** An HTTP server that answers with wire fixtures: `/<client>/<protocol>/<case>/...`, with real resets and real silence. */

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import type { WireCase } from "@mesh/llm/testing";

/** A running server. */
export interface FixtureServer {
  /** Base address of one case for one client; every client has its own count of requests. */
  readonly baseUrl: (client: string, wire: WireCase) => string;
  readonly requests: (client: string, wire: WireCase) => number;
  readonly close: () => Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function startFixtureServer(cases: readonly WireCase[]): Promise<FixtureServer> {
  const counts = new Map<string, number>();
  const server = createServer((request, response) => {
    const [, client = "", protocol = "", name = ""] = (request.url ?? "").split("/");
    const wire = cases.find((each) => each.protocol === protocol && each.name === name);
    const key = `${client}/${protocol}/${name}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    request.resume();
    request.on("end", () => {
      if (wire === undefined) response.writeHead(410).end();
      else answer(wire, count, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: (client, wire) => `http://127.0.0.1:${port}/${client}/${wire.protocol}/${wire.name}/v1`,
    requests: (client, wire) => counts.get(`${client}/${wire.protocol}/${wire.name}`) ?? 0,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function answer(wire: WireCase, count: number, response: ServerResponse): void {
  if (wire.before !== undefined && count === 1) {
    response.writeHead(wire.before.status, wire.before.headers).end(wire.before.body);
    return;
  }
  response.writeHead(wire.status, { "content-type": contentType(wire), ...wire.headers });
  if (wire.end === "close") {
    response.end(wire.body);
    return;
  }
  response.flushHeaders();
  // Destroyed only once the bytes are on their way, so that every client has seen them.
  response.write(wire.body, () => {
    if (wire.end === "reset") setImmediate(() => response.socket?.resetAndDestroy());
  });
}

function contentType(wire: WireCase): string {
  if (wire.body[0] === 0) return "application/vnd.amazon.eventstream";
  const first = String.fromCodePoint(wire.body[0] ?? 0x20);
  if (first === "{" || first === "[") return "application/json";
  return first === "<" ? "text/html" : "text/event-stream";
}
