/**
 * Calls the coordinator's HTTP interface.
 *
 * L1  Every failure is a MeshError whose message tells what to do.
 * L2  Every call is bounded in time and every answer in size.
 * L3  The token goes to the coordinator's origin and nowhere else: redirects are refused.
 */

import { type Clock, isObject, MeshError } from "@mesh/kernel";

import { errorOfAnswer, errorOfNetwork } from "./problem.ts";

/** Which coordinator, and as whom. */
export interface ClientOptions {
  /** Origin of the coordinator, without a trailing slash. */
  readonly url: string;
  readonly token?: string | undefined;
}

/** One call. */
export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  /** Sent as JSON. */
  readonly body?: object;
  /** Sent as application/octet-stream. */
  readonly bytes?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** A path with each inserted value escaped: apiPath`/v1/runs/${id}`. */
export function apiPath(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return parts.map((part, index) => part + encodeURIComponent(values[index] ?? "")).join("");
}

/** A typed view of one coordinator. */
export class Client {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #clock: Clock;

  constructor(clock: Clock, options: ClientOptions) {
    this.#clock = clock;
    this.url = options.url;
    this.#token = options.token;
  }

  get hasToken(): boolean {
    return this.#token !== undefined;
  }

  get<T extends object>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("GET", path, options);
  }

  post<T extends object>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("POST", path, options);
  }

  put<T extends object>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("PUT", path, options);
  }

  patch<T extends object>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("PATCH", path, options);
  }

  delete<T extends object>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("DELETE", path, options);
  }

  /** One call with a JSON object as answer. */
  async call<T extends object>(method: string, path: string, options: CallOptions): Promise<T> {
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const deadline = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () =>
      deadline.abort(
        new MeshError(
          "deadline_exceeded",
          `the coordinator at ${this.url} gave no answer in ${timeoutMs / 1000} s — try again, or run \`yao doctor\``,
        ),
      ),
    );
    try {
      const signal =
        options.signal === undefined ? deadline.signal : AbortSignal.any([options.signal, deadline.signal]);
      const response = await this.open(method, path, { ...options, signal });
      // The shape of the answer is the coordinator's to keep; a parity test there compares it with proto.
      return parseAnswer(await this.#readText(response), this.url) as T;
    } finally {
      cancel();
    }
  }

  /** Sends a request and returns the answer with its body unread; throws on any status but success. */
  async open(method: string, path: string, options: CallOptions): Promise<Response> {
    const response = await this.#fetch(method, path, options);
    if (response.ok) return response;
    const body = await this.#readText(response);
    throw errorOfAnswer({ status: response.status, body, url: this.url, hasToken: this.hasToken });
  }

  async #fetch(method: string, path: string, options: CallOptions): Promise<Response> {
    const url = new URL(this.url + path);
    for (const [name, value] of Object.entries(options.query ?? {})) {
      if (value !== undefined && value !== "") url.searchParams.set(name, String(value));
    }
    const headers: Record<string, string> = { accept: "application/json", ...options.headers };
    if (this.#token !== undefined) headers["authorization"] = `Bearer ${this.#token}`;
    const init: RequestInit = { method, headers, redirect: "error", signal: options.signal ?? null };
    if (options.bytes !== undefined) {
      headers["content-type"] = "application/octet-stream";
      init.body = new Uint8Array(options.bytes);
    } else if (options.body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(options.body);
    }
    try {
      return await fetch(url, init);
    } catch (error) {
      throw errorOfNetwork(abortReason(options.signal) ?? error, this.url);
    }
  }

  async #readText(response: Response): Promise<string> {
    const decoder = new TextDecoder();
    let size = 0;
    let out = "";
    try {
      for await (const chunk of response.body ?? []) {
        size += chunk.byteLength;
        if (size > MAX_ANSWER_BYTES) {
          throw new MeshError("resource_exhausted", `${this.url} sent an answer larger than 32 MB — ask for less`);
        }
        out += decoder.decode(chunk, { stream: true });
      }
    } catch (error) {
      throw errorOfNetwork(error, this.url);
    }
    return out + decoder.decode();
  }
}

function abortReason(signal: AbortSignal | undefined): MeshError | undefined {
  const reason: unknown = signal?.aborted === true ? signal.reason : undefined;
  return reason instanceof MeshError ? reason : undefined;
}

function parseAnswer(text: string, url: string): object {
  if (text === "") return {};
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (!isObject(parsed)) {
    throw new MeshError("unknown", `${url} did not answer with JSON — check that this is the address of a coordinator`);
  }
  return parsed;
}
