/** The one place where failures of NATS, and failures that travel as replies, become MeshErrors. */

import { MeshError, toErrorCode } from "@mesh/kernel";
import { RpcFailure } from "@mesh/proto/wire";
import {
  AuthorizationError,
  InvalidArgumentError,
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from "@nats-io/nats-core";

/** Header that marks a reply as an {@link RpcFailure}. */
export const ERROR_HEADER = "yao-error";

/** Payload limit of the bus; larger contents travel in chunks. */
export const MAX_PAYLOAD_BYTES: number = 1024 * 1024;

/** Whether the server refused the credentials, as opposed to being out of reach. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof UserAuthenticationExpiredError) return true;
  // An authentication time-out is a slow link or a loaded server, not a verdict.
  return error instanceof AuthorizationError && !/timeout/i.test(error.message);
}

/** The MeshError for a failed request or publish on `subject`. */
export function fromNats(thrown: unknown, subject: string): MeshError {
  if (thrown instanceof MeshError) return thrown;
  // The client wraps what went wrong with a request: the reason is the cause.
  const error = thrown instanceof RequestError && thrown.cause !== undefined ? thrown.cause : thrown;
  const init = { cause: thrown };
  if (error instanceof TimeoutError) {
    return new MeshError("deadline_exceeded", `no answer on ${subject} in time`, init);
  }
  if (error instanceof NoRespondersError) {
    return new MeshError("unavailable", `nobody serves ${subject}`, { ...init, details: NOT_SENT });
  }
  if (error instanceof PermissionViolationError) {
    return new MeshError("permission_denied", `the NATS server refused ${error.operation} on ${error.subject}`, init);
  }
  if (error instanceof InvalidArgumentError && error.message.includes("max_payload")) return tooLarge(subject);
  return new MeshError("unavailable", `connection to NATS lost while using ${subject}`, init);
}

/** The error of a message beyond {@link MAX_PAYLOAD_BYTES}. */
export function tooLarge(subject: string): MeshError {
  return new MeshError(
    "resource_exhausted",
    `a message for ${subject} is larger than the bus carries (${MAX_PAYLOAD_BYTES} bytes); send it in parts`,
  );
}

/** The error of any use while there is no connection. */
export function notConnected(reason: string | undefined): MeshError {
  const text = `not connected to NATS${reason === undefined ? "" : `: ${reason}`}`;
  return new MeshError("unavailable", text, { details: NOT_SENT });
}

const NOT_SENT = { sent: false };

/** Whether a failed request has certainly reached nobody, so that it can be sent again whatever it does. */
export function wasNotSent(error: MeshError): boolean {
  return error.details?.["sent"] === false;
}

/** Reply payload for a handler's failure; the text of an `internal` error stays here. */
export function encodeFailure(thrown: unknown): Uint8Array {
  const error = MeshError.from(thrown);
  const message = error.code === "internal" ? "internal error; the log of the serving process has it" : error.message;
  return RpcFailure.encode({ code: error.code, message }).finish();
}

/** The server's own error from a reply payload. */
export function decodeFailure(data: Uint8Array): MeshError {
  const failure = RpcFailure.decode(data);
  return new MeshError(toErrorCode(failure.code), failure.message);
}
