/**
 * How often someone may try to log in.
 *
 * T1  Guessing is slowed down per (name, address), per name and per address; each by a bucket that fills again by itself.
 * T2  Nothing but log-ins is slowed down, and never for everybody: who is logged in stays so, and a one-time link is counted by
 *     its address alone.
 * T3  A log-in that succeeded is no guess: it gives back what it took.
 */

import { type Clock, MeshError } from "@mesh/kernel";

import { RateLimiter } from "../gateway/rate-limit.ts";

/** Tries from one address at one name. */
const PAIR = { burst: 5, perMinute: 3 };
/** Tries at one name from everywhere: far above what a person does, far below what guessing needs. */
const NAME = { burst: 50, perMinute: 20 };
/** Tries from one address, which may be that of a whole office. */
const ADDRESS = { burst: 50, perMinute: 30 };

/** Slows guessing down; see above. In this process only: replicas count apart. */
export class LoginThrottle {
  readonly #pair: RateLimiter;
  readonly #name: RateLimiter;
  readonly #address: RateLimiter;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#pair = new RateLimiter(clock, PAIR);
    this.#name = new RateLimiter(clock, NAME);
    this.#address = new RateLimiter(clock, ADDRESS);
  }

  /** Counts a try with a password; throws `resource_exhausted` with the seconds to wait. Returns what takes it back. */
  tryPassword(name: string, address: string): () => void {
    const person = name.toLowerCase();
    return take([
      [this.#address, address],
      [this.#pair, `${person} ${address}`],
      [this.#name, person],
    ]);
  }

  /** Counts a try with a one-time code. */
  tryCode(address: string): () => void {
    return take([[this.#address, address]]);
  }
}

function take(buckets: readonly (readonly [RateLimiter, string])[]): () => void {
  const taken: (() => void)[] = [];
  const giveBack = (): void => {
    for (const undo of taken) undo();
  };
  for (const [limiter, key] of buckets) {
    const state = limiter.take(key);
    if (state !== undefined && !state.allowed) {
      giveBack();
      const seconds = state.retryAfterSeconds;
      throw new MeshError("resource_exhausted", `too many tries to log in; try again in ${seconds} s`, {
        details: { retry_after_seconds: seconds },
      });
    }
    taken.push(() => limiter.giveBack(key));
  }
  return giveBack;
}
