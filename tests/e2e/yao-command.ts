/**
 * The built `yao` command as a user has it: a process of its own, a data directory of its own, and none of this
 * machine's settings. Whatever was started is ended, and what it wrote is removed, with the home.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { until } from "@mesh/kernel";

import { listProcesses, type ProcessRow } from "../chaos/process-table.ts";

/** Entry point of the command. */
export const YAO_MAIN = resolve(import.meta.dirname, "../../services/cli/dist/main.js");

const LIMIT_MS = 60_000;

/** How a command ended. */
export interface Outcome {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs. */
export interface YaoProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly outcome: Promise<Outcome>;
}

/** How to start a command. */
export interface StartOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Makes it the leader of a process group, as a shell does with a command typed at a terminal. */
  readonly isJob?: boolean;
}

/** A data directory and the commands that use it. */
export class YaoHome implements AsyncDisposable {
  readonly dir: string = mkdtempSync(join(tmpdir(), "yao-e2e-"));
  readonly #started: YaoProcess[] = [];

  /** The whole environment of a command. */
  get env(): Record<string, string> {
    const own = Object.entries(process.env).filter(([name]) => !/^(YAO_|NODE_OPTIONS$|NODE_CHANNEL|VITEST)/.test(name));
    return { ...Object.fromEntries(own.map(([name, value]) => [name, value ?? ""])), YAO_HOME: this.dir };
  }

  /** Starts `yao ARGS`. */
  start(args: readonly string[], options: StartOptions = {}): YaoProcess {
    return this.spawn([process.execPath, YAO_MAIN, ...args], options);
  }

  /** Starts a line of shell in which `yao` is the command. */
  shell(line: string, options: StartOptions = {}): YaoProcess {
    const script = `yao() { '${process.execPath}' '${YAO_MAIN}' "$@"; }\n${line}`;
    return this.spawn(["bash", "-c", script], options);
  }

  /** Runs `yao ARGS` to its end. */
  async run(args: readonly string[], options: StartOptions = {}): Promise<Outcome> {
    return await this.ended(this.start(args, options));
  }

  /** The document `yao ARGS --json` prints; fails when it does not exit with 0. */
  async json<T = Record<string, unknown>>(args: readonly string[]): Promise<T> {
    const { code, stdout, stderr } = await this.run([...args, "--json"]);
    if (code !== 0) throw new Error(`yao ${args.join(" ")} exited with ${code}: ${stderr}`);
    return JSON.parse(stdout) as T;
  }

  /** Waits for the end of a command. */
  async ended(started: YaoProcess, timeoutMs: number = LIMIT_MS): Promise<Outcome> {
    let outcome: Outcome | undefined;
    void started.outcome.then((value) => (outcome = value));
    return await until(() => outcome, {
      timeoutMs,
      what: `a command to end; it said so far: ${started.stdout()}${started.stderr()}`,
    });
  }

  /** `yao up` in the foreground on free ports, when it is ready. */
  async up(args: readonly string[] = [], options: StartOptions = {}): Promise<YaoProcess> {
    const system = this.start(["up", ...FREE_PORTS, ...args], { isJob: true, ...options });
    let ended: Outcome | undefined;
    void system.outcome.then((value) => (ended = value));
    const isReady = (): boolean => system.stdout().includes("next:") || /^\{.*\}\n/s.test(system.stdout());
    await until(() => isReady() || ended !== undefined, { timeoutMs: 120_000, what: "yao up" });
    if (ended !== undefined) throw new Error(`yao up ended (${ended.code}): ${ended.stdout}${ended.stderr}`);
    return system;
  }

  /** Processes that belong to this home: those below its commands, and those that name it. */
  processes(): readonly ProcessRow[] {
    const all = listProcesses();
    const mine = new Set(this.#started.map(({ pid }) => pid));
    const isMine = ({ pid, args }: ProcessRow): boolean =>
      mine.has(pid) || args.includes(this.dir) || environmentOf(pid).includes(this.dir);
    for (const row of all) if (isMine(row)) mine.add(row.pid);
    for (let before = -1; before !== mine.size;) {
      before = mine.size;
      for (const { pid, parent } of all) if (mine.has(parent)) mine.add(pid);
    }
    return all.filter(({ pid }) => mine.has(pid) && pid !== process.pid);
  }

  /** The one process of this home whose command line contains `text`. */
  processOf(text: string): number {
    const found = this.processes().filter(({ args }) => args.includes(text));
    if (found.length !== 1) throw new Error(`${found.length} processes with ${text}`);
    return found[0]!.pid;
  }

  /** Starts any program in this home. */
  spawn(command: readonly string[], options: StartOptions): YaoProcess {
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      env: { ...this.env, ...options.env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: options.isJob === true,
    });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    child.stdin.on("error", () => undefined);
    child.stdin.end(options.input ?? "");
    const outcome = new Promise<Outcome>((done) =>
      child.once("close", (code, signal) => done({ code, signal, stdout, stderr })),
    );
    const started = { child, pid: child.pid ?? 0, stdout: () => stdout, stderr: () => stderr, outcome };
    this.#started.push(started);
    return started;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const isUp = this.#started.some(({ child }) => child.exitCode === null && child.signalCode === null);
    if (isUp) await this.run(["down"]).catch(() => undefined);
    for (const { pid } of this.processes()) kill(pid);
    await until(() => this.processes().length === 0, { what: "the processes of a test to end" });
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Arguments that let several systems run on one machine. */
export const FREE_PORTS: readonly string[] = ["--port", "0", "--grpc-port", "0", "--nats-port", "0"];

/** A port nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Ends a process without warning; one that has ended already is no error. */
export function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
  }
}

// Environments can be read on Linux only; elsewhere the arguments and the tree have to do.
function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return "";
  }
}
