/** One stream in memory with its durable consumers: what JetStream does, as far as the bus contract goes. */

import type { Clock } from "@mesh/kernel";

import type { StreamMessage } from "../bus.ts";

/** Settings that differ between WORK and EV. */
export interface MemoryStreamSettings {
  readonly subjects: RegExp;
  /** Acknowledged messages leave the stream. */
  readonly isWorkQueue: boolean;
  readonly maxPerSubject: number;
  readonly duplicateMs: number;
}

/** Settings of a durable consumer. */
export interface MemoryConsumerSettings {
  readonly filter: string | undefined;
  readonly ackWaitMs: number;
  readonly maxDeliver: number;
  readonly maxAckPending: number;
}

interface Stored {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
}

interface Delivery {
  count: number;
  /** When it may be delivered (again); Infinity once acknowledged or given up. */
  dueMs: number;
  inFlight: boolean;
}

interface Consumer {
  settings: MemoryConsumerSettings;
  readonly deliveries: Map<number, Delivery>;
}

/** Outcome of storing a message. */
export type Stores = "stored" | "duplicate" | "full";

/** The stream; `onChange` is called when something may have become deliverable. */
export class MemoryStream {
  readonly consumers: Map<string, Consumer> = new Map();
  readonly #settings: MemoryStreamSettings;
  readonly #clock: Clock;
  readonly #onChange: () => void;
  readonly #seen = new Map<string, number>();
  #messages: Stored[] = [];
  #lastSeq = 0;

  constructor(settings: MemoryStreamSettings, clock: Clock, onChange: () => void) {
    this.#settings = settings;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  takes(subject: string): boolean {
    return this.#settings.subjects.test(subject);
  }

  store(subject: string, data: Uint8Array, msgId: string): Stores {
    const now = this.#clock.monotonic();
    const seenMs = this.#seen.get(msgId);
    if (seenMs !== undefined && now - seenMs < this.#settings.duplicateMs) return "duplicate";
    const sameSubject = this.#messages.filter((message) => message.subject === subject);
    if (sameSubject.length >= this.#settings.maxPerSubject) {
      if (this.#settings.isWorkQueue) return "full";
      this.#messages = this.#messages.filter((message) => message !== sameSubject[0]);
    }
    this.#seen.set(msgId, now);
    this.#lastSeq += 1;
    this.#messages.push({ seq: this.#lastSeq, subject, data: data.slice() });
    this.#onChange();
    return "stored";
  }

  ensureConsumer(durable: string, settings: MemoryConsumerSettings): void {
    const existing = this.consumers.get(durable);
    if (existing === undefined) this.consumers.set(durable, { settings, deliveries: new Map() });
    else existing.settings = settings;
    this.#onChange();
  }

  purge(subject: string): void {
    this.#messages = this.#messages.filter((message) => message.subject !== subject);
  }

  /** The next message `durable` may have now, or how long until there may be one. */
  next(durable: string, isLive: () => boolean): StreamMessage | { readonly waitMs: number } | undefined {
    const consumer = this.consumers.get(durable);
    if (consumer === undefined) return undefined;
    const { settings, deliveries } = consumer;
    const now = this.#clock.monotonic();
    let waitMs = Number.POSITIVE_INFINITY;
    let pending = [...deliveries.values()].filter((delivery) => delivery.inFlight && delivery.dueMs > now).length;
    for (const message of this.#messages) {
      if (settings.filter !== undefined && message.subject !== settings.filter) continue;
      const delivery = deliveries.get(message.seq) ?? { count: 0, dueMs: 0, inFlight: false };
      if (settings.maxDeliver > 0 && delivery.count >= settings.maxDeliver) continue;
      if (delivery.dueMs > now) {
        waitMs = Math.min(waitMs, delivery.dueMs - now);
        continue;
      }
      if (pending >= settings.maxAckPending) break;
      pending += 1;
      deliveries.set(message.seq, delivery);
      return this.#deliver(consumer, message, delivery, isLive);
    }
    return { waitMs };
  }

  #deliver(consumer: Consumer, message: Stored, delivery: Delivery, isLive: () => boolean): StreamMessage {
    delivery.count += 1;
    delivery.inFlight = true;
    delivery.dueMs = this.#clock.monotonic() + consumer.settings.ackWaitMs;
    let settled = false;
    const settle = (dueMs: number): void => {
      if (settled) return;
      settled = true;
      // Like an acknowledgement on a dead connection: it never arrives.
      if (!isLive()) return;
      delivery.inFlight = false;
      delivery.dueMs = dueMs;
      if (dueMs === Number.POSITIVE_INFINITY && this.#settings.isWorkQueue) {
        this.#messages = this.#messages.filter((other) => other.seq !== message.seq);
        consumer.deliveries.delete(message.seq);
      }
      this.#onChange();
    };
    return {
      subject: message.subject,
      data: message.data.slice(),
      deliveryCount: delivery.count,
      ack: () => settle(Number.POSITIVE_INFINITY),
      nak: (delayMs) => settle(this.#clock.monotonic() + delayMs),
      term: () => settle(Number.POSITIVE_INFINITY),
    };
  }
}
