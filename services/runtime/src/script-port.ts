/** How a run reaches the scripts of its app. */

import type { HostOps, HttpClient, ScriptCall, ScriptProgram, ScriptResult } from "@mesh/scripts";
import type { ProcessRegistry } from "@mesh/scripts/process";

/** See the file comment. */
export interface ScriptPort {
  /** The program of a script file of the app; rejects when it cannot be bundled, naming file and line. */
  program(path: string): Promise<ScriptProgram>;
  call(call: ScriptCall, ops: HostOps, signal: AbortSignal): Promise<ScriptResult>;
  /** Processes by name; `ctx` of their callers is an `OpCaller`. */
  processes(): Promise<ProcessRegistry>;
  /** Requests, by the rules of where scripts may reach. */
  readonly http: Pick<HttpClient, "send" | "stream">;
}
