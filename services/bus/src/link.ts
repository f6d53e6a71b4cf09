/**
 * One connection that heals itself: dials, watches, and dials again for ever.
 *
 * L1  Every attempt is a fresh client connection; the client's own reconnection is off, so delays, credentials and the
 *     choice between TCP and WebSocket are decided here.
 * L2  It ends by itself only when the same JWT was refused twice running; a JWT that changed in between is tried.
 * L3  Whoever attached is called once for each new connection.
 */

import { Backoff, type Clock, errorText, MeshError } from "@mesh/kernel";
import { jwtAuthenticator, type NatsConnection } from "@nats-io/nats-core";

import type { BusStatus, Subscription } from "./bus.ts";
import { type BusTls, dialServer, isWebSocketUrl } from "./dial.ts";
import { isRefusal } from "./errors.ts";
import { connectOver } from "./transport.ts";
import type { BusCredentials } from "./trust.ts";

/** Receives what is worth a log line. */
export type BusLog = (event: string, fields: Readonly<Record<string, unknown>>) => void;

/** How to reach the bus and as whom. */
export interface BusOptions {
  /** `nats://`, `tls://`, `ws://` or `wss://`; WebSocket is tried when no TCP server is reachable. */
  readonly servers: readonly string[];
  readonly credentials: BusCredentials | undefined;
  /** Shown in the server's connection list. */
  readonly name: string;
  readonly inboxPrefix?: string;
  readonly tls?: BusTls;
  readonly clock: Clock;
  readonly log?: BusLog;
  readonly pingIntervalMs?: number;
  /** How long `connectBus` tries before it gives up. */
  readonly firstConnectMs?: number;
}

type Attempt =
  | { readonly kind: "up"; readonly connection: NatsConnection; readonly url: string }
  | { readonly kind: "refused"; readonly error: string }
  | { readonly kind: "unreachable"; readonly error: string };

const DIAL_MS = 10_000;
// With another way left to try, a silent firewall must not cost the full time-out.
const DIAL_WITH_ALTERNATIVE_MS = 3_000;
const REFUSALS = 2;
const CLOSE_MS = 2_000;

/** The supervised connection; see the guarantees above. */
export class Link {
  readonly #options: BusOptions;
  readonly #log: BusLog;
  readonly #stop = new AbortController();
  readonly #listeners = new Set<(status: BusStatus) => void>();
  readonly #attached = new Set<(connection: NatsConnection) => void>();
  #order: string[];
  #status: BusStatus = { kind: "connecting", attempt: 1, lastError: undefined };
  #connection: NatsConnection | undefined;
  #refused: { readonly jwt: string | undefined; readonly times: number } = { jwt: undefined, times: 0 };
  #ended: Promise<void> = Promise.resolve();

  constructor(options: BusOptions) {
    if (options.servers.length === 0) throw new MeshError("invalid_argument", "no NATS server is configured");
    this.#options = options;
    this.#log = options.log ?? (() => undefined);
    this.#order = options.servers.toSorted((a, b) => Number(isWebSocketUrl(a)) - Number(isWebSocketUrl(b)));
  }

  get status(): BusStatus {
    return this.#status;
  }

  /** The live connection, if there is one now. */
  get connection(): NatsConnection | undefined {
    return this.#connection;
  }

  /** Aborts when the link is closed by its owner. */
  get closing(): AbortSignal {
    return this.#stop.signal;
  }

  start(): void {
    this.#ended = this.#run();
  }

  onStatus(listener: (status: BusStatus) => void): Subscription {
    this.#listeners.add(listener);
    return { stop: () => this.#listeners.delete(listener) };
  }

  /** Calls `attach` with the live connection and with each one to come. */
  attach(attach: (connection: NatsConnection) => void): Subscription {
    this.#attached.add(attach);
    if (this.#connection !== undefined) attach(this.#connection);
    return { stop: () => this.#attached.delete(attach) };
  }

  /** The live connection as soon as there is one; undefined when the link has ended or `signal` aborts. */
  async connected(signal: AbortSignal): Promise<NatsConnection | undefined> {
    return await new Promise((resolve) => {
      const look = (): void => {
        if (this.#connection === undefined && this.#status.kind !== "closed" && !signal.aborted) return;
        subscription.stop();
        signal.removeEventListener("abort", look);
        resolve(signal.aborted ? undefined : this.#connection);
      };
      const subscription = this.onStatus(look);
      signal.addEventListener("abort", look, { once: true });
      look();
    });
  }

  /** Sends what is buffered, for two seconds at most, and ends the link. */
  async close(): Promise<void> {
    this.#stop.abort();
    const connection = this.#connection;
    if (connection !== undefined) {
      const patience = new AbortController();
      const drained = connection.drain().catch(() => undefined);
      await Promise.race([drained, this.#options.clock.sleep(CLOSE_MS, patience.signal)]);
      patience.abort();
      await connection.close();
    }
    await this.#ended;
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#options.clock, { firstMs: 500, maxMs: 30_000 });
    while (!this.#stop.signal.aborted) {
      const attempt = await this.#tryAll();
      if (attempt.kind === "up") {
        backoff.succeeded();
        await this.#hold(attempt.connection, attempt.url);
      } else {
        if (attempt.kind === "refused" && this.#isFinal()) break;
        this.#set({ kind: "connecting", attempt: backoff.failures + 2, lastError: attempt.error });
      }
      await backoff.wait(this.#stop.signal);
    }
    const reason = this.#stop.signal.aborted ? "closed" : "the NATS server refused the credentials";
    this.#set({ kind: "closed", reason });
  }

  // Each server once, the last good one first.
  async #tryAll(): Promise<Attempt> {
    let last: Attempt = { kind: "unreachable", error: "no server was tried" };
    for (const url of this.#order) {
      if (this.#stop.signal.aborted) break;
      last = await this.#try(url);
      if (last.kind === "unreachable") continue;
      this.#order = [url, ...this.#order.filter((other) => other !== url)];
      break;
    }
    return last;
  }

  async #try(url: string): Promise<Attempt> {
    const { clock, credentials, tls } = this.#options;
    const dialTime = this.#order.length > 1 && !isWebSocketUrl(url) ? DIAL_WITH_ALTERNATIVE_MS : DIAL_MS;
    const limit = new AbortController();
    const cancel = clock.after(dialTime, () => limit.abort());
    const signal = AbortSignal.any([limit.signal, this.#stop.signal]);
    let jwt: string | undefined;
    const remember = (): string => (jwt = credentials?.jwt() ?? "");
    try {
      const connection = await connectOver({
        servers: [url],
        name: this.#options.name,
        reconnect: false,
        resolve: false,
        ignoreClusterUpdates: true,
        noAsyncTraces: true,
        timeout: dialTime,
        pingInterval: this.#options.pingIntervalMs ?? 10_000,
        maxPingOut: 2,
        ...(this.#options.inboxPrefix !== undefined && { inboxPrefix: this.#options.inboxPrefix }),
        ...(credentials !== undefined && { authenticator: jwtAuthenticator(remember, credentials.seed) }),
        dial: () => dialServer(url, tls, signal),
      });
      this.#refused = { jwt: undefined, times: 0 };
      return { kind: "up", connection, url };
    } catch (error) {
      this.#log("bus_dial_failed", { url, error: errorText(error) });
      if (!isRefusal(error)) return { kind: "unreachable", error: `${url}: ${errorText(error)}` };
      this.#refused = { jwt, times: this.#refused.jwt === jwt ? this.#refused.times + 1 : 1 };
      return { kind: "refused", error: errorText(error) };
    } finally {
      cancel();
    }
  }

  #isFinal(): boolean {
    return this.#refused.times >= REFUSALS && this.#options.credentials?.jwt() === this.#refused.jwt;
  }

  // Lives with one connection until it is gone.
  async #hold(connection: NatsConnection, url: string): Promise<void> {
    if (this.#stop.signal.aborted) {
      await connection.close();
      return;
    }
    this.#connection = connection;
    const watching = this.#watch(connection);
    for (const attach of this.#attached) attach(connection);
    this.#set({ kind: "connected", serverVersion: connection.info?.version ?? "", url });
    const error = await connection.closed();
    this.#connection = undefined;
    await watching;
    const lastError = error instanceof Error ? error.message : "connection lost";
    if (!this.#stop.signal.aborted) this.#set({ kind: "connecting", attempt: 1, lastError });
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "error") {
        this.#log("bus_error", { error: status.error.message, kind: status.error.name });
      } else if (status.type === "staleConnection" || status.type === "ldm") {
        this.#log("bus_warning", { kind: status.type });
      }
    }
  }

  #set(status: BusStatus): void {
    this.#status = status;
    if (status.kind !== "connecting" || status.attempt === 1) this.#log("bus_status", { ...status });
    for (const listener of this.#listeners) listener(status);
  }
}
