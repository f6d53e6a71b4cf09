/** `utils.throw.*`: ends the caller with an exception that carries an HTTP-like number. */

import { type ErrorCode, MeshError } from "@mesh/kernel";

import type { ProcessFunction } from "./process-group.ts";

/** Functions of `utils.throw`. */
export const throwFunctions: Readonly<Record<string, ProcessFunction>> = {
  "throw.BadRequest": (args) => fail(args.text(0, "message", "bad request"), 400),
  "throw.Unauthorized": (args) => fail(args.text(0, "message", "not signed in"), 401),
  "throw.Forbidden": (args) => fail(args.text(0, "message", "not allowed"), 403),
  "throw.NotFound": (args) => fail(args.text(0, "message", "not found"), 404),
  "throw.InternalError": (args) => fail(args.text(0, "message", "something went wrong"), 500),
  "throw.Exception": (args) => fail(args.text(0, "message"), args.integer(1, "code", 500)),
};

const CODES: Readonly<Record<number, ErrorCode | undefined>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "already_exists",
  429: "resource_exhausted",
};

// Never `internal`: its text would be hidden from the user, and the script wrote it for the user.
function fail(message: string, code: number): never {
  throw new MeshError(CODES[code] ?? "unknown", message, { details: { exception_code: code } });
}
