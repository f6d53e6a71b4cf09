/** HTTP for scripts. What it guarantees stands in `http-exchange.ts`, which is loaded with the first request: most runs send none. */

import type { LookupFunction } from "node:net";

import type { Clock } from "@mesh/kernel";

import type { AllowUrl } from "./http-address.ts";
import type { HttpExchange } from "./http-exchange.ts";
import type { HttpRequest, HttpResponse } from "./http-message.ts";

/** What the client needs. */
export interface HttpClientDeps {
  readonly clock: Pick<Clock, "after">;
  readonly allowUrl?: AllowUrl;
  /** Resolves names; the system's way when absent. */
  readonly lookup?: LookupFunction;
}

/** Bounds of one request. */
export interface HttpLimits {
  readonly timeoutMs: number;
  /** For a stream: longest wait for the next part. */
  readonly streamIdleMs: number;
  readonly maxBytes: number;
  readonly maxLineLength: number;
  readonly maxRedirects: number;
}

/** Sends requests of scripts; one for a runner. */
export class HttpClient implements AsyncDisposable {
  readonly #deps: HttpClientDeps;
  readonly #limits: Partial<HttpLimits>;
  #exchange: Promise<HttpExchange> | undefined;

  constructor(deps: HttpClientDeps, limits: Partial<HttpLimits> = {}) {
    this.#deps = deps;
    this.#limits = limits;
  }

  /** Sends a request and reads the whole answer. */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    return (await this.#open()).send(request, signal);
  }

  /** Sends a request and hands over the answer line by line, until `onLine` returns false. */
  async stream(
    request: HttpRequest,
    onLine: (line: string) => boolean | Promise<boolean>,
    signal: AbortSignal,
  ): Promise<HttpResponse> {
    return (await this.#open()).stream(request, onLine, signal);
  }

  /** Closes all connections; requests under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#exchange)?.[Symbol.asyncDispose]();
  }

  #open(): Promise<HttpExchange> {
    this.#exchange ??= import("./http-exchange.ts").then(
      ({ HttpExchange }) => new HttpExchange(this.#deps, this.#limits),
    );
    return this.#exchange;
  }
}
