/** What a benchmark is. */

import type { Row } from "./report.ts";

/** How much a benchmark may take. */
export interface BenchOptions {
  /** A form that ends in seconds, for a first look and for continuous integration. */
  readonly isShort: boolean;
  /** Where the coordinator leaves a CPU profile when it stops. */
  readonly profileDir?: string;
  /** Told what is going on; not part of the result. */
  readonly progress: (text: string) => void;
}

/** Measures and returns its rows; it leaves no process behind. */
export type Bench = (options: BenchOptions) => Promise<readonly Row[]>;
