/** What the host and a script worker say to each other. Payloads are JSON text, so that only the two ends parse. */

import type { ScriptLimits } from "../call.ts";

/** Data a worker is started with. */
export interface WorkerStart {
  /** {@link SHARED} words of shared memory: the worker's clock card. */
  readonly shared: SharedArrayBuffer;
  /** Bytes of buffers a call may hold. */
  readonly bufferBytes: number;
}

/** Indexes into the shared memory (32-bit words). */
export const SHARED = {
  /** Grows when the host has posted something for a waiting worker. */
  wake: 0,
  /** One of {@link WORKER_STATES}. */
  state: 1,
  /** Time the current call has waited so far, ms. */
  waitedMs: 2,
  /** When the present wait began, ms since the start of the call. */
  waitStartMs: 3,
  words: 4,
} as const;

/** Programs a worker keeps, the latest to come; the host counts along, so that it sends again what the worker has let go. */
export const MAX_PROGRAMS = 64;

/** What a worker is doing. */
export const WORKER_STATES = { idle: 0, running: 1, waiting: 2 } as const;

/** The limits a worker keeps by itself. */
export type WorkerLimits = Pick<ScriptLimits, "resultBytes" | "outputBytes" | "operations">;

/** Host to worker. */
export type ToWorker =
  | {
      readonly kind: "call";
      readonly program: { readonly digest: string; readonly file: string; readonly code?: string };
      readonly fn: string;
      readonly args: string;
      /** Entries of the context memory, or nothing. */
      readonly memory: string;
      readonly limits: WorkerLimits;
    }
  | { readonly kind: "answer"; readonly operation: number; readonly answer: string; readonly memory: string }
  | {
      readonly kind: "callback";
      readonly operation: number;
      readonly id: number;
      readonly fn: number;
      readonly args: string;
    }
  /** The call is cancelled: every wait ends, every further operation fails. */
  | { readonly kind: "cancel"; readonly reason: string };

/** Worker to host. */
export type FromWorker =
  | { readonly kind: "ready" }
  | {
      readonly kind: "operation";
      readonly operation: number;
      readonly op: string;
      readonly args: string;
      readonly changes: string;
    }
  | { readonly kind: "called"; readonly id: number; readonly outcome: string }
  | { readonly kind: "over"; readonly limit: keyof WorkerLimits; readonly size: number }
  | {
      readonly kind: "done";
      readonly outcome: string;
      readonly changes: string;
      readonly operations: number;
      readonly runMs: number;
    };
