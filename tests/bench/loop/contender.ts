/** A contender's process, and the model server's: started, asked one thing at a time, ended with the benchmark. */

import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { isObject } from "@mesh/kernel";

import type { Scenario } from "./scenario.mjs";

/** What a contender can be asked for; every answer is one number. */
export type Job = "time" | "heap" | "abortStream" | "abortTool";

/** Who runs, and which packages of this directory it needs. */
export interface ContenderName {
  readonly name: string;
  readonly packages: readonly string[];
}

/** Every contender: the floor, ours, and rivals. */
export const CONTENDERS: readonly ContenderName[] = [
  { name: "raw", packages: [] },
  { name: "ours", packages: [] },
  { name: "openai", packages: ["openai"] },
  { name: "pi", packages: ["@mariozechner/pi-agent-core", "@mariozechner/pi-ai"] },
  { name: "ai", packages: ["ai", "@ai-sdk/openai-compatible"] },
  { name: "openai-agents", packages: ["@openai/agents", "openai"] },
  { name: "langgraph", packages: ["@langchain/langgraph", "@langchain/openai", "@langchain/core"] },
];

/** Where rivals are installed and measured files lie. */
export const LOOP_DIR: string = import.meta.dirname;

/** Whether all packages of a contender are there; the floor and ours always are. */
export function isInstalled({ packages }: ContenderName): boolean {
  return packages.every((name) => existsSync(join(LOOP_DIR, "node_modules", name, "package.json")));
}

// Libraries check more in development; loaders of this process are none of theirs.
const { NODE_OPTIONS: _options, ...inherited } = process.env;
const env = { ...inherited, NODE_ENV: "production" };
const JOB_TIMEOUT_MS = 180_000;

/** A contender that waits for jobs. */
export class Contender {
  readonly name: string;
  readonly #child: ChildProcess;

  private constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.#child = child;
  }

  /** Starts it against a server; with `profileDir` it leaves a CPU profile there when it ends. */
  static async start(name: string, origin: string, profileDir?: string): Promise<Contender> {
    const profiling = profileDir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileDir}`];
    const child = fork(join(LOOP_DIR, "contender-process.mjs"), [name, origin], {
      // Some libraries make Node warn in every run; printing that is not what is measured.
      execArgv: ["--expose-gc", "--no-warnings", ...profiling],
      env,
    });
    const contender = new Contender(name, child);
    await contender.#answer();
    return contender;
  }

  /** Does a job; rejects when a run of it was not what the scenario says. */
  async ask(job: Job, scenario?: Scenario): Promise<number> {
    const answer = this.#answer();
    this.#child.send({ job, shape: scenario });
    return Number(await answer);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    await exited;
  }

  async #answer(): Promise<unknown> {
    const over = new AbortController();
    const options = { signal: AbortSignal.any([over.signal, AbortSignal.timeout(JOB_TIMEOUT_MS)]) };
    try {
      const exit = once(this.#child, "exit", options).then(([code]) => {
        throw new Error(`${this.name} ended with code ${String(code)}`);
      });
      const [message] = (await Promise.race([once(this.#child, "message", options), exit])) as unknown[];
      if (isObject(message) && typeof message["error"] === "string") throw new Error(message["error"]);
      return isObject(message) ? message["result"] : undefined;
    } catch (error) {
      if (error instanceof Error && error.name === "AbortError") {
        this.#child.kill("SIGKILL");
        throw new Error(`${this.name} did not answer within ${JOB_TIMEOUT_MS / 1000} s`, { cause: error });
      }
      throw error;
    } finally {
      over.abort();
    }
  }
}

/** The scripted model in a process of its own. */
export interface ModelServer {
  readonly origin: string;
  stop(): Promise<void>;
}

/** Starts the scripted model. */
export async function startModelServer(): Promise<ModelServer> {
  const child = spawn(process.execPath, [join(LOOP_DIR, "model-server.mjs")], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const [port] = (await once(lines, "line")) as [string];
  return {
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    },
  };
}

/** The file of a contender. */
export function fileOf(name: string): string {
  return join(LOOP_DIR, "contender", `${name}.mjs`);
}

/** What importing a contender's file takes in a fresh process. */
export async function importTime(file: string): Promise<{ readonly wallMs: number; readonly cpuMs: number }> {
  const child = spawn(process.execPath, [join(LOOP_DIR, "import-time.mjs"), file], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    return JSON.parse(line) as { wallMs: number; cpuMs: number };
  }
  throw new Error(`${file} could not be imported`);
}
