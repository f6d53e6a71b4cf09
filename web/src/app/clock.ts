/** Time and chance of the browser. The only place that reads them; tests hand in their own. */

/** What code that waits is given. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Calls back once; returns what takes it back. */
  after(ms: number, work: () => void): () => void;
  /** At least 0, below 1. */
  random(): number;
}

/** The browser's own. */
export const browserClock: Clock = {
  now: () => Date.now(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};
