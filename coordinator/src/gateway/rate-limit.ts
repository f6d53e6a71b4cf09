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
  /** Seconds in which a whole burst comes back. */
  readonly windowSeconds: number;
  readonly remaining: number;
  /** Seconds until the bucket is full again. */
  readonly resetSeconds: number;
  /** Seconds until one more request is allowed; 0 when it is now. */
  readonly retryAfterSeconds: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
  readonly perMinute: number;
  readonly burst: number;
}

const MAX_BUCKETS = 20_000;

/** Limits requests by key. */
export class RateLimiter {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #options: RateOptions | undefined;
  readonly #buckets = new Map<string, Bucket>();

  /** `options`: what every key may do; undefined bounds only the keys that have a quota of their own. */
  constructor(clock: Pick<Clock, "monotonic">, options: RateOptions | undefined) {
    this.#clock = clock;
    this.#options = options;
  }

  /** Takes one token from the bucket of `key`, whose own quota never exceeds what every key may; undefined without a limit. */
  take(key: string, quota?: RateOptions): RateState | undefined {
    const bucket = this.#refilled(key, quota);
    if (bucket === undefined) return undefined;
    const allowed = bucket.tokens >= 1;
    if (allowed) bucket.tokens -= 1;
    return stateOf(bucket, allowed);
  }

  /** Puts one token back. */
  giveBack(key: string): void {
    const bucket = this.#buckets.get(key);
    if (bucket !== undefined) bucket.tokens = Math.min(bucket.burst, bucket.tokens + 1);
  }

  /** The state without taking anything. */
  peek(key: string): RateState | undefined {
    const bucket = this.#refilled(key, undefined);
    return bucket === undefined ? undefined : stateOf(bucket, bucket.tokens >= 1);
  }

  #refilled(key: string, quota: RateOptions | undefined): Bucket | undefined {
    const options = smaller(quota, this.#options);
    if (options === undefined) return undefined;
    const nowMs = this.#clock.monotonic();
    const known = this.#buckets.get(key);
    if (known === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#forgetFull(nowMs);
      const fresh = { tokens: options.burst, atMs: nowMs, ...options };
      this.#buckets.set(key, fresh);
      return fresh;
    }
    refill(known, nowMs);
    return known;
  }

  /** A bucket that would be full by now says no more than a missing one; when all are in use the oldest goes. */
  #forgetFull(nowMs: number): void {
    for (const [key, bucket] of this.#buckets) {
      refill(bucket, nowMs);
      if (bucket.tokens >= bucket.burst) this.#buckets.delete(key);
    }
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size >= MAX_BUCKETS && oldest !== undefined) this.#buckets.delete(oldest);
  }
}

function smaller(a: RateOptions | undefined, b: RateOptions | undefined): RateOptions | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.perMinute < b.perMinute ? a : b;
}

function refill(bucket: Bucket, nowMs: number): void {
  const gained = (nowMs - bucket.atMs) * (bucket.perMinute / 60_000);
  bucket.tokens = Math.min(bucket.burst, bucket.tokens + gained);
  bucket.atMs = nowMs;
}

function stateOf({ tokens, burst, perMinute }: Bucket, allowed: boolean): RateState {
  const seconds = (count: number): number => Math.ceil((count / perMinute) * 60);
  return {
    allowed,
    limit: burst,
    windowSeconds: Math.max(1, seconds(burst)),
    remaining: Math.floor(tokens),
    resetSeconds: seconds(burst - tokens),
    retryAfterSeconds: tokens >= 1 ? 0 : Math.max(1, seconds(1 - tokens)),
  };
}
