/**
 * The bus in one process, for tests: passes the same contract as NATS, keeps payloads as bytes, and can lose its
 * connection on demand.
 */

import { Backoff, type Clock, MeshError, type Service, systemClock } from "@mesh/kernel";

import type { BusAdmin } from "../admin.ts";
import type { Bus, BusStatus, ConsumerRef, StreamMessage, Subscription } from "../bus.ts";
import { decodeFailure, encodeFailure, MAX_PAYLOAD_BYTES, notConnected, tooLarge } from "../errors.ts";
import { StreamQueue } from "../stream-queue.ts";
import { INGEST_DURABLE, STREAM, subjects, workDurable } from "../subjects.ts";
import { MemoryStream } from "./memory-stream.ts";

/** A bus whose connection tests can take away. */
export interface MemoryBus extends Bus {
  /** Loses the connection until `heal`. */
  cut(): void;
  heal(): void;
}

/** What the buses of one test meet on. */
export interface MemoryHub {
  connect(): MemoryBus;
  readonly admin: BusAdmin;
  /** Forgets all streams and consumers, as if the server's store had been deleted. */
  deleteStore(): void;
}

/** A hub without streams; `admin.ensureStreams()` makes them. */
export function memoryBus(options: { readonly clock?: Clock } = {}): MemoryHub {
  return new Hub(options.clock ?? systemClock);
}

type Receive = (data: Uint8Array, subject: string) => void;
type Handler = (data: Uint8Array, subject: string) => Promise<Uint8Array>;

interface Listener<T> {
  readonly client: Client;
  readonly matches: RegExp;
  readonly queue: string | undefined;
  readonly call: T;
}

const CONNECTED: BusStatus = { kind: "connected", serverVersion: "memory", url: "memory://" };
const CUT: BusStatus = { kind: "connecting", attempt: 1, lastError: "cut by the test" };

class Hub implements MemoryHub {
  readonly clock: Clock;
  readonly streams = new Map<string, MemoryStream>();
  readonly subscribers = new Set<Listener<Receive>>();
  readonly servers = new Set<Listener<Handler>>();
  readonly admin: BusAdmin;
  readonly #waiting = new Set<() => void>();
  #turn = 0;

  constructor(clock: Clock) {
    this.clock = clock;
    this.admin = memoryAdmin(this);
  }

  connect(): MemoryBus {
    return new Client(this);
  }

  deleteStore(): void {
    this.streams.clear();
    this.changed();
  }

  changed(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Resolves at the next change, after `waitMs`, or when `signal` aborts. */
  async change(waitMs: number, signal: AbortSignal): Promise<void> {
    const done = new AbortController();
    const wake = (): void => done.abort();
    this.#waiting.add(wake);
    await this.clock.sleep(Math.min(waitMs, 60_000), AbortSignal.any([done.signal, signal]));
    this.#waiting.delete(wake);
  }

  /** Everyone outside a queue group, and one of each group, in turn. */
  chosen<T>(listeners: Iterable<Listener<T>>, subject: string): Listener<T>[] {
    const groups = new Map<string, Listener<T>[]>();
    const all: Listener<T>[] = [];
    for (const listener of listeners) {
      if (!listener.client.isLive || !listener.matches.test(subject)) continue;
      if (listener.queue === undefined) all.push(listener);
      else groups.set(listener.queue, [...(groups.get(listener.queue) ?? []), listener]);
    }
    for (const members of groups.values()) {
      this.#turn += 1;
      const member = members[this.#turn % members.length];
      if (member !== undefined) all.push(member);
    }
    return all;
  }

  deliver(subject: string, data: Uint8Array): void {
    for (const listener of this.chosen(this.subscribers, subject)) {
      const copy = data.slice();
      queueMicrotask(() => {
        try {
          listener.call(copy, subject);
        } catch {
          // A subscriber's failure is its own, as over a wire.
        }
      });
    }
  }
}

class Client implements MemoryBus {
  readonly #hub: Hub;
  readonly #listeners = new Set<(status: BusStatus) => void>();
  readonly #closing = new AbortController();
  #status: BusStatus = CONNECTED;

  constructor(hub: Hub) {
    this.#hub = hub;
  }

  get status(): BusStatus {
    return this.#status;
  }

  get isLive(): boolean {
    return this.#status.kind === "connected";
  }

  onStatus(listener: (status: BusStatus) => void): Subscription {
    this.#listeners.add(listener);
    return { stop: () => this.#listeners.delete(listener) };
  }

  publish(subject: string, data: Uint8Array): void {
    checkSize(subject, data);
    if (this.isLive) this.#hub.deliver(subject, data);
  }

  async request(
    subject: string,
    data: Uint8Array,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
  ): Promise<Uint8Array> {
    const { signal } = options;
    const cancelled = (): MeshError => new MeshError("cancelled", `the request on ${subject} was cancelled`);
    if (signal?.aborted === true) throw cancelled();
    this.#needConnection();
    checkSize(subject, data);
    const server = this.#hub.chosen(this.#hub.servers, subject)[0];
    if (server === undefined) throw new MeshError("unavailable", `nobody serves ${subject}`);
    const patience = new AbortController();
    const timer = this.#hub.clock.sleep(
      options.timeoutMs,
      AbortSignal.any([patience.signal, ...(signal ? [signal] : [])]),
    );
    const timedOut = timer.then(() => {
      if (signal?.aborted === true) throw cancelled();
      throw new MeshError("deadline_exceeded", `no answer on ${subject} in time`);
    });
    timedOut.catch(() => undefined);
    try {
      return await Promise.race([answer(server.call, data.slice(), subject), timedOut]);
    } finally {
      patience.abort();
    }
  }

  serve(subject: string, handler: Handler, options?: { readonly queue?: string }): Subscription {
    return this.#add(this.#hub.servers, subject, handler, options?.queue);
  }

  subscribe(subject: string, handler: Receive, options?: { readonly queue?: string }): Subscription {
    return this.#add(this.#hub.subscribers, subject, handler, options?.queue);
  }

  async publishStream(subject: string, data: Uint8Array, options: { readonly msgId: string }): Promise<void> {
    this.#needConnection();
    checkSize(subject, data);
    const stream = [...this.#hub.streams.values()].find((candidate) => candidate.takes(subject));
    if (stream === undefined) throw new MeshError("unavailable", `nobody serves ${subject}`);
    if (stream.store(subject, data, options.msgId) === "full") {
      throw new MeshError("resource_exhausted", `maximum messages per subject exceeded (${subject})`);
    }
    this.#hub.deliver(subject, data);
    await Promise.resolve();
  }

  consumer(
    ref: ConsumerRef,
    handler: (messages: readonly StreamMessage[]) => Promise<void>,
    options: { readonly maxBatch: number; readonly onMissing?: () => Promise<void> | void },
  ): Service {
    return {
      name: `consumer ${ref.stream}/${ref.durable}`,
      run: async (signal) => {
        const either = AbortSignal.any([signal, this.#closing.signal]);
        const backoff = new Backoff(this.#hub.clock, { firstMs: 20, maxMs: 1_000 });
        while (!either.aborted) {
          if (this.isLive) {
            const outcome = await this.#consume(ref, handler, options.maxBatch, either);
            if (outcome === "missing") {
              try {
                await options.onMissing?.();
              } catch {
                // Asked again with the next look.
              }
            } else backoff.succeeded();
          }
          await backoff.wait(either);
        }
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const set of [this.#hub.servers, this.#hub.subscribers]) {
      for (const listener of set) if (listener.client === this) (set as Set<unknown>).delete(listener);
    }
    this.#set({ kind: "closed", reason: "closed" });
    await Promise.resolve();
  }

  cut(): void {
    if (this.isLive) this.#set(CUT);
  }

  heal(): void {
    if (this.#status.kind === "connecting") this.#set(CONNECTED);
  }

  // Feeds the handler until the connection is cut, the consumer is gone, or `signal` aborts.
  async #consume(
    ref: ConsumerRef,
    handler: (messages: readonly StreamMessage[]) => Promise<void>,
    maxBatch: number,
    signal: AbortSignal,
  ): Promise<"missing" | "ended"> {
    const queue = new StreamQueue(maxBatch);
    const end = (): void => queue.end();
    signal.addEventListener("abort", end, { once: true });
    let outcome: "missing" | "ended" = "ended";
    const filling = (async () => {
      while (!signal.aborted && this.isLive) {
        const next = this.#hub.streams.get(ref.stream)?.next(ref.durable, () => this.isLive);
        if (next === undefined) {
          outcome = "missing";
          break;
        }
        if ("waitMs" in next) await this.#hub.change(next.waitMs, signal);
        else await queue.put(next);
      }
      queue.end();
    })();
    await queue.drain(handler, () => undefined);
    await filling;
    queue.giveBack();
    signal.removeEventListener("abort", end);
    return outcome;
  }

  #add<T>(set: Set<Listener<T>>, subject: string, call: T, queue: string | undefined): Subscription {
    const listener = { client: this, matches: pattern(subject), queue, call };
    set.add(listener);
    return { stop: () => set.delete(listener) };
  }

  #needConnection(): void {
    if (!this.isLive) throw notConnected(this.#status.kind === "closed" ? "closed" : "cut by the test");
  }

  #set(status: BusStatus): void {
    this.#status = status;
    this.#hub.changed();
    for (const listener of this.#listeners) listener(status);
  }
}

async function answer(handler: Handler, data: Uint8Array, subject: string): Promise<Uint8Array> {
  // A turn of the event loop, as over a wire.
  await new Promise((resolve) => setImmediate(resolve));
  try {
    const reply = await handler(data, subject);
    checkSize("the answer", reply);
    return reply.slice();
  } catch (error) {
    // The same form as on the wire, so that nothing more than that crosses.
    throw decodeFailure(encodeFailure(error));
  }
}

function checkSize(subject: string, data: Uint8Array): void {
  if (data.length > MAX_PAYLOAD_BYTES) throw tooLarge(subject);
}

function pattern(subject: string): RegExp {
  const parts = subject.split(".").map((part) => {
    if (part === "*") return "[^.]+";
    return part === ">" ? ".+" : part.replaceAll(/[$^\\|(){}[\]?+]/g, String.raw`\$&`);
  });
  return new RegExp(`^${parts.join(String.raw`\.`)}$`);
}

function memoryAdmin(hub: Hub): BusAdmin {
  const stream = (name: string): MemoryStream => {
    const found = hub.streams.get(name);
    if (found === undefined) throw new MeshError("not_found", `NATS: stream not found (${name})`);
    return found;
  };
  const make = (name: string, subject: string, isWorkQueue: boolean): void => {
    if (hub.streams.has(name)) return;
    const settings = {
      subjects: pattern(subject),
      isWorkQueue,
      maxPerSubject: isWorkQueue ? 256 : 50_000,
      duplicateMs: isWorkQueue ? 120_000 : 600_000,
    };
    hub.streams.set(name, new MemoryStream(settings, hub.clock, () => hub.changed()));
  };
  return {
    ensureStreams: async () => {
      make(STREAM.work, subjects.anyWork, true);
      make(STREAM.events, subjects.anyEvents, false);
      await Promise.resolve();
    },
    ensureWorkConsumer: async (node, slots) => {
      const filter = subjects.work(node);
      const settings = { filter, ackWaitMs: 30_000, maxDeliver: 5, maxAckPending: slots + 2 };
      stream(STREAM.work).ensureConsumer(workDurable(node), settings);
      await Promise.resolve();
    },
    removeWorkConsumer: async (node) => {
      hub.streams.get(STREAM.work)?.consumers.delete(workDurable(node));
      hub.changed();
      await Promise.resolve();
    },
    purgeWork: async (node) => {
      hub.streams.get(STREAM.work)?.purge(subjects.work(node));
      await Promise.resolve();
    },
    ensureIngestConsumer: async () => {
      const settings = { filter: undefined, ackWaitMs: 60_000, maxDeliver: -1, maxAckPending: 4_096 };
      stream(STREAM.events).ensureConsumer(INGEST_DURABLE, settings);
      await Promise.resolve();
    },
    listWorkConsumers: async () => {
      await Promise.resolve();
      return [...stream(STREAM.work).consumers.keys()].map((name) => name.slice("n_".length));
    },
  };
}
