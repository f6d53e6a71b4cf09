/**
 * Cases from a text: all of them, or every problem there is.
 *
 * L1  Ids are unique: compared as texts, after NFC and without white space around them.
 * L2  An input without a case is a problem: nothing tested is nothing passed.
 */

import { type Json, MeshError } from "@mesh/kernel";

import type { EvalCase } from "../eval-case.ts";
import { CasePacker } from "./packed-case.ts";
import type { LoadProblem } from "./problem.ts";
import { type CaseDefaults, readCase } from "./read-case.ts";
import { placedValues } from "./value-stream.ts";

/** What was found. */
export interface LoadedCases {
  readonly cases: readonly EvalCase[];
  readonly problems: readonly LoadProblem[];
}

/** Cases of a longer text are kept as their text; see {@link CasePacker}. */
const MAX_UNPACKED_CHARS = 4 * 1024 * 1024;

/** The cases of a text; `file` names it in problems. */
export function loadCases(text: string, file: string, defaults: CaseDefaults = {}): LoadedCases {
  const problems: LoadProblem[] = [];
  const cases: EvalCase[] = [];
  const packer = text.length > MAX_UNPACKED_CHARS ? packerOf(file, defaults) : undefined;
  for (const placed of placedValues(text, file, problems)) {
    const read = readCase(placed, file, problems, defaults);
    if (read !== undefined) cases.push(packer === undefined ? read : packer.pack(read, placed.text));
  }
  return finish(cases, problems, file);
}

/** The cases of a list that an assistant or a script made. */
export function casesOf(list: readonly Json[], maker: string, defaults: CaseDefaults = {}): LoadedCases {
  const problems: LoadProblem[] = [];
  const cases = list.flatMap((value, index) => {
    const placed = { value, text: JSON.stringify(value), line: index + 1 };
    return readCase(placed, maker, problems, defaults) ?? [];
  });
  return finish(cases, problems, maker);
}

function packerOf(file: string, defaults: CaseDefaults): CasePacker {
  return new CasePacker(file, (text, line) => {
    const problems: LoadProblem[] = [];
    const [placed] = placedValues(text, file, problems);
    const test = placed === undefined ? undefined : readCase({ ...placed, line }, file, problems, defaults);
    if (test === undefined) throw new MeshError("internal", `line ${line} of ${file} was a case and is none now`);
    return test;
  });
}

function finish(cases: readonly EvalCase[], problems: LoadProblem[], file: string): LoadedCases {
  const lines = new Map<string, number>();
  for (const { id, place } of cases) {
    const first = lines.get(id);
    if (first === undefined) lines.set(id, place.line);
    else problems.push({ file, line: place.line, message: `the id "${id}" is taken: line ${first} has it too` });
  }
  if (cases.length === 0 && problems.length === 0) {
    problems.push({
      file,
      line: 0,
      message: 'there is no case; a case is one line such as {"id": "T001", "input": "Hello"}',
    });
  }
  return { cases, problems: problems.toSorted((a, b) => a.line - b.line) };
}
