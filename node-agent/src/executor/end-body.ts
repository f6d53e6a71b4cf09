/**
 * The body of the event that ends a run, or an epoch of it. Pure.
 *
 * It always fits into one message of the bus, whatever the run said: an end that cannot be sent would keep its run from ever ending.
 */

import type { JsonObject } from "@mesh/kernel";

import type { RunEnd } from "../runner/protocol.ts";

const MAX_OUTPUT_BYTES = 512 * 1024;
const MAX_OUTPUT_CHARS = 256 * 1024;
const MAX_ERROR_CHARS = 16 * 1024;
const MAX_CODE_CHARS = 64;

/** See the file comment. */
export function endBody(end: RunEnd, durationMs: number): JsonObject {
  const duration_ms = Math.round(durationMs);
  if (end.state === "failed") {
    const { code, message } = end.error;
    const error = { code: code.slice(0, MAX_CODE_CHARS), message: shortened(message) };
    return { state: end.state, error, output: "", duration_ms };
  }
  if (end.state === "cancelled") return { state: end.state, output: "", duration_ms };
  if (end.state === "waiting") return { pending: end.pending.map((item) => ({ ...item })), duration_ms };
  const output = fitting(end.output);
  return {
    state: end.state,
    output,
    // The whole text is in the message events.
    ...(output.length < end.output.length && { output_truncated: true }),
    ...(end.usage && { usage: { ...end.usage } }),
    duration_ms,
  };
}

function shortened(text: string): string {
  return text.length > MAX_ERROR_CHARS ? `${text.slice(0, MAX_ERROR_CHARS)}…` : text;
}

/** The beginning of a text that has at most `MAX_OUTPUT_BYTES` as JSON: some characters take six bytes. */
function fitting(text: string): string {
  for (let chars = Math.min(text.length, MAX_OUTPUT_CHARS); ;) {
    const kept = text.slice(0, chars);
    const bytes = Buffer.byteLength(JSON.stringify(kept));
    if (bytes <= MAX_OUTPUT_BYTES) return kept;
    chars = Math.floor((chars * MAX_OUTPUT_BYTES) / bytes);
  }
}
