/** An HTTP server that answers from a script and keeps what it was sent. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import type { JsonObject } from "@mesh/kernel";

import type { Answer } from "./script.ts";

/** A running server. */
export interface ScriptServer {
  readonly baseUrl: string;
  /** Bodies of the requests so far. */
  readonly requests: readonly JsonObject[];
  readonly close: () => Promise<void>;
}

/** Starts a server on a free port of this machine; the last answer is given again and again. */
export async function startScriptServer(answers: readonly Answer[]): Promise<ScriptServer> {
  const requests: JsonObject[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      requests.push(body);
      const answer = answers[Math.min(requests.length, answers.length) - 1];
      const type = answer?.type ?? "text/event-stream";
      response.writeHead(answer?.status ?? 200, { "content-type": type }).end(answer?.body ?? "");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<JsonObject> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text) as JsonObject;
}
