/**
 * A TCP proxy that can break the line as networks do.
 *
 * open   forwards
 * cut    forwards nothing and closes nothing: what was sent arrives when the line is back, like packets sent again
 * mute   forwards requests and swallows answers; its connections die when that ends, since bytes are missing
 */

import { connect, createServer, type Server, type Socket } from "node:net";

/** State of the line. */
export type LineMode = "open" | "cut" | "mute";

interface Line {
  readonly client: Socket;
  upstream: Socket | undefined;
  isHarmed: boolean;
}

/** One proxied port on loopback. */
export class TcpProxy {
  readonly url: string;
  readonly #server: Server;
  readonly #target: () => URL;
  readonly #lines = new Set<Line>();
  #mode: LineMode = "open";

  private constructor(server: Server, port: number, target: () => URL) {
    this.#server = server;
    this.#target = target;
    this.url = `http://127.0.0.1:${port}`;
    server.on("connection", (client) => this.#accept(client));
  }

  /** Listens on a free port; `target` is asked at each connection. */
  static async listen(target: () => URL): Promise<TcpProxy> {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("the proxy has no port");
    return new TcpProxy(server, address.port, target);
  }

  /** Changes the line for all connections, present and future. */
  set(mode: LineMode): void {
    this.#mode = mode;
    for (const line of this.#lines) {
      if (mode === "cut") pause(line);
      else if (line.isHarmed && mode === "open") destroy(line);
      else if (line.upstream === undefined) this.#dial(line);
      else resume(line);
    }
  }

  /** Closes everything. */
  async close(): Promise<void> {
    for (const line of this.#lines) destroy(line);
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(client: Socket): void {
    const line: Line = { client, upstream: undefined, isHarmed: false };
    this.#lines.add(line);
    client.on("error", () => undefined);
    client.once("close", () => {
      this.#lines.delete(line);
      line.upstream?.destroy();
    });
    if (this.#mode !== "cut") this.#dial(line);
  }

  #dial(line: Line): void {
    const { hostname, port } = this.#target();
    const { client } = line;
    const upstream = connect({ host: hostname, port: Number(port) });
    line.upstream = upstream;
    upstream.on("error", () => client.destroy());
    // Lets what was already received go out first.
    upstream.once("close", () => client.end());
    client.on("data", (data) => {
      if (upstream.write(data)) return;
      client.pause();
      upstream.once("drain", () => this.#mode !== "cut" && client.resume());
    });
    upstream.on("data", (data) => {
      if (this.#mode === "mute") line.isHarmed = true;
      else if (!client.write(data)) {
        upstream.pause();
        client.once("drain", () => this.#mode !== "cut" && upstream.resume());
      }
    });
    client.resume();
  }
}

function pause(line: Line): void {
  line.client.pause();
  line.upstream?.pause();
}

function resume(line: Line): void {
  line.client.resume();
  line.upstream?.resume();
}

function destroy(line: Line): void {
  line.client.destroy();
  line.upstream?.destroy();
}
