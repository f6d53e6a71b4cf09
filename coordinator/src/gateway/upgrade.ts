/** HTTP Upgrade requests by path; what nobody takes is refused with a problem. */

import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";

import { type Ids, MeshError } from "@mesh/kernel";

import { PROBLEM_TYPE, problemHeaders, toProblem } from "./problem.ts";

/** Takes over the connection of an upgrade request. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

/** Routes upgrade requests of `server` by path. */
export function routeUpgrades(server: Server, handlers: ReadonlyMap<string, UpgradeHandler>, ids: Ids): void {
  server.on("upgrade", (request, socket, head) => {
    // Until someone takes over, a reset of the client must not become an uncaught error.
    socket.on("error", () => socket.destroy());
    const path = request.url?.split("?", 1)[0] ?? "";
    const handler = handlers.get(path);
    if (handler === undefined) {
      refuseUpgrade(
        socket,
        new MeshError("not_found", "nothing at this path speaks WebSocket; use /v1/ws"),
        ids.next("req"),
      );
    } else {
      handler(request, socket, head);
    }
  });
}

/** Answers an upgrade request with a problem and closes. */
export function refuseUpgrade(socket: Duplex, error: MeshError, requestId: string): void {
  const problem = toProblem(error, requestId);
  const body = JSON.stringify(problem);
  const headers = {
    ...problemHeaders(error),
    "content-type": PROBLEM_TYPE,
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${problem.title}\r\n${lines.join("")}\r\n${body}`, () => socket.destroy());
}
