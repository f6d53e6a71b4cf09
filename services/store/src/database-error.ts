/** What went wrong in the database, in the codes of this system. */

import { type ErrorCode, errorText, MeshError } from "@mesh/kernel";

// SQLSTATE values and classes, and the driver's own codes.
const CODES: Readonly<Record<string, ErrorCode | undefined>> = {
  CONNECTION_CLOSED: "unavailable",
  CONNECTION_DESTROYED: "unavailable",
  CONNECTION_ENDED: "unavailable",
  CONNECT_TIMEOUT: "unavailable",
  "08": "unavailable",
  "57P": "unavailable",
  "57014": "deadline_exceeded",
  "55P03": "aborted",
  "40": "aborted",
  "23503": "failed_precondition",
  "23505": "already_exists",
  "28": "unauthenticated",
  "3D": "not_found",
  "53": "resource_exhausted",
  "58": "unavailable",
};

/** The MeshError of anything a statement or connection failed with. */
export function databaseError(thrown: unknown, what = "the database refused a statement"): MeshError {
  if (thrown instanceof MeshError) return thrown;
  const state = sqlState(thrown);
  const code = state === undefined ? undefined : (CODES[state] ?? CODES[state.slice(0, 3)] ?? CODES[state.slice(0, 2)]);
  return new MeshError(code ?? MeshError.from(thrown).code, `${what}: ${errorText(thrown)}`, { cause: thrown });
}

/** The SQLSTATE, or the driver's code, of an error. */
export function sqlState(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
}
