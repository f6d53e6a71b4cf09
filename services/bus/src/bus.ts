/**
 * The bus as the rest of the system sees it. Two implementations pass the same contract suite: NATS (`connectBus`)
 * and memory (`@mesh/bus/testing`).
 *
 * B1  A request fails with `unavailable` when nobody serves the subject, `deadline_exceeded` after its time-out, and
 *     with the server's own MeshError when the handler threw one.
 * B2  The connection heals by itself for ever; only a refusal of the credentials ends it (status `closed`).
 * B3  Subscriptions, served subjects and consumers survive reconnection.
 * B4  Stream delivery is at least once; a handler that throws gets the message again.
 */

import type { Service } from "@mesh/kernel";

/** State of the connection, for readiness and for people. */
export type BusStatus =
  | { readonly kind: "connected"; readonly serverVersion: string; readonly url: string }
  | { readonly kind: "connecting"; readonly attempt: number; readonly lastError: string | undefined }
  | { readonly kind: "closed"; readonly reason: string };

/** Undoes a `subscribe` or `serve`; idempotent. */
export interface Subscription {
  stop(): void;
}

/** One message of a stream. Exactly one of ack, nak, term is called; later calls are ignored. */
export interface StreamMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** 1 for the first delivery. */
  readonly deliveryCount: number;
  ack(): void;
  /** Deliver again after `delayMs`. */
  nak(delayMs: number): void;
  /** Never deliver again. */
  term(): void;
}

/** Which durable pull consumer to read. */
export interface ConsumerRef {
  readonly stream: string;
  readonly durable: string;
}

/** Transport between coordinator and nodes. */
export interface Bus {
  readonly status: BusStatus;
  /** Calls `listener` on every change of status. */
  onStatus(listener: (status: BusStatus) => void): Subscription;
  /** Fire and forget; dropped when not connected. */
  publish(subject: string, data: Uint8Array): void;
  /** Core request/reply. */
  request(
    subject: string,
    data: Uint8Array,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Uint8Array>;
  /** Answers requests; handlers run concurrently. A thrown MeshError travels to the caller (see `RpcFailure`). */
  serve(
    subject: string,
    handler: (data: Uint8Array, subject: string) => Promise<Uint8Array>,
    options?: { readonly queue?: string },
  ): Subscription;
  /** Receives messages in order; the handler must not block. */
  subscribe(
    subject: string,
    handler: (data: Uint8Array, subject: string) => void,
    options?: { readonly queue?: string },
  ): Subscription;
  /** Publishes to a stream and resolves when the server stored it; duplicates of `msgId` are dropped there. */
  publishStream(
    subject: string,
    data: Uint8Array,
    options: { readonly msgId: string; readonly timeoutMs?: number },
  ): Promise<void>;
  /**
   * A supervised consumer: hands over what has arrived, up to `maxBatch` messages, as soon as the previous call has
   * resolved. A throw naks the whole batch after a delay. Recreated pulls, lost consumers and reconnections are handled
   * inside; `onMissing` is called when the consumer does not exist (then it is looked for again with backoff).
   */
  consumer(
    ref: ConsumerRef,
    handler: (messages: readonly StreamMessage[]) => Promise<void>,
    options: { readonly maxBatch: number; readonly onMissing?: () => Promise<void> | void },
  ): Service;
  /** Sends what is buffered and closes for good. */
  close(): Promise<void>;
}
