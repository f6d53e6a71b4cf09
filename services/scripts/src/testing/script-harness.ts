/** Runs functions of a script given as text, with operations a test answers; for tests. */

import { setFlagsFromString } from "node:v8";

import { type Json, systemClock } from "@mesh/kernel";

import { ScriptBundler } from "../bundle/script-bundler.ts";
import type { ContextSeed, HostOps, OpIo, ScriptCall, ScriptResult } from "../call.ts";
import { ScriptHost, type ScriptHostDeps, type ScriptHostOptions } from "../host/script-host.ts";
import { ContextMemory } from "../memory/context-memory.ts";

// As the process that runs scripts is started; threads made from here on are without code generation.
setFlagsFromString("--disallow-code-generation-from-strings");

/** Answers one operation. */
export type OpAnswer = (args: readonly Json[], io: OpIo) => Json | undefined | Promise<Json | undefined>;

/** A seed with everything in it. */
export const SEED: ContextSeed = {
  chat_id: "chat-1",
  assistant_id: "tests.assistant",
  locale: "en-us",
  theme: "dark",
  accept: "standard",
  route: "/r",
  referer: "api",
  client: { type: "web", user_agent: "agent", ip: "127.0.0.1" },
  metadata: { tier: "gold" },
  authorized: { user_id: "u1", team_id: "t1" },
  trace_id: "trace-1",
  memory: { user: "u1", team: "t1", chat: "chat-1", context: "ctx-1" },
  sandbox: { workdir: "/workspace" },
  computer: { id: "box-1" },
  workspace: { id: "ws-1" },
};

/** Options of a harness. */
export interface ScriptHarnessOptions {
  readonly ops?: Readonly<Record<string, OpAnswer>>;
  /** Instead of `ops`; nothing is recorded then. */
  readonly hostOps?: HostOps;
  readonly host?: ScriptHostOptions;
  readonly deps?: Partial<ScriptHostDeps>;
  readonly files?: Readonly<Record<string, string>>;
}

/** A host with one script, and what the script asked for. */
export class ScriptHarness implements AsyncDisposable {
  readonly host: ScriptHost;
  readonly memory: ContextMemory;
  /** Every operation, with its arguments. */
  readonly asked: [op: string, ...args: readonly Json[]][] = [];
  readonly ops: HostOps;
  readonly #bundler = new ScriptBundler();
  readonly #files: Readonly<Record<string, string>>;

  constructor(script: string, { ops = {}, hostOps, host, deps, files = {} }: ScriptHarnessOptions = {}) {
    this.#files = { "src/index.ts": script, ...files };
    this.host = new ScriptHost({ clock: systemClock, ...deps }, host);
    this.memory = new ContextMemory(() => systemClock.now());
    this.ops = hostOps ?? {
      invoke: (op, args, io) => {
        this.asked.push([op, ...args]);
        return ops[op]?.(args, io);
      },
    };
  }

  /** Calls `fn(ctx, ...values)`. */
  async run(fn: string, ...values: readonly Json[]): Promise<ScriptResult> {
    return await this.call({ fn, args: [{ ctx: SEED }, ...values.map((json) => ({ json }))] });
  }

  /** Calls `fn(ctx)`, until `signal` aborts. */
  async runUntil(fn: string, signal: AbortSignal): Promise<ScriptResult> {
    return await this.call({ fn, args: [{ ctx: SEED }] }, signal);
  }

  /** What `fn(ctx, ...values)` returned. */
  async value(fn: string, ...values: readonly Json[]): Promise<Json | undefined> {
    const result = await this.run(fn, ...values);
    if (result.kind === "missing") throw new Error(`no function ${fn} among ${result.functions.join(", ")}`);
    return result.value;
  }

  async call(
    { ops = this.ops, ...call }: Partial<ScriptCall> & { readonly fn: string; readonly ops?: HostOps },
    signal: AbortSignal = new AbortController().signal,
  ): Promise<ScriptResult> {
    const app = { read: (path: string) => this.#files[path] };
    const program = await this.#bundler.bundle(app, "src/index.ts");
    const whole = { program, args: [], label: `test ${call.fn}`, contextMemory: this.memory, ...call };
    return await this.host.call(whole, ops, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.host.close();
  }
}
