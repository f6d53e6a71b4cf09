/** Messages between the agent's main thread and its heartbeat thread. */

import type { Heartbeat, HeartbeatAnswer } from "@mesh/proto";

/** What the thread starts with. */
export interface HeartbeatStart {
  readonly servers: readonly string[];
  readonly pin: string | undefined;
  readonly digest: string;
  readonly jwt: string;
  readonly seed: Uint8Array;
  readonly bootId: string;
  readonly version: string;
  readonly protocol: number;
  readonly intervalMs: number;
  /** One cell: when the main thread last turned, in milliseconds of the process's monotonic clock. */
  readonly turnedAt: SharedArrayBuffer;
}

/** The part of a heartbeat that only the main thread knows. */
export type HeartbeatState = Pick<Heartbeat, "slots" | "slots_used" | "runs" | "journal_unacked_bytes">;

/** Main thread to heartbeat thread. */
export type ToHeartbeat =
  | { readonly kind: "state"; readonly state: HeartbeatState }
  | { readonly kind: "jwt"; readonly jwt: string }
  /** Beat at once. */
  | { readonly kind: "beat" }
  /** Say goodbye and end. */
  | { readonly kind: "goodbye" };

/** Heartbeat thread to main thread. */
export type FromHeartbeat =
  | { readonly kind: "answer"; readonly answer: HeartbeatAnswer }
  | { readonly kind: "missed"; readonly reason: string }
  /** This JWT was refused; a new one is needed. */
  | { readonly kind: "refused"; readonly jwt: string };

/** The monotonic clock that all threads of a process share; `performance.now` starts anew in each. */
export function processMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
