/** Chance that can be repeated: the same seed gives the same faults at the same moments. */

/** A seeded source of choices. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `min` up to and without `max`. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min));
  }

  /** One of `items`, which must not be empty. */
  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.between(0, items.length)] ?? items[0];
  }

  /** True in `share` of all cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** An independent source, so that concurrent users do not change each other's choices. */
  fork(): Random {
    return new Random(this.between(0, 2 ** 32));
  }
}
