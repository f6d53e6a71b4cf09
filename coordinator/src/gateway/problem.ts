/**
 * MeshError as an RFC 9457 problem.
 *
 * P1  Every HTTP error of the gateway has this form, whichever layer refused the request.
 * P2  The text of an internal error is replaced by the request id.
 */

import { type ErrorCode, MeshError } from "@mesh/kernel";
import { internalText } from "@mesh/rpc";

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
  const [usualStatus, usualTitle] = HTTP[error.code];
  const hidden = error.code === "internal" || error.code === "unknown";
  const { errors, ...rest } = hidden ? {} : (error.details ?? {});
  return {
    type: `urn:yao:error:${error.code}`,
    title: error instanceof HttpError ? error.title : usualTitle,
    status: error instanceof HttpError ? error.status : usualStatus,
    detail: hidden ? internalText(requestId) : error.message,
    code: error.code,
    request_id: requestId,
    ...(errors === undefined ? {} : { errors }),
    ...(Object.keys(rest).length === 0 ? {} : { details: rest }),
  };
}

/** Headers that go with a problem. */
export function problemHeaders(error: MeshError): Readonly<Record<string, string>> {
  if (error.code === "unauthenticated") return { "www-authenticate": 'Bearer realm="yao"' };
  const retryAfter = error.details?.["retry_after_seconds"];
  if (typeof retryAfter === "number") return { "retry-after": String(retryAfter) };
  // Some clients send a 409 again by themselves; what was refused for good must not be.
  if (error.details?.["should_retry"] === false) return { "x-should-retry": "false" };
  return error.code === "unavailable" ? { "retry-after": "1" } : {};
}
