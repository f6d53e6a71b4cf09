/** Token buckets by key: a burst at once, then a steady rate. In this process only; replicas count apart. */

import type { Clock } from "@mesh/kernel";

/** How much one key may do. */
export interface RateOptions {
  readonly perMinute: number;
  readonly burst: number;
}

/** The state of a bucket after a request. */
export interface RateState {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Seconds until one more request is allowed; 0 when it is now. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

const MAX_BUCKETS = 20_000;

/** Limits requests by key. */
export class RateLimiter {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #options: RateOptions;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, "monotonic">, options: RateOptions) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Takes one token from the bucket of `key`. */
  take(key: string): RateState {
    const bucket = this.#refilled(key);
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    return this.#state(bucket, allowed);
  }

  /** Puts one token back. */
  giveBack(key: string): void {
    const bucket = this.#refilled(key);
    bucket.tokens = Math.min(this.#options.burst, bucket.tokens + 1);
  }

  /** The state without taking anything. */
  peek(key: string): RateState {
    const bucket = this.#refilled(key);
    return this.#state(bucket, bucket.tokens >= 1);
  }

  get #perMs(): number {
    return this.#options.perMinute / 60_000;
  }

  #refilled(key: string): Bucket {
    const nowMs = this.#clock.monotonic();
    const known = this.#buckets.get(key);
    if (known === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#forgetFull(nowMs);
      const fresh = { tokens: this.#options.burst, atMs: nowMs };
      this.#buckets.set(key, fresh);
      return fresh;
    }
    known.tokens = Math.min(this.#options.burst, known.tokens + (nowMs - known.atMs) * this.#perMs);
    known.atMs = nowMs;
    return known;
  }

  /** A bucket that would be full by now says no more than a missing one; when all are in use the oldest goes. */
  #forgetFull(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      if (bucket.tokens + (nowMs - bucket.atMs) * this.#perMs >= this.#options.burst) this.#buckets.delete(key);
    }
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= MAX_BUCKETS && oldest !== undefined) this.#buckets.delete(oldest);
  }

  #state(bucket: Bucket, allowed: boolean): RateState {
    const seconds = (tokens: number): number => Math.ceil(tokens / this.#perMs / 1000);
    return {
      allowed,
      limit: this.#options.burst,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: seconds(this.#options.burst - bucket.tokens),
      retryAfterSeconds: bucket.tokens >= 1 ? 0 : Math.max(1, seconds(1 - bucket.tokens)),
    };
  }
}
