/** A model of a provider that is reached over HTTP, in OpenAI's format. For tests. */

import { createServer, type Server } from "node:http";

/** What the model is asked: its messages. */
export interface ModelRequest {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** What it does: says something, or refuses. */
export type ModelReply =
  | { readonly text: string }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> };

/** See the file comment. */
export class ModelServer implements AsyncDisposable {
  readonly requests: ModelRequest[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts it on a free port; `reply` answers the nth request, from 0. */
  static async open(reply: (request: ModelRequest, index: number) => ModelReply): Promise<ModelServer> {
    const server = createServer((incoming, outgoing) => {
      let text = "";
      incoming.setEncoding("utf8");
      incoming.on("data", (part: string) => (text += part));
      incoming.on("end", () => {
        // The client is our own program, and what it cannot write fails the test.
        const request = JSON.parse(text) as ModelRequest;
        models.requests.push(request);
        const answer = reply(request, models.requests.length - 1);
        if ("status" in answer) {
          outgoing.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
          outgoing.end(JSON.stringify({ error: { message: "not now" } }));
          return;
        }
        outgoing.writeHead(200, { "content-type": "text/event-stream" });
        outgoing.end(events(answer.text));
      });
    });
    const models = new ModelServer(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return models;
  }

  /** Host and port. */
  get host(): string {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function events(content: string): string {
  const chunk = (delta: object, finish_reason: string | null): string =>
    `data: ${JSON.stringify({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  return `${chunk({ role: "assistant", content }, null)}${chunk({}, "stop")}data: [DONE]\n\n`;
}
