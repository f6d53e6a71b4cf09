/**
 * The one error type of the system.
 *
 * E1  `code` is closed and equal to the gRPC canonical names; it is only ever appended to.
 * E2  `message` is safe to show to a user and says what to do; an `internal` error's text never leaves the process.
 * E3  Errors are converted once, at a boundary, with `MeshError.from`.
 */

/** gRPC canonical status names, in snake case. */
export const ERROR_CODES = [
  "cancelled",
  "unknown",
  "invalid_argument",
  "deadline_exceeded",
  "not_found",
  "already_exists",
  "permission_denied",
  "resource_exhausted",
  "failed_precondition",
  "aborted",
  "out_of_range",
  "unimplemented",
  "internal",
  "unavailable",
  "data_loss",
  "unauthenticated",
] as const;

/** Closed set of error codes; see {@link ERROR_CODES}. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Machine-readable facts about an error; JSON values only. */
export type ErrorDetails = Readonly<Record<string, unknown>>;

/** Optional parts of a {@link MeshError}. */
export interface MeshErrorInit {
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
}

/** An expected failure with a stable code, a message for people and details for programs. */
export class MeshError extends Error {
  override readonly name: string = "MeshError";
  readonly code: ErrorCode;
  readonly details: ErrorDetails | undefined;

  constructor(code: ErrorCode, message: string, init: MeshErrorInit = {}) {
    super(message, init.cause === undefined ? undefined : { cause: init.cause });
    this.code = code;
    this.details = init.details;
  }

  /** Converts anything thrown into a MeshError: aborts become `cancelled`, known errno values their code, all else `internal`. */
  static from(thrown: unknown): MeshError {
    if (thrown instanceof MeshError) return thrown;
    if (!(thrown instanceof Error)) return new MeshError("internal", String(thrown), { cause: thrown });
    if (thrown.name === "AbortError") {
      return new MeshError("cancelled", thrown.message, { cause: thrown });
    }
    if (thrown.name === "TimeoutError") {
      return new MeshError("deadline_exceeded", thrown.message, { cause: thrown });
    }
    const errno = "code" in thrown && typeof thrown.code === "string" ? ERRNO_CODES[thrown.code] : undefined;
    return new MeshError(errno ?? "internal", thrown.message, { cause: thrown });
  }
}

// Only conditions a retry or a person can act on; everything else stays `internal`.
const ERRNO_CODES: Readonly<Record<string, ErrorCode | undefined>> = {
  ECONNREFUSED: "unavailable",
  ECONNRESET: "unavailable",
  EPIPE: "unavailable",
  ENOTFOUND: "unavailable",
  EAI_AGAIN: "unavailable",
  EHOSTUNREACH: "unavailable",
  ENETUNREACH: "unavailable",
  ETIMEDOUT: "deadline_exceeded",
  ENOENT: "not_found",
  EACCES: "permission_denied",
  EPERM: "permission_denied",
  EADDRINUSE: "failed_precondition",
  ENOSPC: "resource_exhausted",
  EMFILE: "resource_exhausted",
  ABORT_ERR: "cancelled",
};

/** Whether the same call may succeed when repeated without any change. */
export function retryable(code: ErrorCode): boolean {
  return code === "unavailable" || code === "deadline_exceeded" || code === "aborted";
}

/** Narrows an arbitrary string (from the wire) to an {@link ErrorCode}; unknown values become `unknown`. */
export function toErrorCode(value: string): ErrorCode {
  return (ERROR_CODES as readonly string[]).includes(value) ? (value as ErrorCode) : "unknown";
}

/** One-line text of anything thrown, for logs and command lines. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
