/** What is wrong with the files of an eval: every problem has a place, and all are reported at once. */

import { MeshError } from "@mesh/kernel";

/** One problem. */
export interface LoadProblem {
  readonly file: string;
  /** From 1; 0 for the file as a whole. */
  readonly line: number;
  readonly message: string;
}

const MAX_SHOWN = 50;

/** A problem as one line. */
export function problemText({ file, line, message }: LoadProblem): string {
  const where = line > 0 ? `${file}:${line}` : file;
  return where === "" ? message : `${where}: ${message}`;
}

/** The error that carries all problems. */
export function loadError(problems: readonly LoadProblem[]): MeshError {
  const lines = problems.slice(0, MAX_SHOWN).map(problemText);
  const more = problems.length > MAX_SHOWN ? [`… and ${problems.length - MAX_SHOWN} more`] : [];
  return new MeshError("invalid_argument", [...lines, ...more].join("\n"), {
    details: { problems: problems.slice(0, MAX_SHOWN).map((problem) => ({ ...problem })) },
  });
}
