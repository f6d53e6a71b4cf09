/** Where cases run: assistants, scripts and models of one app. On one machine, or wherever the app's runs may go. */

import type { App } from "@mesh/assistants";
import type { Json, JsonObject } from "@mesh/kernel";

import type { Answer } from "./assert/answer.ts";
import type { InputMessage } from "./eval-case.ts";

/** Who a case runs as. */
export interface Identity {
  readonly userId: string;
  readonly teamId: string;
  readonly chatId: string;
  readonly locale: string;
  /** `ctx.metadata`. */
  readonly metadata: JsonObject;
  /** More of `ctx.authorized` than the ids. */
  readonly authorized: JsonObject;
  readonly client?: { readonly type?: string; readonly user_agent?: string; readonly ip?: string };
  readonly referer?: string;
}

/** What an assistant is asked. */
export interface Question {
  readonly agentId: string;
  readonly messages: readonly InputMessage[];
  readonly options: JsonObject;
}

/** One function of a script. */
export interface FunctionRef {
  /** Path of the script in the app. */
  readonly path: string;
  readonly fn: string;
}

/** What a test function did. */
export interface TestRecord {
  readonly what: string;
  readonly details: Json;
}

/** How a test function is run. */
export interface TestCall extends FunctionRef {
  readonly name: string;
  /** Hears what is recorded, as it is recorded. */
  readonly onRecord: (record: TestRecord) => void;
  readonly limitMs: number;
}

/** A place for one case: memory, chat and files of its own; stores and models are those of the whole eval. */
export interface Seat extends AsyncDisposable {
  ask(question: Question, signal: AbortSignal): Promise<Answer>;
  /** Calls a hook: `ctx`, then these arguments; undefined ones are undefined there. */
  hook(ref: FunctionRef, args: readonly (Json | undefined)[], signal: AbortSignal): Promise<Json | undefined>;
  /** Calls a process, such as `scripts.test.Validate`. */
  process(name: string, args: readonly Json[], signal: AbortSignal): Promise<Json | undefined>;
  /** Runs a test function to its end; rejects with what it threw. */
  test(call: TestCall, signal: AbortSignal): Promise<void>;
}

/** See the file comment. */
export interface EvalHost {
  readonly app: App;
  /** Ids of connectors that there are beside the app's own. */
  readonly connectors?: ReadonlySet<string>;
  /** A place to run as somebody. `onLog` hears what scripts write to their console. */
  seat(agentId: string, identity: Identity, onLog: (text: string) => void): Seat;
  /** Names of the functions a script has; rejects when it cannot be bundled. */
  functions(path: string): Promise<readonly string[]>;
}
