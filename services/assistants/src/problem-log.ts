/** Collects the findings of one load, so that a person sees all of them at once, in the order of the files. */

import type { Problem } from "./app.ts";

const MAX_OF_EACH = 500;

/** The findings of one load; bounded, so that a hostile app cannot fill the memory with messages. */
export class ProblemLog {
  readonly #errors = new Findings("error");
  readonly #warnings = new Findings("warning");
  readonly #notes = new Findings("note");

  /** How many errors were reported so far, those that are not kept included. */
  get errorCount(): number {
    return this.#errors.count;
  }

  error(file: string, line: number, message: string): void {
    this.#errors.add(file, line, message);
  }

  warn(file: string, line: number, message: string): void {
    this.#warnings.add(file, line, message);
  }

  /** Something that is as it should be and yet may surprise. */
  note(file: string, line: number, message: string): void {
    this.#notes.add(file, line, message);
  }

  /** All findings by file, line and message; how many are not shown comes last. */
  sorted(): readonly Problem[] {
    const all = [this.#errors, this.#warnings, this.#notes];
    const kept = sortProblems(all.flatMap((findings) => findings.kept));
    return [...kept, ...all.flatMap((findings) => findings.rest())];
  }
}

/** Findings in the order in which a person goes through the files. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  return problems.toSorted(
    (a, b) => compareText(a.file, b.file) || a.line - b.line || compareText(a.message, b.message),
  );
}

class Findings {
  readonly kept: Problem[] = [];
  readonly #severity: Problem["severity"];
  count = 0;

  constructor(severity: Problem["severity"]) {
    this.#severity = severity;
  }

  add(file: string, line: number, message: string): void {
    this.count += 1;
    if (this.count <= MAX_OF_EACH) this.kept.push({ file, line, message, severity: this.#severity });
  }

  rest(): Problem[] {
    const hidden = this.count - this.kept.length;
    if (hidden === 0) return [];
    return [
      { file: "", line: 0, message: `${hidden} more ${this.#severity}s are not shown`, severity: this.#severity },
    ];
  }
}

/** Order by code unit: the same on every machine and in every locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
