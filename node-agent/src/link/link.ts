/**
 * The node's connection to the mesh, and what happens over it: hello, commands, work, events.
 *
 * N1  After each (re)connection the coordinator is told which runs are held here before events are sent again.
 * N2  A refused connection asks for new credentials and is built anew; nothing but removal ends the link.
 */

import {
  type Bus,
  type BusOptions,
  type BusStatus,
  inboxPrefix,
  STREAM,
  type StreamMessage,
  subjects,
  workDurable,
  wasNotSent,
} from "@mesh/bus";
import { Backoff, type Clock, errorText, MeshError, retryable, type Service } from "@mesh/kernel";
import { Hello, HelloAnswer } from "@mesh/proto/wire";

import type { NodeRecord } from "../join/node-file.ts";
import type { AgentLog } from "../log.ts";

/** Opens a bus connection; a port so that tests can use the memory bus. */
export type Connect = (options: BusOptions) => Promise<Bus>;

/** What a link needs. */
export interface LinkDeps {
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly record: () => NodeRecord;
  readonly seed: Uint8Array;
  readonly connect: Connect;
  readonly hello: () => Hello;
  readonly greeted: (answer: HelloAnswer) => void;
  readonly command: (data: Uint8Array) => Promise<Uint8Array>;
  readonly work: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly maxBatch: () => number;
  /** Events may flow over this bus; undefined: not now. */
  readonly flow: (bus: Bus | undefined) => void;
  readonly refused: (jwt: string) => void;
}

const HELLO_MS = 5_000;
const RPC_MS = 15_000;

/** Addresses in order of preference: plain NATS where it was offered, else the tunnel on the coordinator's one URL. */
export function serversOf(record: Pick<NodeRecord, "url" | "nats_urls" | "nats_path">): string[] {
  return [...record.nats_urls, `${record.url.replace(/^http/, "ws")}${record.nats_path}`];
}

/** The link of a running agent. */
export class Link implements Service {
  readonly name = "link";
  readonly #deps: LinkDeps;
  #bus: Bus | undefined;

  constructor(deps: LinkDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps.clock, { firstMs: 500, maxMs: 15_000 });
    while (!signal.aborted) {
      const { jwt } = this.#deps.record();
      try {
        const bus = await this.#connect();
        backoff.succeeded();
        this.#bus = bus;
        await this.#live(bus, signal);
        if (bus.status.kind === "closed" && !signal.aborted) this.#deps.refused(jwt);
        this.#bus = undefined;
        this.#deps.flow(undefined);
        await bus.close();
      } catch (error) {
        if (MeshError.from(error).code === "unauthenticated") this.#deps.refused(jwt);
        this.#deps.log[backoff.failures > 2 ? "warn" : "info"]({ reason: errorText(error) }, "not connected");
      }
      if (!signal.aborted) await backoff.wait(signal);
    }
  }

  /** Asks the coordinator, again and again while that may help, until it answers or `signal` aborts. */
  async ask(method: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const backoff = new Backoff(this.#deps.clock, { firstMs: 250, maxMs: 5_000 });
    for (;;) {
      signal.throwIfAborted();
      try {
        if (this.#bus === undefined) throw new MeshError("unavailable", "the coordinator cannot be reached");
        const subject = subjects.rpc(this.#deps.record().digest, method);
        return await this.#bus.request(subject, data, { timeoutMs: RPC_MS, signal });
      } catch (error) {
        if (signal.aborted || !retryable(MeshError.from(error).code)) throw error;
        await backoff.wait(signal);
      }
    }
  }

  /** Asks for something that must not happen twice: again only while nobody has heard it. */
  async askOnce(method: string, data: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    const backoff = new Backoff(this.#deps.clock, { firstMs: 250, maxMs: 5_000 });
    for (;;) {
      signal.throwIfAborted();
      try {
        const subject = subjects.rpc(this.#deps.record().digest, method);
        if (this.#bus !== undefined) return await this.#bus.request(subject, data, { timeoutMs: RPC_MS, signal });
      } catch (thrown) {
        const error = MeshError.from(thrown);
        if (signal.aborted || !wasNotSent(error)) throw error;
      }
      await backoff.wait(signal);
    }
  }

  async #connect(): Promise<Bus> {
    const { clock, log, seed } = this.#deps;
    const record = this.#deps.record();
    return await this.#deps.connect({
      servers: serversOf(record),
      credentials: { jwt: () => this.#deps.record().jwt, seed },
      name: record.digest,
      inboxPrefix: inboxPrefix(record.digest),
      clock,
      log: (event, fields) => log.debug({ event, ...fields }, "bus"),
      ...(record.pin !== undefined && { tls: { spkiPin: record.pin } }),
    });
  }

  // Serves over one bus until it is closed for good or `signal` aborts.
  async #live(bus: Bus, signal: AbortSignal): Promise<void> {
    const { digest } = this.#deps.record();
    const over = new AbortController();
    const stop = (): void => over.abort();
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    let greeting = new AbortController();
    const follow = (status: BusStatus): void => {
      greeting.abort();
      if (status.kind === "closed") stop();
      if (status.kind !== "connected") {
        this.#deps.flow(undefined);
        return;
      }
      greeting = new AbortController();
      void this.#greet(bus, AbortSignal.any([greeting.signal, over.signal]));
    };
    const commands = bus.serve(subjects.command(digest), (data) => this.#deps.command(data));
    const watch = bus.onStatus(follow);
    follow(bus.status);
    const ref = { stream: STREAM.work, durable: workDurable(digest) };
    const work = bus.consumer(ref, this.#deps.work, {
      maxBatch: this.#deps.maxBatch(),
      // The coordinator makes consumers when a node says hello.
      onMissing: () => this.#greet(bus, over.signal),
    });
    await work.run(over.signal).catch((error: unknown) => {
      this.#deps.log.debug({ reason: errorText(error) }, "work consumer ended");
    });
    signal.removeEventListener("abort", stop);
    stop();
    watch.stop();
    commands.stop();
  }

  async #greet(bus: Bus, signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps.clock, { firstMs: 250, maxMs: 5_000 });
    while (!signal.aborted) {
      try {
        const subject = subjects.rpc(this.#deps.record().digest, "hello");
        const data = Hello.encode(this.#deps.hello()).finish();
        const answer = HelloAnswer.decode(await bus.request(subject, data, { timeoutMs: HELLO_MS, signal }));
        if (signal.aborted) return;
        this.#deps.greeted(answer);
        this.#deps.flow(bus);
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.log[backoff.failures > 2 ? "warn" : "debug"]({ reason: errorText(error) }, "hello not answered yet");
        await backoff.wait(signal);
      }
    }
  }
}
