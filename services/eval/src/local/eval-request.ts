/** What an eval on this machine is asked to do. */

import type { App } from "@mesh/assistants";
import type { Clock } from "@mesh/kernel";

import type { EvalReporter } from "../report/reporter.ts";
import type { EvalInput } from "./eval-input.ts";
import type { ModelCalls } from "./local-host.ts";

/** See the file comment. */
export interface EvalRequest {
  readonly input: EvalInput;
  /** The input as the user wrote it. */
  readonly inputText: string;
  readonly agent?: string;
  readonly appDir?: string;
  /** Where the user is; absolute. */
  readonly cwd: string;
  readonly connector?: string;
  readonly user?: string;
  readonly team?: string;
  readonly locale?: string;
  /** Path of a context file. */
  readonly contextFile?: string;
  /** Plays the user in dialogues that name nobody. */
  readonly simulator?: string;
  /** Hooks around the whole eval. */
  readonly before?: string;
  readonly after?: string;
  /** RE2 pattern for the ids, or names of tests, to run. */
  readonly only?: string;
  readonly timeoutMs: number;
  readonly runs: number;
  readonly parallel: number;
  readonly retries: number;
  readonly failFast: boolean;
  readonly isDryRun: boolean;
  /** Where the report goes; its extension says its form. */
  readonly output?: string;
  /** Goes on with the log of that path. */
  readonly resume?: string;
  /** Judges the answers in that log or report again, instead of asking the assistant. */
  readonly regrade?: string;
  /** An assistant that writes the report. */
  readonly reporter?: string;
}

/** What it is done with. */
export interface EvalDeps {
  readonly clock: Clock;
  /** A digest that is this eval's alone. */
  readonly nonce: string;
  readonly version: string;
  readonly random?: () => number;
  /** This process's environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables from files, which win. */
  readonly variables: Readonly<Record<string, string>>;
  /** An empty folder for what cases write. */
  readonly scratchDir: string;
  readonly reporter: EvalReporter;
  /** Data models of an app that has some; called when one is used first. */
  readonly models?: (app: App) => ModelCalls;
}

/** How it ended. */
export interface EvalOutcome {
  /** 0: all passed; 1: not all did, or not all ran; 130: interrupted. */
  readonly exitCode: number;
}
