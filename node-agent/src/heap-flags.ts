/** Flags for the command line of an agent: one that idles most of its life should be small rather than fast to warm up. */
export const SMALL_HEAP_FLAGS: readonly string[] = [
  "--optimize-for-size",
  "--max-semi-space-size=1",
  "--v8-pool-size=1",
];
