/** W3C trace context: which request a piece of work belongs to, carried as `traceparent` on every hop. */

import { randomBytes } from "node:crypto";

/** One span of a trace. */
export interface Trace {
  /** 32 hexadecimal digits, the same on every hop. */
  readonly traceId: string;
  /** 16 hexadecimal digits, this hop's own. */
  readonly spanId: string;
  /** Whether whoever started the trace records it. */
  readonly sampled: boolean;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const MAX_LENGTH = 256;
const SAMPLED = 1;

/** Starts a trace. */
export function newTrace(): Trace {
  return { traceId: hex(16), spanId: hex(8), sampled: true };
}

/** A new span of the same trace. */
export function childSpan(parent: Trace): Trace {
  return { ...parent, spanId: hex(8) };
}

/** Reads a `traceparent` value; undefined if it is absent or not valid, in which case a new trace is started. */
export function parseTraceparent(value: string | undefined): Trace | undefined {
  if (value === undefined || value.length > MAX_LENGTH) return undefined;
  const match = TRACEPARENT.exec(value.trim());
  if (match === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = match;
  // Version 00 has exactly four parts; later ones may add more; ff is never valid.
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The `traceparent` value of a span. */
export function formatTraceparent(trace: Trace): string {
  return `00-${trace.traceId}-${trace.spanId}-${trace.sampled ? "01" : "00"}`;
}

function hex(bytes: number): string {
  for (;;) {
    const value = randomBytes(bytes).toString("hex");
    // All zeroes is the one value the format forbids.
    if (!/^0+$/.test(value)) return value;
  }
}
