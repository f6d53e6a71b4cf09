/** The {@link Bus} over NATS. Guarantees B1–B4 of `bus.ts`; the connection itself is `link.ts`. */

import { errorText, MeshError, type Service } from "@mesh/kernel";
import {
  headers,
  type Msg,
  type NatsConnection,
  type Subscription as NatsSubscription,
  type SubscriptionOptions,
} from "@nats-io/nats-core";

import type { Bus, BusStatus, ConsumerRef, StreamMessage, Subscription } from "./bus.ts";
import { decodeFailure, encodeFailure, ERROR_HEADER, fromNats, notConnected, tooLarge } from "./errors.ts";
import { type BusLog, type BusOptions, Link } from "./link.ts";
import { natsConsumer } from "./nats-consumer.ts";
import { checkStored } from "./stream-reply.ts";

const FIRST_CONNECT_MS = 10_000;
// Beyond this a subject's handlers are too slow for its callers; refusing at once is kinder than a time-out.
const MAX_REQUESTS_IN_FLIGHT = 4_096;
const PUBLISH_STREAM_MS = 5_000;

/** Connects to NATS; resolves with the first connection, rejects when there is none in time or the credentials are refused. */
export async function connectBus(options: BusOptions): Promise<Bus> {
  const link = new Link(options);
  link.start();
  const firstMs = options.firstConnectMs ?? FIRST_CONNECT_MS;
  const limit = new AbortController();
  const cancel = options.clock.after(firstMs, () => limit.abort());
  const connection = await link.connected(limit.signal);
  cancel();
  if (connection !== undefined) return new NatsBus(link, options);
  const { status } = link;
  await link.close();
  throw firstFailure(status, options.servers);
}

function firstFailure(status: BusStatus, servers: readonly string[]): MeshError {
  if (status.kind === "closed") {
    return new MeshError("unauthenticated", `${status.reason}; join this device again or renew its credentials`);
  }
  const why = status.kind === "connecting" && status.lastError !== undefined ? status.lastError : "no answer in time";
  return new MeshError("unavailable", `cannot reach NATS at ${servers.join(", ")}: ${why}`);
}

class NatsBus implements Bus {
  readonly #link: Link;
  readonly #options: BusOptions;
  readonly #log: BusLog;

  constructor(link: Link, options: BusOptions) {
    this.#link = link;
    this.#options = options;
    this.#log = options.log ?? (() => undefined);
  }

  get status(): BusStatus {
    return this.#link.status;
  }

  onStatus(listener: (status: BusStatus) => void): Subscription {
    return this.#link.onStatus(listener);
  }

  publish(subject: string, data: Uint8Array): void {
    try {
      this.#link.connection?.publish(subject, data);
    } catch (error) {
      const failure = fromNats(error, subject);
      // Dropped while the connection is going away, as promised; a message too large is the caller's fault.
      if (failure.code !== "unavailable") throw failure;
    }
  }

  async request(
    subject: string,
    data: Uint8Array,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Uint8Array> {
    const reply = await this.#ask(subject, data, options);
    if (reply.headers?.get(ERROR_HEADER) === "1") throw decodeFailure(reply.data);
    return reply.data;
  }

  serve(
    subject: string,
    handler: (data: Uint8Array, subject: string) => Promise<Uint8Array>,
    options?: { readonly queue?: string },
  ): Subscription {
    let inFlight = 0;
    return this.#listen(subject, options, (message) => {
      if (inFlight >= MAX_REQUESTS_IN_FLIGHT) {
        respondFailure(
          message,
          new MeshError("resource_exhausted", `too many requests on ${subject}; try again later`),
        );
        return;
      }
      inFlight += 1;
      void this.#answer(message, handler).finally(() => {
        inFlight -= 1;
      });
    });
  }

  subscribe(
    subject: string,
    handler: (data: Uint8Array, subject: string) => void,
    options?: { readonly queue?: string },
  ): Subscription {
    return this.#listen(subject, options, (message) => {
      try {
        handler(message.data, message.subject);
      } catch (error) {
        this.#log("bus_handler_failed", { subject: message.subject, error: errorText(error) });
      }
    });
  }

  async publishStream(
    subject: string,
    data: Uint8Array,
    options: { readonly msgId: string; readonly timeoutMs?: number },
  ): Promise<void> {
    const marks = headers();
    marks.set("Nats-Msg-Id", options.msgId);
    const reply = await this.#ask(subject, data, { timeoutMs: options.timeoutMs ?? PUBLISH_STREAM_MS, headers: marks });
    checkStored(reply.data, subject);
  }

  consumer(
    ref: ConsumerRef,
    handler: (messages: readonly StreamMessage[]) => Promise<void>,
    options: { readonly maxBatch: number; readonly onMissing?: () => Promise<void> | void },
  ): Service {
    return natsConsumer({ link: this.#link, clock: this.#options.clock, log: this.#log }, ref, { ...options, handler });
  }

  async close(): Promise<void> {
    await this.#link.close();
  }

  async #ask(
    subject: string,
    data: Uint8Array,
    options: { timeoutMs: number; signal?: AbortSignal; headers?: ReturnType<typeof headers> },
  ): Promise<Msg> {
    const { signal } = options;
    if (signal?.aborted === true) throw cancelled(subject);
    const connection = this.#link.connection;
    if (connection === undefined) throw notConnected(lastError(this.#link.status));
    try {
      const asked = connection.request(subject, data, {
        timeout: Math.max(1, options.timeoutMs),
        ...(options.headers !== undefined && { headers: options.headers }),
      });
      return signal === undefined ? await asked : await abortable(asked, signal, subject);
    } catch (error) {
      throw fromNats(error, subject);
    }
  }

  async #answer(message: Msg, handler: (data: Uint8Array, subject: string) => Promise<Uint8Array>): Promise<void> {
    try {
      const answer = await handler(message.data, message.subject);
      respond(message, answer);
    } catch (error) {
      if (MeshError.from(error).code === "internal") {
        this.#log("bus_handler_failed", { subject: message.subject, error: errorText(error) });
      }
      respondFailure(message, error);
    }
  }

  #listen(
    subject: string,
    options: { readonly queue?: string } | undefined,
    receive: (message: Msg) => void,
  ): Subscription {
    const queue = options?.queue;
    let current: NatsSubscription | undefined;
    const settings: SubscriptionOptions = {
      ...(queue !== undefined && { queue }),
      callback: (error, message) => {
        if (error === null) receive(message);
        else this.#log("bus_subscription_refused", { subject, error: error.message });
      },
    };
    const attached = this.#link.attach((connection: NatsConnection) => {
      current = connection.subscribe(subject, settings);
    });
    return {
      stop: () => {
        attached.stop();
        if (current?.isClosed() === false) current.unsubscribe();
      },
    };
  }
}

function respond(message: Msg, answer: Uint8Array): void {
  try {
    message.respond(answer);
  } catch (error) {
    const failure = fromNats(error, message.subject);
    // A lost connection has lost its caller too; an answer too large must be told.
    if (failure.code !== "unavailable") throw failure.code === "resource_exhausted" ? tooLarge("the answer") : failure;
  }
}

function respondFailure(message: Msg, error: unknown): void {
  const marks = headers();
  marks.set(ERROR_HEADER, "1");
  try {
    message.respond(encodeFailure(error), { headers: marks });
  } catch {
    // The connection is gone, and the caller's request with it.
  }
}

function lastError(status: BusStatus): string | undefined {
  if (status.kind === "connected") return undefined;
  return status.kind === "closed" ? status.reason : status.lastError;
}

function cancelled(subject: string): MeshError {
  return new MeshError("cancelled", `the request on ${subject} was cancelled`);
}

async function abortable<T>(asked: Promise<T>, signal: AbortSignal, subject: string): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(cancelled(subject));
    signal.addEventListener("abort", onAbort, { once: true });
  });
  // The request itself ends with its time-out; nobody is left to hear of it.
  asked.catch(() => undefined);
  try {
    return await Promise.race([asked, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
