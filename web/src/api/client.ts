/**
 * Calls of the coordinator's HTTP API.
 *
 * A1  The session's cookie is the browser's affair; what changes something carries the CSRF token beside it.
 * A2  Whatever fails is an {@link ApiError}; an expired session is told to `onUnauthenticated` as well.
 * A3  A creating call carries an idempotency key, so that repeating it is harmless.
 */

import { ApiError, readProblem } from "./error.ts";

/** HTTP methods of the API. */
export type Verb = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** How a single call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly idempotencyKey?: string;
  /** Bytes instead of JSON; the fields go into the query. */
  readonly bytes?: Blob;
}

type FieldsOf<Path extends string> = Path extends `${string}{${infer Field}}${infer Rest}`
  ? Field | FieldsOf<Rest>
  : never;

/** A request: what stands in the path is needed, the rest has defaults. */
export type RequestOf<Path extends string, Request> = Pick<Request, Extract<keyof Request, FieldsOf<Path>>> & {
  readonly [Key in keyof Request]?: Request[Key] | undefined;
};

/** One call of the API. */
export type Endpoint<Path extends string, Request, Response> = (
  request: RequestOf<Path, Request>,
  options?: CallOptions,
) => Promise<Response>;

interface ClientState {
  csrfToken: string;
  onUnauthenticated: () => void;
}

const state: ClientState = { csrfToken: "", onUnauthenticated: () => undefined };

/** Takes over the token that changing calls carry. */
export function setCsrfToken(token: string): void {
  state.csrfToken = token;
}

/** Who is told that the session is over. */
export function setOnUnauthenticated(listener: () => void): void {
  state.onUnauthenticated = listener;
}

/** Describes a call; `{fields}` of the path are filled from the request, the rest is query or body. */
export function endpoint<Request, Response>() {
  return <Path extends string>(verb: Verb, path: Path): Endpoint<Path, Request, Response> =>
    async (request, options = {}) => {
      const rest: Record<string, unknown> = { ...request };
      const filled = path.replaceAll(/\{(\w+)\}/g, (_match, field: string) => {
        const value = rest[field];
        delete rest[field];
        return encodeURIComponent(typeof value === "string" ? value : "");
      });
      return (await send(verb, filled, rest, options)) as Response;
    };
}

async function send(verb: Verb, path: string, fields: Record<string, unknown>, options: CallOptions): Promise<unknown> {
  const inUrl = verb === "GET" || verb === "DELETE" || options.bytes !== undefined;
  const headers: Record<string, string> = { accept: "application/json" };
  if (verb !== "GET" && state.csrfToken !== "") headers["x-csrf-token"] = state.csrfToken;
  if (options.idempotencyKey !== undefined) headers["idempotency-key"] = options.idempotencyKey;
  const init: RequestInit = { method: verb, headers, credentials: "same-origin", signal: options.signal ?? null };
  if (options.bytes !== undefined) {
    headers["content-type"] = "application/octet-stream";
    init.body = options.bytes;
  } else if (!inUrl) {
    headers["content-type"] = "application/json";
    init.body = JSON.stringify(fields);
  }
  const response = await reach(inUrl ? path + queryOf(fields) : path, init);
  if (!response.ok) {
    const problem = await readProblem(response);
    if (problem.status === 401) state.onUnauthenticated();
    throw problem;
  }
  const text = await response.text();
  if (text === "") return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new ApiError({ status: response.status, code: "internal", message: "the server's answer is not JSON" });
  }
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (thrown) {
    if (init.signal?.aborted === true) throw thrown;
    throw new ApiError({ status: 0, code: "unavailable", message: "the server cannot be reached" });
  }
}

/** The query of a request: what is empty is left out, as the API takes it for the default. */
export function queryOf(fields: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || value === "" || value === false || value === 0) continue;
    if (typeof value === "string" || typeof value === "number" || value === true) query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

/** A key for a creating call, made once per thing that a person wants. */
export function newKey(): string {
  // Absent where the page came over plain HTTP from another device.
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
