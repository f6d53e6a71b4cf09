/**
 * A server as a child process that speaks over its standard streams.
 *
 * S1  The child leads a process group of its own; when it ends, or is closed, the whole group is killed.
 * S2  It sees an allow list of our environment and what its configuration adds, nothing else.
 * S3  What it prints on stderr is always read, and only the last lines are kept; stdout lines that are no messages are ignored.
 * S4  `onclose` fires exactly once, however the child ends, also when a descendant keeps its streams open.
 */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

import { type Clock, errorText, MeshError } from "@mesh/kernel";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";

import { deliver } from "./deliver.ts";
import { LineBuffer } from "./line-buffer.ts";
import { StderrTail } from "./stderr-tail.ts";

/** What to start. */
export interface StdioCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly maxMessageBytes: number;
}

/** How long a child may take to end by itself, first after its input ended and then after it was asked to. */
const GRACE_MS = 1000;
/** How long streams may stay open after the child is gone. */
const STREAMS_MS = 500;

/** The transport of one child process; it is started once. */
export class StdioTransport implements Transport {
  onmessage?: NonNullable<Transport["onmessage"]>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #command: StdioCommand;
  readonly #clock: Clock;
  readonly #tail = new StderrTail();
  readonly #noise = new StderrTail();
  readonly #lines: LineBuffer;
  #child: ChildProcessWithoutNullStreams | undefined;
  #end: string | undefined;
  #isFinished = false;
  #markGone: () => void = () => undefined;
  /** Resolves when the child has ended, or was never started and is closed. */
  readonly gone: Promise<void>;

  constructor(command: StdioCommand, clock: Clock) {
    this.#command = command;
    this.#clock = clock;
    this.#lines = new LineBuffer(command.maxMessageBytes);
    this.gone = new Promise((resolve) => {
      this.#markGone = resolve;
    });
  }

  /** The child's id while it lives. */
  get pid(): number | undefined {
    return this.#end === undefined ? this.#child?.pid : undefined;
  }

  /** How the child ended and what it said last, for error messages. */
  get lastWords(): string {
    const said = this.#tail.lines();
    const printed = said.length > 0 ? said : this.#noise.lines();
    const where = said.length > 0 ? "stderr" : "stdout";
    const end = this.#end === undefined ? "" : ` (${this.#end})`;
    return printed.length === 0 ? end : `${end}; its last ${where} lines:\n${printed.join("\n")}`;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#command;
    await new Promise<void>((resolve, reject) => {
      const refuse = (cause: unknown): void => {
        const text = `could not start "${command}": ${errorText(cause)}. Is it installed on this device, and on PATH?`;
        reject(new MeshError("failed_precondition", text, { cause }));
      };
      try {
        const child = spawn(command, [...args], { cwd, env, detached: true, stdio: "pipe", windowsHide: true });
        this.#child = child;
        child.once("spawn", resolve);
        child.once("error", refuse);
        this.#listen(child);
      } catch (cause) {
        refuse(cause);
      }
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) throw new MeshError("unavailable", "the server no longer reads");
    const line = `${JSON.stringify(message)}\n`;
    if (line.length > this.#command.maxMessageBytes) {
      throw new MeshError("resource_exhausted", `the message is longer than ${this.#command.maxMessageBytes} bytes`);
    }
    const failure = await new Promise<Error | null | undefined>((resolve) => {
      stdin.write(line, resolve);
    });
    if (failure === null || failure === undefined) return;
    // A broken pipe is seen before the end it comes from; the end says more.
    await this.#isGoneWithin(STREAMS_MS);
    throw new MeshError("unavailable", "the server no longer reads", { cause: failure });
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child?.pid === undefined) {
      this.#finish();
      return;
    }
    child.stdin.end();
    if (await this.#isGoneWithin(GRACE_MS)) return;
    signalGroup(child.pid, "SIGTERM");
    if (await this.#isGoneWithin(GRACE_MS)) return;
    signalGroup(child.pid, "SIGKILL");
    await this.gone;
  }

  /** Ends the group at once and without waiting, for a process that is about to end itself. */
  kill(): void {
    const { pid } = this;
    if (pid !== undefined) signalGroup(pid, "SIGKILL");
  }

  #listen(child: ChildProcessWithoutNullStreams): void {
    child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => this.#tail.push(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      // Broken pipes are seen as the end of the process.
      stream.on("error", (error) => this.onerror?.(error));
    }
    child.once("exit", (code, signal) => {
      this.#end ??= signal === null ? `exit code ${code}` : `signal ${signal}`;
      if (child.pid !== undefined) signalGroup(child.pid, "SIGKILL");
      const cancel = this.#clock.after(STREAMS_MS, () => this.#finish());
      void this.gone.then(cancel);
    });
    child.once("close", () => this.#finish());
  }

  #receive(chunk: Buffer): void {
    try {
      for (const line of this.#lines.push(chunk)) this.#readLine(line);
    } catch (error) {
      const reason = errorText(error);
      this.kill();
      this.#end ??= reason;
    }
  }

  #readLine(line: string): void {
    let messages: readonly JSONRPCMessage[];
    try {
      const parsed: unknown = JSON.parse(line);
      messages = (Array.isArray(parsed) ? parsed : [parsed]).map((item) => JSONRPCMessageSchema.parse(item));
    } catch {
      this.#noise.push(`${line}\n`);
      return;
    }
    for (const message of messages) deliver(this, message);
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const stop = new AbortController();
    const isGone = await Promise.race([
      this.gone.then(() => true),
      this.#clock.sleep(ms, stop.signal).then(() => false),
    ]);
    stop.abort();
    return isGone;
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#end ??= "closed";
    for (const stream of this.#child?.stdio ?? []) stream?.destroy();
    this.#markGone();
    this.onclose?.();
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
