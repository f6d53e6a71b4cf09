/**
 * MeshError as an RFC 9457 problem.
 *
 * P1  Every HTTP error of the gateway has this form, whichever layer refused the request.
 * P2  The text of an internal error is replaced by the request id.
 */

import { ERROR_CODES, type ErrorCode, MeshError } from "@mesh/kernel";
import { internalText } from "@mesh/rpc";
import { KEY_REUSED } from "@mesh/store";

/** The body of an error response. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly request_id: string;
  /** Findings about single fields. */
  readonly errors?: unknown;
  /** Other facts for programs. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Media type of {@link Problem}. */
export const PROBLEM_TYPE = "application/problem+json";

const HTTP: Readonly<Record<ErrorCode, readonly [status: number, title: string]>> = {
  cancelled: [499, "Cancelled"],
  unknown: [500, "Unknown error"],
  invalid_argument: [400, "Invalid request"],
  deadline_exceeded: [504, "Took too long"],
  not_found: [404, "Not found"],
  already_exists: [409, "Already exists"],
  permission_denied: [403, "Not allowed"],
  resource_exhausted: [429, "Too much"],
  failed_precondition: [409, "Not possible now"],
  aborted: [409, "Conflict"],
  out_of_range: [400, "Out of range"],
  unimplemented: [501, "Not supported"],
  internal: [500, "Internal error"],
  unavailable: [503, "Unavailable"],
  data_loss: [500, "Data loss"],
  unauthenticated: [401, "Not authenticated"],
};

/** The same idempotency key with another request: the request is sound, and repeating it will never help. */
const REUSED = [422, "Idempotency key used for another request"] as const;

/** A MeshError whose HTTP status is not the usual one of its code, such as 405 or 413. */
export class HttpError extends MeshError {
  override readonly name = "HttpError";
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, error: { readonly code: ErrorCode; readonly message: string }) {
    super(error.code, error.message);
    this.status = status;
    this.title = title;
  }
}

/** The problem that tells about this error. */
export function toProblem(error: MeshError, requestId: string): Problem {
  const [usualStatus, usualTitle] = error.details?.["reason"] === KEY_REUSED ? REUSED : HTTP[error.code];
  const hidden = error.code === "internal" || error.code === "unknown";
  const { errors, ...rest } = hidden ? {} : (error.details ?? {});
  return {
    type: problemType(error.code),
    title: error instanceof HttpError ? error.title : usualTitle,
    status: error instanceof HttpError ? error.status : usualStatus,
    detail: hidden ? internalText(requestId) : error.message,
    code: error.code,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(Object.keys(rest).length === 0 ? {} : { details: rest }),
  };
}

/** Where a type of problem is described: a reference, relative to wherever the gateway is reached. */
export function problemType(code: ErrorCode): string {
  return `/v1/problems/${code}`;
}

/** What a type of problem means, for whoever follows it; undefined for codes that there are not. */
export function describeProblem(code: string): Readonly<Record<string, unknown>> | undefined {
  const known = ERROR_CODES.find((each) => each === code);
  if (known === undefined) return undefined;
  const [status, title] = HTTP[known];
  return { type: problemType(known), title, status, code: known, detail: MEANINGS[known] };
}

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  cancelled: "The call was given up before it ended, by its client or by somebody who cancelled it.",
  unknown: "Something failed in a way that has no name; the request id finds it in the coordinator's log.",
  invalid_argument: "The request itself is wrong; errors names each field. Sending it again changes nothing.",
  deadline_exceeded: "It took longer than it may; try again, or ask for less at a time.",
  not_found: "What is named does not exist, or this token may not see it: the two are told apart nowhere.",
  already_exists: "The name is taken, or (with status 422) an idempotency key was used for another request.",
  permission_denied: "The token lacks a scope, or its user a role; detail says which.",
  resource_exhausted: "A limit was reached: too many requests (see Retry-After), too many things, or too large a one.",
  failed_precondition: "It cannot be done in the present state; detail says what must be done first.",
  aborted: "Something else changed the same thing at the same time; read it again and try again.",
  out_of_range: "A position lies beyond the end; detail says where the end is.",
  unimplemented: "There is no such operation here.",
  internal: "Something broke inside; the request id finds it in the coordinator's log.",
  unavailable: "A part of the system is away or the coordinator is stopping; try again soon.",
  data_loss: "Stored data cannot be read any more.",
  unauthenticated: "No valid token came with the request; make one with: yao token create",
};

/** Headers that go with a problem. */
export function problemHeaders(error: MeshError): Readonly<Record<string, string>> {
  if (error.code === "unauthenticated") return { "www-authenticate": 'Bearer realm="yao"' };
  const { reason, retry_after_seconds: retryAfter } = error.details ?? {};
  if (reason === "idempotency_key_in_use") return { "retry-after": "1", "x-should-retry": "true" };
  if (typeof retryAfter === "number") return { "retry-after": String(retryAfter) };
  // Some clients send a 409 again by themselves; what was refused for good must not be.
  if (error.details?.["should_retry"] === false) return { "x-should-retry": "false" };
  return error.code === "unavailable" ? { "retry-after": "1" } : {};
}
