/**
 * One stream of numbered server-sent events, kept up until it ends or is stopped.
 *
 * F1  It goes on after the last event that was handed out: nothing is lost and nothing comes twice.
 * F2  A server that does not answer within 10 s, or says nothing for 40 s, is given up and tried again.
 * F3  Between tries it waits 1 s, doubling to 30 s, with jitter; `wake` tries at once.
 */

import { type ApiError, readProblem } from "../api/error.ts";
import type { Clock } from "../app/clock.ts";
import { backoffMs, type Fetch } from "./backoff.ts";
import { SseParser, type SseEvent } from "./sse.ts";

/** What a stream needs of the world, and whom it tells. */
export interface EventStreamDeps<Event> {
  readonly clock: Clock;
  readonly fetch: Fetch;
  readonly onEvent: (event: Event) => void;
  readonly onOnline: (isOnline: boolean) => void;
  /** Any sign of life of the server. */
  readonly onAlive: () => void;
  /** The session is over; the stream has stopped. */
  readonly onUnauthenticated: () => void;
  /** Nothing more will come; the stream has stopped. Without it a stream that closes is opened again. */
  readonly onEnd?: () => void;
  /** The server refuses the stream for good, such as one that is not there; the stream has stopped. Without it that is tried again. */
  readonly onRefused?: (problem: ApiError) => void;
}

/** An event with its place in the stream. */
export interface Numbered<Event> {
  readonly value: Event;
  /** Undefined for what has no number of its own: it moves no cursor. */
  readonly seq: number | undefined;
  /** The stream begins anew at `seq`. */
  readonly isReset?: boolean;
}

/** A kind of stream. */
export interface EventStreamKind<Event> {
  /** Address of what comes after the cursor. */
  readonly pathOf: (cursor: number) => string;
  /** Reads one event; undefined for what is none. */
  readonly read: (event: SseEvent) => Numbered<Event> | undefined;
}

const HANDSHAKE_MS = 10_000;
const SILENCE_MS = 40_000;

/** Follows one stream; see the file comment. */
export class EventStream<Event> {
  readonly #deps: EventStreamDeps<Event>;
  readonly #kind: EventStreamKind<Event>;
  #cursor: number;
  #attempt = 0;
  #stopped = false;
  #connection: AbortController | undefined;
  #lastByteMs = 0;
  #cancelWait: (() => void) | undefined;
  #wakeUp: (() => void) | undefined;

  constructor(deps: EventStreamDeps<Event>, kind: EventStreamKind<Event>, cursor: number) {
    this.#deps = deps;
    this.#kind = kind;
    this.#cursor = cursor;
  }

  /** Runs until it ends or `stop`. */
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
      const headers = { accept: "text/event-stream", "last-event-id": String(this.#cursor) };
      const init: RequestInit = { headers, credentials: "same-origin", cache: "no-store", signal: connection.signal };
      const response = await this.#deps.fetch(this.#kind.pathOf(this.#cursor), init);
      if (await this.#isOver(response)) return;
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

  /** Whether the answer ends the stream for good. */
  async #isOver(response: Response): Promise<boolean> {
    const { onEnd, onRefused, onUnauthenticated } = this.#deps;
    if (response.status === 401) this.#finish(onUnauthenticated);
    else if (response.status === 204 && onEnd !== undefined) this.#finish(onEnd);
    else if (onRefused !== undefined && isFinal(response.status)) {
      const problem = await readProblem(response);
      this.#finish(() => onRefused(problem));
    }
    return this.#stopped;
  }

  #finish(tell: () => void): void {
    if (this.#stopped) return;
    this.#stopped = true;
    tell();
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
      if (this.#isStopped()) return;
    }
  }

  #take(sse: SseEvent): void {
    if (sse.event === "end" && this.#deps.onEnd !== undefined) {
      this.#finish(this.#deps.onEnd);
      return;
    }
    const event = this.#kind.read(sse);
    if (event === undefined) return;
    const { seq, value, isReset = false } = event;
    // An event that was handed out already: the server resumed a little too early.
    if (seq !== undefined && !isReset && seq <= this.#cursor) return;
    if (seq !== undefined) this.#cursor = seq;
    this.#attempt = 0;
    this.#deps.onEvent(value);
  }
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
