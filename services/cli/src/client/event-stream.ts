/**
 * Numbered events, such as those of one run, in order, across lost connections and restarted coordinators.
 *
 * S1  Each seq is yielded at most once and in increasing order, whatever the server repeats; kinds that only tell a state have no seq
 *     of their own and are always yielded.
 * S2  A lost or silent connection is opened again from the last seq seen, for ever, with growing delays.
 * S3  Only the server's `end` (or its 204) ends the stream; a refusal (4xx) throws.
 */

import { Backoff, type Clock, isObject, MeshError, retryable } from "@mesh/kernel";
import type { RunEvent } from "@mesh/proto";
import { createParser, type EventSourceMessage } from "eventsource-parser";

import { apiPath, type Client } from "./client.ts";
import { errorOfNetwork } from "./problem.ts";

/** How to follow. */
export interface FollowOptions {
  readonly afterSeq?: number;
  readonly signal: AbortSignal;
  /** Whether a coordinator that cannot be reached at first is waited for. */
  readonly isPatient?: boolean;
  /** Told when the connection is lost, and when it is back (undefined). */
  readonly onConnection?: (lost: MeshError | undefined) => void;
}

// The server sends a comment every 15 s; three missed ones mean the connection is dead.
const SILENCE_MS = 45_000;
const MAX_EVENT_CHARS = 4 * 1024 * 1024;

/** As much of an event as following needs. */
export interface StreamEvent {
  readonly seq: number;
  readonly kind: string;
}

/** Which stream. */
export interface StreamSource {
  readonly client: Client;
  readonly clock: Clock;
  readonly path: string;
  /** Kind of events that tell a state and have no seq of their own. */
  readonly stateKind?: string;
}

type Frame = { readonly kind: "event"; readonly event: StreamEvent } | { readonly kind: "end" };

/** Follows a run until it has ended or `signal` aborts (then it returns). */
export async function* followRun(
  client: Client,
  clock: Clock,
  run: string,
  options: FollowOptions,
): AsyncGenerator<RunEvent, void, void> {
  // What a coordinator sends on this path are events of a run.
  for await (const event of followEvents({ client, clock, path: apiPath`/v1/runs/${run}/events` }, options)) {
    yield event as RunEvent;
  }
}

/** Follows a stream until it ends or `signal` aborts (then it returns). */
export async function* followEvents(
  source: StreamSource,
  options: FollowOptions,
): AsyncGenerator<StreamEvent, void, void> {
  const { clock } = source;
  const backoff = new Backoff(clock, { firstMs: 250, maxMs: 5000 });
  let cursor = options.afterSeq ?? 0;
  let isPatient = options.isPatient ?? false;
  const connection = new Connection(options.onConnection);
  while (!options.signal.aborted) {
    try {
      for await (const frame of readOnce({ ...source, afterSeq: cursor, signal: options.signal })) {
        if (frame.kind === "end") return;
        isPatient = true;
        connection.isBack();
        backoff.succeeded();
        const { event } = frame;
        if (event.kind !== source.stateKind && event.seq <= cursor) continue;
        cursor = Math.max(cursor, event.seq);
        yield event;
      }
    } catch (error) {
      if (options.signal.aborted) return;
      const failure = MeshError.from(error);
      if (!isPatient || !isTransient(failure)) throw failure;
      connection.isLost(failure);
    }
    await backoff.wait(options.signal);
  }
}

/** Tells once that a connection is lost, and once that it is back. */
class Connection {
  readonly #tell: FollowOptions["onConnection"];
  #wasLost = false;

  constructor(tell: FollowOptions["onConnection"]) {
    this.#tell = tell;
  }

  isLost(failure: MeshError): void {
    if (!this.#wasLost) this.#tell?.(failure);
    this.#wasLost = true;
  }

  isBack(): void {
    if (this.#wasLost) this.#tell?.(undefined);
    this.#wasLost = false;
  }
}

interface Attempt extends StreamSource {
  readonly afterSeq: number;
  readonly signal: AbortSignal;
}

async function* readOnce(attempt: Attempt): AsyncGenerator<Frame, void, void> {
  const silence = new AbortController();
  const lost = (): void =>
    silence.abort(new MeshError("unavailable", `${attempt.client.url} went silent — connecting again`));
  let cancel = attempt.clock.after(SILENCE_MS, lost);
  try {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (attempt.afterSeq > 0) headers["last-event-id"] = String(attempt.afterSeq);
    const response = await attempt.client.open("GET", attempt.path, {
      headers,
      signal: AbortSignal.any([attempt.signal, silence.signal]),
    });
    if (response.status === 204) {
      yield { kind: "end" };
      return;
    }
    const frames: Frame[] = [];
    const parser = createParser({ onEvent: (message) => collect(message, frames), maxBufferSize: MAX_EVENT_CHARS });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      cancel();
      cancel = attempt.clock.after(SILENCE_MS, lost);
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* frames.splice(0);
    }
  } catch (error) {
    throw errorOfNetwork(silence.signal.aborted ? silence.signal.reason : error, attempt.client.url);
  } finally {
    cancel();
  }
}

function collect(message: EventSourceMessage, frames: Frame[]): void {
  if (message.event === "end") {
    frames.push({ kind: "end" });
    return;
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(message.data);
  } catch {
    return;
  }
  if (isObject(parsed) && typeof parsed["seq"] === "number" && typeof parsed["kind"] === "string") {
    frames.push({ kind: "event", event: parsed as unknown as StreamEvent });
  }
}

function isTransient(error: MeshError): boolean {
  // resource_exhausted: the rate limit, which passes.
  return retryable(error.code) || error.code === "resource_exhausted";
}
