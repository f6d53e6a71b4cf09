/** Places in a bundled program as places in the user's files. */

import { originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";

import { appPath } from "../bundle/app-path.ts";
import type { ScriptProgram } from "../call.ts";

/** A place in a file of the app; line and column count from 1. */
export interface SourcePosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const SCHEME = "yao:";
/** `    at name (yao:file:line:column)`, or without a name. */
const FRAME = /^\s+at (?:(.*) \()?yao:(.+):(\d+):(\d+)\)?$/;
const MAX_FRAMES = 12;

// Source maps are large and read only for errors; a program's map goes with the program.
const maps = new WeakMap<ScriptProgram, TraceMap>();

/** The file name a program runs under, from which its frames are recognised. */
export function programFile(program: ScriptProgram): string {
  return `${SCHEME}${program.entry}`;
}

/** A stack in the user's files: frames of the host, the guest and the runtime are left out. */
export class SourceStack {
  /** Where it happened: the innermost frame. */
  readonly at: SourcePosition | undefined;
  readonly frames: string;

  private constructor(frames: readonly { readonly name: string; readonly at: SourcePosition }[]) {
    this.at = frames[0]?.at;
    this.frames = frames
      .slice(0, MAX_FRAMES)
      .map(({ name, at }) => `at ${name === "" ? "" : `${name} `}(${at.file}:${at.line}:${at.column})`)
      .join("\n");
  }

  static of(stack: string, program: ScriptProgram): SourceStack {
    const frames = stack.split("\n").flatMap((line) => {
      const [, name = "", file, atLine, column] = FRAME.exec(line) ?? [];
      if (file !== program.entry) return [];
      const at = originalPosition(program, Number(atLine), Number(column) - 1);
      return at === undefined ? [] : [{ name, at }];
    });
    return new SourceStack(frames);
  }
}

/** The user's place of a place in the program: line from 1, column from 0. */
export function originalPosition(program: ScriptProgram, line: number, column: number): SourcePosition | undefined {
  let map = maps.get(program);
  if (map === undefined) {
    map = new TraceMap(program.map);
    maps.set(program, map);
  }
  const found = originalPositionFor(map, { line, column });
  if (found.source === null || found.source.startsWith("runtime:")) return undefined;
  return { file: appPath(found.source), line: found.line, column: found.column + 1 };
}
