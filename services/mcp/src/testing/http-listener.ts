/** A Node HTTP server for one handler, on a port of its own. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { serveNodeRequest } from "../node-http.ts";
import type { McpHttp } from "../serve-http.ts";

/** A listening handler. */
export interface HttpListener {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens on a loopback port; every caller is `caller`, or who the header `x-caller` says. */
export async function listenHttp(make: (port: number) => McpHttp<string>, caller = "tester"): Promise<HttpListener> {
  let http: McpHttp<string> | undefined;
  const server = createServer((request, response) => {
    const who = request.headers["x-caller"];
    if (http !== undefined) void serveNodeRequest(http, { request, response }, typeof who === "string" ? who : caller);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  http = make(port);
  const handler = http;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
