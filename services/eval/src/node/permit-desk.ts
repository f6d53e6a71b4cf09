/**
 * Asks for permission to call models, for the batches of one runner.
 *
 * G1  Where calls are counted over all devices, each call has a permit of its own; calls that wait are asked for together.
 * G2  Where they are not, a provider is asked about once a second, whatever the number of calls; and a device that cannot ask goes
 *     on: nothing but a pause could be missed.
 * G3  What this device is told to wait holds here at once, and is told to all others.
 */

import { type Clock, MeshError } from "@mesh/kernel";

import type { ModelGate } from "../run/model-gate.ts";

/** What a coordinator is asked. */
export interface PermitQuestion {
  /** Host that serves the model. */
  readonly provider: string;
  /** How many calls; 0 only tells. */
  readonly calls: number;
  /** The provider has said to wait this long; 0 when it has not. */
  readonly slowDownMs: number;
}

/** What it answers. */
export interface PermitAnswer {
  readonly granted: number;
  /** With none granted: when to ask again. */
  readonly waitMs: number;
}

/** Asks it; rejects when nobody answers, or `signal` aborts. */
export type AskPermit = (question: PermitQuestion, signal: AbortSignal) => Promise<PermitAnswer>;

/** One batch, as a desk sees it. */
export interface PermitBatch {
  readonly ask: AskPermit;
  readonly isRated: boolean;
  /** Aborts when the batch is stopped or over. */
  readonly signal: AbortSignal;
}

interface Known {
  /** Until then calls need not ask; on the monotonic clock. */
  openUntilMs: number;
  /** Until then nobody calls. */
  pausedUntilMs: number;
  asking: Promise<void> | undefined;
}

interface Lane {
  readonly waiting: Set<Waiter>;
  /** Permits that nobody waited for any more when they came. */
  spare: number;
  isAsking: boolean;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const OPEN_MS = 1_000;
const MIN_WAIT_MS = 20;
const MAX_WAIT_MS = 60_000;
const MAX_SLOW_DOWN_MS = 10 * 60_000;
const MAX_CALLS = 64;
const MAX_PROVIDERS = 256;

/** See the file comment. */
export class PermitDesk {
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The gate of one batch. */
  gateOf(batch: PermitBatch): ModelGate {
    const lanes = new Map<string, Lane>();
    return {
      enter: async (provider, signal) => {
        await (batch.isRated ? this.#permit(provider, batch, lanes, signal) : this.#open(provider, batch, signal));
      },
      slowDown: (provider, delayMs) => {
        const slowDownMs = Math.min(Math.max(0, Math.round(delayMs)), MAX_SLOW_DOWN_MS);
        const known = this.#of(provider);
        known.openUntilMs = 0;
        known.pausedUntilMs = Math.max(known.pausedUntilMs, this.#clock.monotonic() + slowDownMs);
        // Whoever cannot be told asks for themselves.
        batch.ask({ provider, calls: 0, slowDownMs }, batch.signal).catch(() => undefined);
      },
    };
  }

  async #open(provider: string, batch: PermitBatch, signal: AbortSignal): Promise<void> {
    const known = this.#of(provider);
    for (;;) {
      signal.throwIfAborted();
      const nowMs = this.#clock.monotonic();
      if (known.pausedUntilMs > nowMs) await this.#clock.sleep(known.pausedUntilMs - nowMs, signal);
      else if (known.openUntilMs > nowMs) return;
      else await raced((known.asking ??= this.#look(provider, known, batch)), signal);
    }
  }

  // One question serves all calls that wait for its answer.
  async #look(provider: string, known: Known, { ask, signal }: PermitBatch): Promise<void> {
    try {
      const { granted, waitMs } = await ask({ provider, calls: 1, slowDownMs: 0 }, signal);
      const nowMs = this.#clock.monotonic();
      if (granted > 0) known.openUntilMs = nowMs + OPEN_MS;
      else known.pausedUntilMs = Math.max(known.pausedUntilMs, nowMs + bounded(waitMs));
    } catch {
      // The asker's own end says nothing: another one asks.
      if (!signal.aborted) known.openUntilMs = this.#clock.monotonic() + OPEN_MS;
    } finally {
      known.asking = undefined;
    }
  }

  async #permit(provider: string, batch: PermitBatch, lanes: Map<string, Lane>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const lane = lanes.get(provider) ?? { waiting: new Set<Waiter>(), spare: 0, isAsking: false };
    lanes.set(provider, lane);
    if (lane.spare > 0) {
      lane.spare -= 1;
      return;
    }
    let waiter: Waiter | undefined;
    const granted = new Promise<void>((resolve, reject) => {
      waiter = { resolve, reject };
      lane.waiting.add(waiter);
    });
    if (!lane.isAsking) void this.#serve(provider, lane, batch);
    try {
      await raced(granted, signal);
    } finally {
      if (waiter !== undefined) lane.waiting.delete(waiter);
    }
  }

  async #serve(provider: string, lane: Lane, { ask, signal }: PermitBatch): Promise<void> {
    lane.isAsking = true;
    const known = this.#of(provider);
    try {
      while (lane.waiting.size > 0) {
        signal.throwIfAborted();
        const pauseMs = known.pausedUntilMs - this.#clock.monotonic();
        if (pauseMs > 0) {
          await this.#clock.sleep(pauseMs, signal);
          continue;
        }
        const calls = Math.min(lane.waiting.size, MAX_CALLS);
        const { granted, waitMs } = await ask({ provider, calls, slowDownMs: 0 }, signal);
        letIn(lane, Math.min(granted, calls));
        if (granted === 0) await this.#clock.sleep(bounded(waitMs), signal);
      }
    } catch (error) {
      for (const { reject } of lane.waiting) reject(error);
      lane.waiting.clear();
    } finally {
      lane.isAsking = false;
    }
  }

  #of(provider: string): Known {
    let known = this.#known.get(provider);
    if (known === undefined) {
      const [oldest] = this.#known.keys();
      if (this.#known.size >= MAX_PROVIDERS && oldest !== undefined) this.#known.delete(oldest);
      known = { openUntilMs: 0, pausedUntilMs: 0, asking: undefined };
      this.#known.set(provider, known);
    }
    return known;
  }
}

function letIn(lane: Lane, count: number): void {
  let left = count;
  for (const waiter of lane.waiting) {
    if (left <= 0) return;
    left -= 1;
    lane.waiting.delete(waiter);
    waiter.resolve();
  }
  lane.spare += left;
}

function bounded(waitMs: number): number {
  return Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS);
}

/** Waits for the first of the two; the other one's failure is heard by nobody else. */
async function raced(work: Promise<void>, signal: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(new MeshError("cancelled", "the model call was cancelled"));
    signal.addEventListener("abort", stop, { once: true });
  });
  try {
    await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
