/**
 * The client library's transport over any byte stream.
 *
 * NOTE(why): the library keeps its transport factory in one global; with two kinds of transport in a process, a
 * connection can be handed the other one's. This factory is the same for all: the connection's own options say how to
 * dial.
 */

import type { Duplex } from "node:stream";

import type { ConnectionOptions } from "@nats-io/nats-core";
import { NatsConnectionImpl, setTransportFactory, type Transport } from "@nats-io/nats-core/internal";
import type { NatsConnection, Server } from "@nats-io/nats-core";

import type { Dialed } from "./dial.ts";

/** Connection options that carry how to reach the server. */
export interface TransportOptions extends ConnectionOptions {
  readonly dial: () => Promise<Dialed>;
}

/** Connects the client library over what `options.dial` opens. */
export async function connectOver(options: TransportOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new StreamTransport() });
  // The library changes the object it is given.
  return await NatsConnectionImpl.connect({ ...options });
}

class StreamTransport implements Transport {
  readonly lang = "nats.js";
  readonly version = "3.4.0";
  closeError?: Error;
  #dialed: Dialed | undefined;
  #done = false;
  readonly #closed: Promise<void | Error>;
  #resolveClosed: (error: Error | undefined) => void = () => undefined;

  constructor() {
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  get isClosed(): boolean {
    return this.#done;
  }

  async connect(_server: Server, options: ConnectionOptions): Promise<void> {
    const dialed = await (options as TransportOptions).dial();
    if (this.#done) {
      dialed.stream.destroy();
      return;
    }
    this.#dialed = dialed;
    dialed.stream.once("error", (error: Error) => {
      this.closeError ??= error;
    });
    dialed.stream.once("close", () => this.#finish());
    if (dialed.stream.destroyed) this.#finish();
  }

  async *[Symbol.asyncIterator](): AsyncIterableIterator<Uint8Array> {
    if (this.#dialed === undefined) return;
    const { stream, head } = this.#dialed;
    if (head.length > 0) yield head;
    yield* readable(stream);
    // The end of a WebSocket stream does not close its writing half.
    stream.destroy();
    this.#finish();
  }

  isEncrypted(): boolean {
    return this.#dialed?.encrypted === true;
  }

  send(frame: Uint8Array): void {
    if (!this.#done) this.#dialed?.stream.write(frame);
  }

  close(error?: Error): Promise<void> {
    if (error !== undefined) this.closeError ??= error;
    const stream = this.#dialed?.stream;
    if (!this.#done && stream !== undefined) {
      // A clean close lets the last bytes leave; a broken stream is dropped.
      if (error === undefined && stream.writableLength > 0) stream.end(() => stream.destroy());
      else stream.destroy();
    }
    this.#finish();
    return Promise.resolve();
  }

  disconnect(): void {
    this.#dialed?.stream.destroy();
    this.#finish();
  }

  closed(): Promise<void | Error> {
    return this.#closed;
  }

  discard(): void {
    this.#done = true;
    this.#dialed?.stream.destroy();
  }

  #finish(): void {
    if (this.#done) return;
    this.#done = true;
    this.#resolveClosed(this.closeError);
  }
}

// Never throws: the end of a connection is told by `closed`, once.
async function* readable(stream: Duplex): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch {
    // The stream's "error" listener has recorded it.
  }
}
