/** One attempt to hand a message over. */

import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { BlockList, LookupFunction } from "node:net";

import { type Clock, errorText } from "@mesh/kernel";

import { findTarget, type Resolve, type Target } from "./target-guard.ts";

/** How an attempt went. */
export interface SendResult {
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  /** Why it failed; empty when the other side took the message. */
  readonly error: string;
  /** What the other side asks to wait, at most an hour. */
  readonly retryAfterMs?: number;
}

/** A message and where it goes; JSON, unless its headers say otherwise. */
export interface OutboundMessage {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** What sending needs. */
export interface SendDeps {
  readonly clock: Clock;
  readonly allowed: BlockList;
  readonly resolve?: Resolve;
}

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_ERROR_CHARS = 300;
const MAX_RETRY_AFTER_MS = 3_600_000;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** All addresses of a name. */
export const resolveName: Resolve = async (host) =>
  (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);

/** Sends a message once; never throws. Redirects are not followed. */
export async function sendOnce(
  { clock, allowed, resolve = resolveName }: SendDeps,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  const stop = new AbortController();
  const cancelTimer = clock.after(TIMEOUT_MS, () => stop.abort(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
  const both = AbortSignal.any([stop.signal, signal]);
  try {
    const target = await orAbort(findTarget(new URL(message.url), allowed, resolve), both);
    const { status, retryAfter } = await post(target, message, both);
    const waitMs = Math.min(Number(retryAfter) * 1000, MAX_RETRY_AFTER_MS);
    const error = status >= 200 && status < 300 ? "" : `answered with ${status}`;
    return { status, error, ...(waitMs > 0 ? { retryAfterMs: waitMs } : {}) };
  } catch (thrown) {
    const reason: unknown = both.aborted ? both.reason : thrown;
    return { status: 0, error: errorText(reason).slice(0, MAX_ERROR_CHARS) || "the connection failed" };
  } finally {
    cancelTimer();
  }
}

function orAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    void work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function post(
  { url, address, family }: Target,
  { headers, body }: OutboundMessage,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      method: "POST",
      agent: false as const,
      signal,
      headers: { "content-type": "application/json", ...headers, "content-length": Buffer.byteLength(body) },
      // The address that was looked at, whatever the name leads to by now.
      lookup: pinned(address, family),
    };
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    const request: ClientRequest = send(url, options, (response) => read(response, request, resolve));
    request.on("error", reject);
    request.end(body);
  });
}

/** Leads to the address that was looked at, whatever the name leads to by now. */
function pinned(address: string, family: 4 | 6): LookupFunction {
  return (_host, { all }, done) => {
    if (all === true) done(null, [{ address, family }]);
    else done(null, address, family);
  };
}

/** The status is the answer; what else is said is read to its end, within a bound, and thrown away. */
function read(response: IncomingMessage, request: ClientRequest, done: (answer: Answer) => void): void {
  const finish = (): void => done({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] });
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) request.destroy();
  });
  response.on("close", finish);
}
