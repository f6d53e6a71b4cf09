/** What a call of a script function is made of, and what comes back: the package's own nouns. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { ContextMemory } from "./memory/context-memory.ts";

/** A bundled script, ready to run anywhere; equal digests mean equal code. */
export interface ScriptProgram {
  readonly digest: string;
  /** The entry's path in the app, for messages. */
  readonly entry: string;
  readonly code: string;
  /** Source map (version 3, JSON) from `code` to the app's files. */
  readonly map: string;
  /** Functions declared at the top level of the entry, exported or not, and those it exports from elsewhere. */
  readonly functions: readonly string[];
}

/** Facts `ctx` is made from. Optional parts that are absent are undefined in the script as well. */
export interface ContextSeed {
  readonly chat_id: string;
  readonly assistant_id: string;
  readonly locale: string;
  readonly theme: string;
  readonly accept: string;
  readonly route: string;
  readonly referer: string;
  readonly client: { readonly type: string; readonly user_agent: string; readonly ip: string };
  readonly metadata: JsonObject;
  readonly authorized: JsonObject;
  readonly trace_id: string;
  /** Ids of the memory namespaces this run has. */
  readonly memory: {
    readonly user?: string;
    readonly team?: string;
    readonly chat?: string;
    readonly context?: string;
  };
  readonly sandbox?: { readonly workdir: string; readonly sandbox_id?: string; readonly vnc_url?: string };
  readonly computer?: { readonly id: string };
  readonly workspace?: { readonly id: string };
}

/** Facts the `t` of a test function is made from. */
export interface TestSeed {
  readonly name: string;
}

/** An argument of a script function: a JSON value, a `ctx`, or the `t` of a test. Absent values are undefined in the script. */
export type ScriptArgument =
  | { readonly json: Json }
  | { readonly ctx: ContextSeed }
  | { readonly test: TestSeed }
  | { readonly absent: true };

/** Bounds of one call; absent ones take the host's defaults. */
export interface ScriptLimits {
  /** Time the script itself may run; time it waits for operations or sleeps does not count. */
  readonly runMs: number;
  readonly argumentBytes: number;
  readonly resultBytes: number;
  /** Sum of the arguments of all operations. */
  readonly outputBytes: number;
  /** Longest answer of one operation. */
  readonly answerBytes: number;
  readonly operations: number;
}

/** One call of a script function. */
export interface ScriptCall {
  readonly program: ScriptProgram;
  readonly fn: string;
  readonly args: readonly ScriptArgument[];
  /** Who calls what, for messages: `my.assistant Create`. */
  readonly label: string;
  /** `ctx.memory.context` and `ctx.space` of the run; the same object is handed to every call of the run. */
  readonly contextMemory?: ContextMemory;
  /** How many script calls are around this one. */
  readonly depth?: number;
  readonly limits?: Partial<ScriptLimits>;
}

/** What a call did, for measurements. */
export interface ScriptStats {
  readonly operations: number;
  /** Time the script ran, without its waits. */
  readonly runMs: number;
}

/** Outcome of a call that did not fail. `undefined` and `null` are different values. */
export type ScriptResult =
  | { readonly kind: "returned"; readonly value: Json | undefined; readonly stats: ScriptStats }
  | { readonly kind: "missing"; readonly functions: readonly string[] };

/** Lets an operation see its call: when it ends, and the functions the script handed in. */
export interface OpIo {
  /** Aborts when the call ends, however it ends. */
  readonly signal: AbortSignal;
  /** Runs a function of the script and gives what it returned; rejects with what it threw. Only while the operation is pending. */
  callback(id: number, args: readonly Json[]): Promise<Json | undefined>;
}

/** Serves the operations of a call. What it throws is thrown in the script: message and code, nothing else. */
export interface HostOps {
  invoke(op: string, args: readonly Json[], io: OpIo): Json | undefined | Promise<Json | undefined>;
}
