/**
 * HTTP for scripts, over undici.
 *
 * H1  Nothing is sent to an address that {@link AllowUrl} refuses: the URL, each redirect and each address a name
 *     resolves to are asked about, the last at the moment of connecting.
 * H2  Time, size and redirects are bounded.
 * H3  A server that cannot be reached is an answer with status 0, as scripts expect; a request that is refused, too large
 *     or cancelled throws.
 * H4  A redirect to another origin loses the headers that carry credentials.
 */

import { lookup as systemLookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

import { type Clock, errorText, MeshError } from "@mesh/kernel";
import { Agent, fetch, type Response } from "undici";

import { Deadline } from "./deadline.ts";
import { type AllowUrl, allowUrl } from "./http-address.ts";
import type { HttpClientDeps, HttpLimits } from "./http-client.ts";
import { linesOf } from "./http-line.ts";
import {
  type HttpRequest,
  type HttpResponse,
  noAnswer,
  toData,
  toHeaders,
  toWire,
  type WireRequest,
} from "./http-message.ts";

const DEFAULT_LIMITS: HttpLimits = {
  timeoutMs: 30_000,
  streamIdleMs: 120_000,
  maxBytes: 8 * 1024 * 1024,
  maxLineLength: 1024 * 1024,
  maxRedirects: 5,
};
const MAX_ORIGINS = 64;
const CREDENTIALS = ["authorization", "cookie", "proxy-authorization", "x-api-key"];

/** What an {@link HttpClient} sends with; loaded with the first request. */
export class HttpExchange implements AsyncDisposable {
  readonly #clock: Pick<Clock, "after">;
  readonly #allow: AllowUrl;
  readonly #lookup: LookupFunction;
  readonly #limits: HttpLimits;
  readonly #agents = new Map<string, Agent>();

  constructor(deps: HttpClientDeps, limits: Partial<HttpLimits> = {}) {
    this.#clock = deps.clock;
    this.#allow = deps.allowUrl ?? allowUrl;
    this.#lookup = deps.lookup ?? systemLookup;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** Sends a request and reads the whole answer. */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const wire = toWire(request);
    using deadline = new Deadline(this.#clock, signal, this.#limits.timeoutMs);
    // Awaited here: the deadline is disposed of when this function is left.
    return await this.#answer(deadline, async () => {
      const response = await this.#follow(wire, deadline.signal);
      const bytes = await this.#body(response, wire.url);
      const data = toData(bytes, response.headers.get("content-type") ?? "");
      return { ...head(response), data };
    });
  }

  /** Sends a request and hands over the answer line by line, until `onLine` returns false. */
  async stream(
    request: HttpRequest,
    onLine: (line: string) => boolean | Promise<boolean>,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    const wire = toWire(request);
    using deadline = new Deadline(this.#clock, signal, this.#limits.streamIdleMs);
    let failure: { readonly error: unknown } | undefined;
    const answer = await this.#answer(deadline, async () => {
      const response = await this.#follow(wire, deadline.signal);
      for await (const line of linesOf(deadline.watching(response.body ?? []), this.#limits.maxLineLength)) {
        deadline.pause();
        // What the script's function throws is the script's own error, not a failure of the connection.
        const isWanted = await Promise.resolve(line)
          .then(onLine)
          .catch((error: unknown) => {
            failure = { error };
            return false;
          });
        if (!isWanted) break;
        deadline.restart();
      }
      return { ...head(response), data: null };
    });
    if (failure !== undefined) throw MeshError.from(failure.error);
    return answer;
  }

  /** Closes all connections; requests under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    await Promise.all(agents.map((agent) => agent.destroy()));
  }

  /** Turns "no answer" into an answer, and leaves refusals and cancellation as errors. */
  async #answer(deadline: Deadline, exchange: () => Promise<HttpResponse>): Promise<HttpResponse> {
    try {
      return await exchange();
    } catch (error) {
      const refusal = findMeshError(error);
      if (refusal !== undefined) throw refusal;
      if (deadline.isOver()) return noAnswer(`no answer within ${deadline.ms / 1000} s`);
      if (deadline.signal.aborted) throw new MeshError("cancelled", "the request was given up: the run is over");
      return noAnswer(`the server could not be reached: ${reasonOf(error)}`);
    }
  }

  async #follow(wire: WireRequest, signal: AbortSignal): Promise<Response> {
    let { method, url, headers, body } = wire;
    for (let hop = 0; ; hop += 1) {
      if (!this.#allow(url)) throw refused(url);
      const dispatcher = this.#agentFor(url);
      const response = await fetch(url, {
        method,
        headers,
        redirect: "manual",
        signal,
        dispatcher,
        ...(body === undefined ? {} : { body }),
      });
      const location = response.headers.get("location");
      if (![301, 302, 303, 307, 308].includes(response.status) || location === null) return response;
      await response.body?.cancel();
      if (hop === this.#limits.maxRedirects)
        throw new MeshError("failed_precondition", `more than ${hop} redirects, the last to ${url.host}`);
      if (!URL.canParse(location, url.href))
        throw new MeshError("failed_precondition", `${url.host} redirects to an invalid address`);
      const next = new URL(location, url);
      if (next.origin !== url.origin) for (const name of CREDENTIALS) headers.delete(name);
      if (response.status === 303 || (response.status < 303 && method === "POST")) {
        method = method === "HEAD" ? "HEAD" : "GET";
        body = undefined;
        headers.delete("content-type");
      }
      url = next;
    }
  }

  /** Connections are pooled per origin, since what a name may resolve to is asked for the URL it stands in. */
  #agentFor(url: URL): Agent {
    const known = this.#agents.get(url.origin);
    if (known !== undefined) return known;
    if (this.#agents.size >= MAX_ORIGINS) {
      const [oldest] = this.#agents;
      if (oldest !== undefined) {
        this.#agents.delete(oldest[0]);
        void oldest[1].close();
      }
    }
    const agent = new Agent({ connect: { lookup: this.#guardedLookup(new URL(url.origin)) }, keepAliveTimeout: 4_000 });
    this.#agents.set(url.origin, agent);
    return agent;
  }

  #guardedLookup(origin: URL): LookupFunction {
    return (hostname, options, callback) => {
      this.#lookup(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null) return callback(error, []);
        const addresses = found as unknown as LookupAddress[];
        if (!addresses.every(({ address }) => this.#allow(origin, address))) return callback(refused(origin), []);
        const [first] = addresses;
        if (options.all === true) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      });
    };
  }

  async #body(response: Response, url: URL): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of response.body ?? []) {
      size += part.byteLength;
      if (size > this.#limits.maxBytes) throw tooLarge(`the answer of ${url.host}`, this.#limits.maxBytes);
      parts.push(part);
    }
    return Buffer.concat(parts);
  }
}

function head(response: Response): Omit<HttpResponse, "data"> {
  const { status, statusText } = response;
  return { status, code: status, headers: toHeaders(response.headers), message: statusText };
}

function refused(url: URL): MeshError {
  return new MeshError("permission_denied", `scripts may not reach ${url.protocol}//${url.host}`);
}

function tooLarge(what: string, maxBytes: number): MeshError {
  return new MeshError(
    "resource_exhausted",
    `${what} is larger than ${Math.floor(maxBytes / 1024)} KB; ask for less at once`,
  );
}

/** The library wraps what the lookup throws, at times in lists. */
function findMeshError(error: unknown, depth: number = 0): MeshError | undefined {
  if (error instanceof MeshError) return error;
  if (!(error instanceof Error) || depth > 3) return undefined;
  const inner = [error.cause, ...(error instanceof AggregateError ? error.errors : [])];
  return inner.map((it) => findMeshError(it, depth + 1)).find((it) => it !== undefined);
}

/** The innermost reason; an error that stands for several (one per address tried) has none of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : errorText(error);
}
