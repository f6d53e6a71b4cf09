/**
 * Failures in words that users and their scripts may read.
 *
 * What was meant for people is told as it is. Anything else (errors of this program, of the device's files, of its network)
 * may name what is nobody's business: it goes into the log, and the id of the run stands in its place.
 */

import { errorText, MeshError } from "@mesh/kernel";

import { shortText } from "./event-size.ts";
import type { RunShared } from "./run-shared.ts";

/** The error to tell. */
export function toldError(thrown: unknown, { input, ports }: Pick<RunShared, "input" | "ports">): MeshError {
  if (thrown instanceof Error && thrown.name === "AbortError") {
    return new MeshError("cancelled", "the call was cancelled", { cause: thrown });
  }
  if (thrown instanceof MeshError && thrown.code !== "internal") return bounded(thrown);
  const { runId } = input.context;
  ports.log?.("error", "a run failed inside", { runId, err: errorText(thrown) });
  const text = `something went wrong inside the run; the log of its device has more under ${runId}`;
  return new MeshError("internal", text, { cause: thrown });
}

function bounded(error: MeshError): MeshError {
  const text = shortText(error.message);
  if (text === error.message) return error;
  return new MeshError(error.code, text, { cause: error, ...(error.details && { details: error.details }) });
}
