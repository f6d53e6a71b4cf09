/** Types of scenario.mjs, which has none of its own so that measured processes need no loader. */

/** What a scenario is made of. */
export interface Shape {
  readonly turns: number;
  readonly deltas: number;
  readonly calls?: number;
  readonly runs: number;
  readonly limit?: number;
  readonly split?: boolean;
}

/** One kind of run. */
export class Scenario implements Shape {
  readonly title: string;
  readonly turns: number;
  readonly deltas: number;
  readonly calls: number;
  readonly runs: number;
  readonly limit: number | undefined;
  readonly split: boolean;
  constructor(title: string, shape: Shape);
  get path(): string;
  get requests(): number;
  get finalText(): string;
  get textLength(): number;
}

export const SHORT_RUN: Scenario;
export const TIMED: readonly Scenario[];
