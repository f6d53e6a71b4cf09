/**
 * MeshError ↔ gRPC status: the only place that knows both.
 *
 * S1  Codes map one to one, both ways; `yao-error-code` carries ours so that nothing depends on the number alone.
 * S2  The text and details of an `internal` error never leave the process; the client gets an id to report.
 */

import { Metadata, type ServiceError, status as Status, type StatusObject } from "@grpc/grpc-js";
import { ERROR_CODES, type ErrorCode, type ErrorDetails, isObject, MeshError, toErrorCode } from "@mesh/kernel";

/** Metadata key of the error code. */
export const ERROR_CODE_KEY = "yao-error-code";
/** Metadata key of the id to report. */
export const REQUEST_ID_KEY = "yao-request-id";
/** Metadata key of the details, a JSON object. */
const DETAILS_KEY = "yao-error-details-bin";
/** Trailers share the peer's header limit (8 to 16 KB); details beyond this are left out. */
const MAX_DETAILS_BYTES = 4096;

const STATUS: Readonly<Record<ErrorCode, Status>> = {
  cancelled: Status.CANCELLED,
  unknown: Status.UNKNOWN,
  invalid_argument: Status.INVALID_ARGUMENT,
  deadline_exceeded: Status.DEADLINE_EXCEEDED,
  not_found: Status.NOT_FOUND,
  already_exists: Status.ALREADY_EXISTS,
  permission_denied: Status.PERMISSION_DENIED,
  resource_exhausted: Status.RESOURCE_EXHAUSTED,
  failed_precondition: Status.FAILED_PRECONDITION,
  aborted: Status.ABORTED,
  out_of_range: Status.OUT_OF_RANGE,
  unimplemented: Status.UNIMPLEMENTED,
  internal: Status.INTERNAL,
  unavailable: Status.UNAVAILABLE,
  data_loss: Status.DATA_LOSS,
  unauthenticated: Status.UNAUTHENTICATED,
};

/** Status of a failed call; `requestId` is what the client may report. */
export function toStatus(thrown: unknown, requestId: string): StatusObject {
  const error = MeshError.from(thrown);
  const metadata = new Metadata();
  metadata.set(ERROR_CODE_KEY, error.code);
  metadata.set(REQUEST_ID_KEY, requestId);
  if (error.code === "internal" || error.code === "unknown") {
    return { code: STATUS[error.code], details: internalText(requestId), metadata };
  }
  if (error.details !== undefined) {
    const bytes = Buffer.from(JSON.stringify(error.details));
    if (bytes.length <= MAX_DETAILS_BYTES) metadata.set(DETAILS_KEY, bytes);
  }
  return { code: STATUS[error.code], details: error.message, metadata };
}

/** What a user sees instead of the text of an internal error. */
export function internalText(requestId: string): string {
  return `something went wrong inside the coordinator; its log tells more under ${requestId}`;
}

/** The error a client call failed with. */
export function fromStatus(error: ServiceError): MeshError {
  const named = error.metadata.get(ERROR_CODE_KEY)[0];
  const code =
    typeof named === "string"
      ? toErrorCode(named)
      : (ERROR_CODES.find((candidate) => STATUS[candidate] === error.code) ?? "unknown");
  const details = detailsOf(error.metadata.get(DETAILS_KEY)[0]);
  return new MeshError(code, error.details === "" ? error.message : error.details, {
    cause: error,
    ...(details === undefined ? {} : { details }),
  });
}

function detailsOf(bytes: string | Buffer | undefined): ErrorDetails | undefined {
  if (bytes === undefined || typeof bytes === "string") return undefined;
  try {
    const parsed: unknown = JSON.parse(bytes.toString("utf8"));
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined; // Sent by something that is not our server.
  }
}
