/** A child process that tests start, kill, pause and start again, with its last output kept for failures. */

import { type ChildProcess, execFileSync, fork } from "node:child_process";

import { until } from "@mesh/kernel";

const KEPT_LINES = 400;

/** How to start it. */
export interface ProcessSpec {
  readonly name: string;
  /** Entry file run by this Node. */
  readonly entry: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
}

/** One program under the control of a test. */
export class ManagedProcess {
  readonly spec: ProcessSpec;
  readonly output: string[] = [];
  /** Messages it sent over IPC since the last start. */
  messages: Record<string, unknown>[] = [];
  #child: ChildProcess | undefined;

  constructor(spec: ProcessSpec) {
    this.spec = spec;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.spec.name} is not running`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What it ended with; null while it runs and after a signal. */
  get exitCode(): number | null {
    return this.#child?.exitCode ?? null;
  }

  /** The processes it has started and that still run. */
  get childPids(): readonly number[] {
    const { pid } = this;
    const table = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
    const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
    return rows
      .filter(([, parent, state]) => Number(parent) === pid && state !== undefined && !state.startsWith("Z"))
      .map(([child]) => Number(child));
  }

  /** Starts it and resolves with the IPC message of kind `ready`. `env` overrides the specification's. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<Record<string, unknown>> {
    if (this.isRunning) throw new Error(`${this.spec.name} is already running`);
    this.messages = [];
    const child = fork(this.spec.entry, [...(this.spec.args ?? [])], {
      env: { PATH: process.env["PATH"] ?? "", HOME: process.env["HOME"] ?? "", ...this.spec.env, ...env },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      execArgv: [...(this.spec.execArgv ?? ["--enable-source-maps"])],
    });
    this.#child = child;
    child.on("message", (message) => this.messages.push(message as Record<string, unknown>));
    child.stdout?.on("data", (data: Buffer) => this.#keep(data));
    child.stderr?.on("data", (data: Buffer) => this.#keep(data));
    return until(
      () => {
        const ready = this.messages.find((message) => message["kind"] === "ready");
        if (ready === undefined && !this.isRunning) {
          throw new Error(`${this.spec.name} ended at its start:\n${this.output.slice(-30).join("\n")}`);
        }
        return ready;
      },
      { timeoutMs: 60_000, what: `${this.spec.name} to be ready:\n${this.output.slice(-30).join("\n")}` },
    );
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Ends it without warning and waits until it is gone. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.signal("SIGKILL");
    await this.ended();
  }

  /** Asks it to stop and returns its exit code. */
  async stop(timeoutMs = 20_000): Promise<number | null> {
    if (!this.isRunning) return this.#child?.exitCode ?? null;
    this.signal("SIGCONT");
    this.signal("SIGTERM");
    try {
      await this.ended(timeoutMs);
    } catch (error) {
      await this.kill();
      throw error;
    }
    return this.#child?.exitCode ?? null;
  }

  async ended(timeoutMs = 20_000): Promise<void> {
    await until(() => !this.isRunning, { timeoutMs, what: `${this.spec.name} to end` });
  }

  #keep(data: Buffer): void {
    this.output.push(
      ...data
        .toString("utf8")
        .split("\n")
        .filter((line) => line !== ""),
    );
    if (this.output.length > KEPT_LINES) this.output.splice(0, this.output.length - KEPT_LINES);
  }
}
