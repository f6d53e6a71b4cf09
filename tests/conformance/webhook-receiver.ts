/** Somebody else's system that is told about events. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** One message as it arrived. */
export interface ReceivedMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Takes messages; how it answers can be changed at any time. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: ReceivedMessage[] = [];
  /** Status of each answer; 0 does not answer at all. */
  status = 200;
  readonly #server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, text]) => [name, String(text)]));
      this.received.push({ headers, body: Buffer.concat(parts).toString("utf8") });
      if (this.status !== 0) response.writeHead(this.status).end();
    });
  });

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((resolve) => receiver.#server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
