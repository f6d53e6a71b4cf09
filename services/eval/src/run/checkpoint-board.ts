/**
 * Which checkpoints of a dialogue have been reached. Pure.
 *
 * B1  A turn is looked at until nothing more is reached by it, so that the order in the file does not matter: a chain may be
 *     completed in one turn.
 * B2  A checkpoint is looked at only once those named in `after` have been reached.
 */

import type { Checkpoint } from "../eval-case.ts";
import type { AgentValidation, AssertionResult, CheckpointResult } from "../result.ts";

interface Seen {
  readonly turn: number;
  readonly passed: boolean;
  readonly message?: string;
  readonly validation?: AgentValidation;
}

/** See the file comment. */
export class CheckpointBoard {
  readonly #checkpoints: readonly Checkpoint[];
  readonly #reached = new Map<string, Seen>();
  /** What was said when one was looked at and not reached. */
  readonly #missed = new Map<string, Seen>();
  readonly #errors: string[] = [];

  constructor(checkpoints: readonly Checkpoint[]) {
    this.#checkpoints = checkpoints;
  }

  /** Looks at one turn; gives what it reached. `judge` judges the assertions of a checkpoint on it. */
  async look(
    turn: number,
    judge: (checkpoint: Checkpoint) => Promise<readonly AssertionResult[]>,
  ): Promise<readonly string[]> {
    const reached: string[] = [];
    const judged = new Set<string>();
    for (let before = -1; before !== reached.length;) {
      before = reached.length;
      for (const checkpoint of this.#eligible()) {
        if (judged.has(checkpoint.id)) continue;
        judged.add(checkpoint.id);
        if (this.#note(checkpoint, turn, await judge(checkpoint))) reached.push(checkpoint.id);
      }
    }
    return reached;
  }

  /** Whether all that must be reached is. */
  get isComplete(): boolean {
    return this.#checkpoints.every(({ id, isRequired }) => !isRequired || this.#reached.has(id));
  }

  /** Whether really all are reached. */
  get isFull(): boolean {
    return this.#reached.size === this.#checkpoints.length;
  }

  /** Required checkpoints that were not reached. */
  get pending(): readonly string[] {
    return this.#checkpoints.filter(({ id, isRequired }) => isRequired && !this.#reached.has(id)).map(({ id }) => id);
  }

  /** Checkpoints that could not be judged, and why. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  get results(): Readonly<Record<string, CheckpointResult>> {
    return Object.fromEntries(this.#checkpoints.map((checkpoint) => [checkpoint.id, this.#resultOf(checkpoint)]));
  }

  #eligible(): readonly Checkpoint[] {
    return this.#checkpoints.filter(
      ({ id, after }) => !this.#reached.has(id) && after.every((each) => this.#reached.has(each)),
    );
  }

  #note({ id }: Checkpoint, turn: number, results: readonly AssertionResult[]): boolean {
    const passed = results.every(({ status }) => status === "passed");
    const message = results.flatMap((each) => each.message ?? []).join("; ");
    const validation = results.find((each) => each.agent_validation !== undefined)?.agent_validation;
    const seen: Seen = {
      turn,
      passed,
      ...(message === "" ? {} : { message }),
      ...(validation === undefined ? {} : { validation }),
    };
    for (const { status, message: why } of results) {
      if (status === "error") this.#errors.push(`checkpoint ${id}: ${why ?? "could not be judged"}`);
    }
    (passed ? this.#reached : this.#missed).set(id, seen);
    return passed;
  }

  #resultOf({ id, isRequired }: Checkpoint): CheckpointResult {
    const reached = this.#reached.get(id);
    const seen = reached ?? this.#missed.get(id);
    return {
      id,
      reached: reached !== undefined,
      ...(reached === undefined ? {} : { reached_at_turn: reached.turn }),
      required: isRequired,
      passed: reached !== undefined,
      ...(seen?.message === undefined ? {} : { message: seen.message }),
      ...(seen?.validation === undefined ? {} : { agent_validation: seen.validation }),
    };
  }
}
