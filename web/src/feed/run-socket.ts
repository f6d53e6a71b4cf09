/**
 * Events of runs over `/v1/ws`: one socket per tab, open only while a run is followed.
 *
 * R1  A subscription goes on after the last event that it handed out, over any break.
 * R2  A socket that is not ready within 10 s is given up; from then on runs are followed by server-sent events.
 * R3  `onEnd` is called when the run has ended and all its events were handed out.
 */

import type { RunEvent } from "@mesh/proto";

import { isRecord } from "../api/error.ts";
import type { Clock } from "../app/clock.ts";
import { backoffMs, type Fetch } from "./backoff.ts";
import { SseParser } from "./sse.ts";

/** Who follows a run. */
export interface RunListener {
  readonly onEvent: (event: RunEvent) => void;
  readonly onEnd: () => void;
  /** The run cannot be followed: it is gone, or not the caller's. */
  readonly onError: (message: string) => void;
}

/** What it needs of the browser. */
export interface RunSocketDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  /** Opens a socket at the path. */
  readonly connect: (path: string) => WebSocket;
}

interface Subscription {
  readonly id: string;
  readonly run: string;
  readonly listener: RunListener;
  readonly stop: AbortController;
  cursor: number;
}

const HANDSHAKE_MS = 10_000;
const FINAL = new Set(["not_found", "permission_denied", "invalid_argument", "unauthenticated"]);

/** All runs that this tab follows. */
export class RunSocket {
  readonly #deps: RunSocketDeps;
  readonly #subscriptions = new Map<string, Subscription>();
  #socket: WebSocket | undefined;
  #isReady = false;
  #attempt = 0;
  #count = 0;
  #cancelRetry: (() => void) | undefined;
  #usesSse = false;

  constructor(deps: RunSocketDeps) {
    this.#deps = deps;
  }

  /** Follows a run after a cursor; returns what ends it. */
  follow(run: string, cursor: number, listener: RunListener): () => void {
    this.#count += 1;
    const subscription: Subscription = { id: `s${this.#count}`, run, cursor, listener, stop: new AbortController() };
    this.#subscriptions.set(subscription.id, subscription);
    if (this.#usesSse) void this.#sse(subscription);
    else if (this.#isReady) this.#subscribe(subscription);
    else this.#open();
    return () => this.#leave(subscription);
  }

  /** Tries at once: the page is looked at again, or the network is back. */
  wake(): void {
    if (this.#subscriptions.size > 0 && this.#socket === undefined && !this.#usesSse) this.#open();
  }

  #leave(subscription: Subscription): void {
    if (!this.#subscriptions.delete(subscription.id)) return;
    subscription.stop.abort();
    if (this.#isReady) this.#send({ type: "unsubscribe", id: subscription.id });
    if (this.#subscriptions.size > 0) return;
    this.#cancelRetry?.();
    this.#socket?.close(1000);
  }

  #send(frame: Readonly<Record<string, unknown>>): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  #subscribe({ id, run, cursor }: Subscription): void {
    this.#send({ type: "subscribe", id, run, after_seq: cursor });
  }

  #open(): void {
    if (this.#socket !== undefined) return;
    this.#cancelRetry?.();
    const socket = this.#deps.connect("/v1/ws");
    this.#socket = socket;
    const cancelWatch = this.#deps.clock.after(HANDSHAKE_MS, () => this.#fallBack(socket));
    socket.addEventListener("message", ({ data }) => {
      const frame = frameOf(data);
      if (frame === undefined) return;
      if (frame["type"] === "ready") {
        cancelWatch();
        this.#isReady = true;
        for (const subscription of this.#subscriptions.values()) this.#subscribe(subscription);
      } else this.#take(frame);
    });
    // The close that follows is what counts.
    socket.addEventListener("error", () => undefined);
    socket.addEventListener("close", ({ code }) => {
      cancelWatch();
      if (this.#socket !== socket) return;
      const wasReady = this.#isReady;
      this.#socket = undefined;
      this.#isReady = false;
      if (this.#subscriptions.size === 0) return;
      // Never let in at all: a proxy in between, or a server that wants a token.
      if (!wasReady && (code === 4401 || code === 4408 || this.#attempt >= 1)) this.#fallBack(socket);
      else this.#retry();
    });
  }

  #retry(): void {
    const ms = backoffMs(this.#attempt, this.#deps.clock.random());
    this.#attempt += 1;
    this.#cancelRetry = this.#deps.clock.after(ms, () => this.#open());
  }

  #fallBack(socket: WebSocket): void {
    if (this.#isReady || this.#usesSse) return;
    this.#usesSse = true;
    this.#socket = undefined;
    socket.close();
    for (const subscription of this.#subscriptions.values()) void this.#sse(subscription);
  }

  #take(frame: Readonly<Record<string, unknown>>): void {
    const subscription = this.#subscriptions.get(String(frame["id"]));
    if (subscription === undefined) return;
    if (frame["type"] === "event" && isRunEvent(frame["event"])) {
      this.#attempt = 0;
      this.#hand(subscription, frame["event"]);
    } else if (frame["type"] === "end") this.#end(subscription);
    else if (frame["type"] === "error") this.#refused(subscription, frame);
  }

  #refused(subscription: Subscription, frame: Readonly<Record<string, unknown>>): void {
    if (FINAL.has(String(frame["code"]))) {
      this.#subscriptions.delete(subscription.id);
      subscription.listener.onError(String(frame["message"]));
      return;
    }
    // Something for now, such as too many streams: the same question a moment later.
    const ms = backoffMs(this.#attempt, this.#deps.clock.random());
    this.#attempt += 1;
    this.#deps.clock.after(ms, () => {
      if (this.#isReady && this.#subscriptions.has(subscription.id)) this.#subscribe(subscription);
    });
  }

  #hand(subscription: Subscription, event: RunEvent): void {
    if (event.seq <= subscription.cursor) return;
    subscription.cursor = event.seq;
    subscription.listener.onEvent(event);
  }

  #end(subscription: Subscription): void {
    this.#subscriptions.delete(subscription.id);
    subscription.listener.onEnd();
    if (this.#subscriptions.size === 0) this.#socket?.close(1000);
  }

  async #sse(subscription: Subscription): Promise<void> {
    const { signal } = subscription.stop;
    let attempt = 0;
    while (this.#subscriptions.has(subscription.id)) {
      const before = subscription.cursor;
      const isEnded = await this.#sseOnce(subscription).catch(() => false);
      if (isEnded) this.#end(subscription);
      attempt = subscription.cursor > before ? 0 : attempt + 1;
      if (isEnded || signal.aborted) return;
      await new Promise<void>((resolve) => {
        this.#deps.clock.after(backoffMs(attempt, this.#deps.clock.random()), resolve);
      });
    }
  }

  /** True when the run has ended. */
  async #sseOnce(subscription: Subscription): Promise<boolean> {
    const path = `/v1/runs/${encodeURIComponent(subscription.run)}/events?after_seq=${subscription.cursor}`;
    const headers = { accept: "text/event-stream", "last-event-id": String(subscription.cursor) };
    const init: RequestInit = {
      headers,
      credentials: "same-origin",
      cache: "no-store",
      signal: subscription.stop.signal,
    };
    const response = await this.#deps.fetch(path, init);
    if (response.status === 204) return true;
    if (response.status === 404 || response.status === 403 || response.status === 401) {
      this.#subscriptions.delete(subscription.id);
      subscription.listener.onError(`status ${response.status}`);
      return false;
    }
    if (!response.ok || response.body === null) return false;
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      for (const { event, data } of parser.push(decoder.decode(value, { stream: true }))) {
        const parsed = frameOf(data);
        if (event === "end") return true;
        if (isRunEvent(parsed)) this.#hand(subscription, parsed);
      }
    }
  }
}

function frameOf(data: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof data !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRunEvent(value: unknown): value is RunEvent {
  return isRecord(value) && typeof value["seq"] === "number" && typeof value["kind"] === "string";
}
