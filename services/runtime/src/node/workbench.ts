/**
 * What the runs of one workspace share in one process: the host of its scripts, its MCP servers, its connections, its folder.
 *
 * Nothing is started before a run needs it; `close` ends whatever was.
 */

import type { Log } from "@mesh/agent";
import type { App } from "@mesh/assistants";
import { type Clock, errorText } from "@mesh/kernel";
import { McpClients } from "@mesh/mcp";
import { LateHttpClient, ScriptBundler, ScriptHost, type ScriptProgram } from "@mesh/scripts";
import type { ProcessRegistry } from "@mesh/scripts/process";

import type { OpCaller } from "../op/op-table.ts";
import type { RunPorts } from "../run-input.ts";
import type { StatePort } from "../state-port.ts";
import { WorkspaceFiles } from "./workspace-files.ts";

/** What a workbench is made of. */
export interface WorkbenchOptions {
  readonly clock: Clock;
  /** The workspace's folder on this device. */
  readonly dir: string;
  /** What MCP servers may see of this process's environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables by which MCP servers are found again when this process is gone. */
  readonly mark?: Readonly<Record<string, string>>;
  readonly version: string;
  readonly log: Log;
  /** Called when a script cannot be ended: this process should take no more runs. */
  readonly stuck?: () => void;
}

/** What one run brings. */
export interface WorkbenchRun {
  readonly app: App;
  readonly state: StatePort;
  /** Variables the run may read. */
  readonly variables: Readonly<Record<string, string>>;
  /** What its commands see. */
  readonly commandEnv: Readonly<Record<string, string | undefined>>;
}

/** See the file comment. */
export class Workbench implements AsyncDisposable {
  readonly #options: WorkbenchOptions;
  readonly #bundler = new ScriptBundler();
  /** By app and path. An app never changes, so that its files need not be looked at again. */
  readonly #programs = new WeakMap<App, Map<string, Promise<ScriptProgram>>>();
  readonly #scripts: ScriptHost;
  readonly #http: LateHttpClient;
  readonly #mcp: McpClients<OpCaller>;

  constructor(options: WorkbenchOptions) {
    const { clock, dir, env, version, log, mark } = options;
    this.#options = options;
    this.#scripts = new ScriptHost({
      clock,
      onInternalError: (error, op) => log("error", "an operation failed", { op, err: errorText(error) }),
      onStuck: () => {
        log("error", "a script's thread cannot be ended; it holds its memory until this process ends", {});
        options.stuck?.();
      },
    });
    this.#http = new LateHttpClient({ clock });
    this.#mcp = new McpClients<OpCaller>({
      clock,
      callProcess: async (...call) => (await import("../process/run-process.ts")).callToolProcess(...call),
      env,
      mark,
      cwd: dir,
      fetch: globalThis.fetch,
      log,
      clientInfo: { name: "yao", version },
    });
  }

  /** The ports of one run. */
  portsOf({ app, state, variables, commandEnv }: WorkbenchRun): Pick<RunPorts, "scripts" | "mcp" | "state" | "files"> {
    const { clock, dir } = this.#options;
    const env = (name: string): string | undefined => (Object.hasOwn(variables, name) ? variables[name] : undefined);
    const http = this.#http;
    let registry: Promise<ProcessRegistry> | undefined;
    const openRegistry = async (): Promise<ProcessRegistry> =>
      (await import("../process/run-process.ts")).runProcesses({ clock, http, state, env });
    return {
      state,
      mcp: this.#mcp,
      files: new WorkspaceFiles({ clock, dir, env: commandEnv }),
      scripts: {
        program: (path) => this.#programOf(app, path),
        call: (call, ops, signal) => this.#scripts.call(call, ops, signal),
        http,
        // Most runs call no process.
        processes: () => (registry ??= openRegistry()),
      },
    };
  }

  #programOf(app: App, path: string): Promise<ScriptProgram> {
    const programs = this.#programs.get(app) ?? new Map<string, Promise<ScriptProgram>>();
    this.#programs.set(app, programs);
    const known = programs.get(path);
    if (known !== undefined) return known;
    const program = this.#bundler.bundle({ read: (file) => app.file(file) }, path);
    programs.set(path, program);
    // Who asked is told; who asks again shall not be told of a bundler that failed once.
    program.catch(() => programs.delete(path));
    return program;
  }

  /** Ends the processes that were started, at once: for a process that cannot wait. */
  kill(): void {
    this.#mcp.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#scripts.close(), this.#mcp.close(), this.#http[Symbol.asyncDispose]()]);
  }
}
