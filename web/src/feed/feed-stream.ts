/**
 * One connection to the feed of a workspace, kept up until it is stopped.
 *
 * F1  It goes on after the last event that was handed out: nothing is lost and nothing comes twice.
 * F2  A server that does not answer within 10 s, or says nothing for 40 s, is given up and tried again.
 * F3  Between tries it waits 1 s, doubling to 30 s, with jitter; `wake` tries at once.
 */

import type { FeedEvent } from "@mesh/proto";

import { isRecord } from "../api/error.ts";
import type { Clock } from "../app/clock.ts";
import { backoffMs, type Fetch } from "./backoff.ts";
import { SseParser, type SseEvent } from "./sse.ts";

/** What the feed needs of the world, and whom it tells. */
export interface FeedStreamDeps {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly onEvent: (event: FeedEvent) => void;
  readonly onOnline: (isOnline: boolean) => void;
  /** Any sign of life of the server. */
  readonly onAlive: () => void;
  /** The session is over; the stream has stopped. */
  readonly onUnauthenticated: () => void;
}

const HANDSHAKE_MS = 10_000;
const SILENCE_MS = 40_000;

/** Follows one workspace; see the file comment. */
export class FeedStream {
  readonly #deps: FeedStreamDeps;
  readonly #workspace: string;
  #cursor: number;
  #attempt = 0;
  #stopped = false;
  #connection: AbortController | undefined;
  #lastByteMs = 0;
  #cancelWait: (() => void) | undefined;
  #wakeUp: (() => void) | undefined;

  constructor(deps: FeedStreamDeps, workspace: string, cursor: number) {
    this.#deps = deps;
    this.#workspace = workspace;
    this.#cursor = cursor;
  }

  /** Runs until `stop`. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      await this.#connect();
      this.#deps.onOnline(false);
      if (this.#isStopped()) return;
      await this.#pause(backoffMs(this.#attempt, this.#deps.clock.random()));
      this.#attempt += 1;
    }
  }

  /** Ends it for good. */
  stop(): void {
    this.#stopped = true;
    this.#connection?.abort();
    this.#wakeUp?.();
  }

  /** Tries at once; a connection that said nothing for `staleMs` is not believed. */
  wake(staleMs = 20_000): void {
    if (this.#wakeUp !== undefined) this.#wakeUp();
    else if (this.#deps.clock.now() - this.#lastByteMs > staleMs) {
      this.#attempt = 0;
      this.#connection?.abort();
    }
  }

  // A field that another call changes, which the compiler does not see.
  #isStopped(): boolean {
    return this.#stopped;
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeUp = () => {
        this.#cancelWait?.();
        this.#wakeUp = undefined;
        resolve();
      };
      this.#cancelWait = this.#deps.clock.after(ms, () => this.#wakeUp?.());
    });
  }

  async #connect(): Promise<void> {
    const connection = new AbortController();
    this.#connection = connection;
    let cancelWatch = this.#deps.clock.after(HANDSHAKE_MS, () => connection.abort());
    const alive = (): void => {
      cancelWatch();
      this.#lastByteMs = this.#deps.clock.now();
      cancelWatch = this.#deps.clock.after(SILENCE_MS, () => connection.abort());
      this.#deps.onAlive();
    };
    try {
      const path = `/v1/workspaces/${encodeURIComponent(this.#workspace)}/feed?after_seq=${this.#cursor}`;
      const headers = { accept: "text/event-stream", "last-event-id": String(this.#cursor) };
      const init: RequestInit = { headers, credentials: "same-origin", cache: "no-store", signal: connection.signal };
      const response = await this.#deps.fetch(path, init);
      if (response.status === 401) {
        this.#stopped = true;
        this.#deps.onUnauthenticated();
        return;
      }
      if (!response.ok || response.body === null) return;
      alive();
      this.#deps.onOnline(true);
      await this.#read(response.body, alive);
    } catch {
      // Whatever broke it, the next try goes on after the cursor.
    } finally {
      cancelWatch();
      connection.abort();
    }
  }

  async #read(body: ReadableStream<Uint8Array>, alive: () => void): Promise<void> {
    const parser = new SseParser();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) this.#take(event);
    }
  }

  #take(sse: SseEvent): void {
    const event = readFeedEvent(sse);
    if (event === undefined) return;
    const isReset = event.kind === "reset";
    // An event that was handed out already: the server resumed a little too early.
    if (!isReset && event.seq <= this.#cursor) return;
    this.#cursor = isReset ? event.seq : Math.max(this.#cursor, event.seq);
    this.#attempt = 0;
    this.#deps.onEvent(event);
  }
}

/** The feed event in an SSE event; undefined when it is something else. */
export function readFeedEvent({ event, data }: SseEvent): FeedEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    return undefined;
  }
  if (isRecord(value) && isRecord(value["event"])) value = value["event"];
  if (!isRecord(value) || typeof value["seq"] !== "number") return undefined;
  const kind = typeof value["kind"] === "string" ? value["kind"] : event;
  return {
    seq: value["seq"],
    kind,
    at: typeof value["at"] === "string" ? value["at"] : "",
    object: typeof value["object"] === "string" ? value["object"] : "",
    data: isRecord(value["data"]) ? value["data"] : undefined,
  };
}
