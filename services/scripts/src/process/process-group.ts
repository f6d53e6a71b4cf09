/** The two kinds of process groups: fixed functions (`utils.str.UUID`) and methods of named things (`stores.cache.Get`). */

import type { Json } from "@mesh/kernel";

import type { ProcessArgs } from "./process-args.ts";
import type { ProcessCaller } from "./process-caller.ts";

/** What a handler gives back; `undefined` is "nothing", which a script sees as `undefined`. */
export type ProcessResult = Json | undefined;

/** One call, its name taken apart: `<group>.<id>.<method>`; the id may be empty and may hold dots. */
export interface ProcessCall {
  readonly name: string;
  readonly id: string;
  readonly method: string;
  readonly args: ProcessArgs;
}

/** One fixed process. */
export type ProcessFunction = (args: ProcessArgs, caller: ProcessCaller) => ProcessResult | Promise<ProcessResult>;

/** Serves the processes of one group. */
export interface ProcessGroup {
  /** `fixed`: the whole rest of the name is known; `addressed`: an id stands before the method. */
  readonly kind: "fixed" | "addressed";
  /** Known names (of an addressed group: of methods), matched in any case; absent means any, passed on as written. */
  readonly names?: readonly string[];
  call(call: ProcessCall, caller: ProcessCaller): ProcessResult | Promise<ProcessResult>;
}

/** A group of fixed functions by dotted name. */
export function functionGroup(functions: Readonly<Record<string, ProcessFunction>>): ProcessGroup {
  const table = new Map(Object.entries(functions));
  return {
    kind: "fixed",
    names: [...table.keys()],
    call: ({ method, args }, caller) => table.get(method)?.(args, caller),
  };
}

/** A group of named things; without `methods` any method is passed on (functions of scripts). */
export function addressedGroup(call: ProcessGroup["call"], methods?: readonly string[]): ProcessGroup {
  return { kind: "addressed", call, ...(methods === undefined ? {} : { names: methods }) };
}
