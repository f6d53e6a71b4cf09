/**
 * One runner process as the agent sees it.
 *
 * P1  Its environment holds only what is listed here: no credentials of the mesh, no keys of other runs.
 * P2  It is the leader of a process group of its own; killing it kills what it started. Commands of tools have groups of
 *     their own: when it ends in the middle of runs, they are found by a mark in their environment (Linux) and killed.
 * P3  Its end, however it comes, is told to every run it had, once.
 */

import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";

import { type Clock, errorText, inheritedEnv } from "@mesh/kernel";
import type { OutputMessage } from "@mesh/runtime";

import type { AgentLog } from "../log.ts";
import { programOf } from "../program.ts";
import {
  type EvalEvent,
  type FromRun,
  isFromRunner,
  type Job,
  type PermitQuestion,
  type RunEnd,
  type StateQuestion,
  type StateReply,
  type ToRunner,
} from "./protocol.ts";

/** What one run hears from its runner; `ended` or `crashed` is the last call. */
export interface RunListener {
  readonly started: () => void;
  readonly message: (message: OutputMessage) => void;
  /** A piece of the state of a run that is about to wait. */
  readonly state: (piece: string) => void;
  /** Answers a question about the state of the workspace; never rejects. */
  readonly asked: (question: StateQuestion) => Promise<StateReply>;
  /** Answers whether a model may be called; never rejects. */
  readonly permit: (question: PermitQuestion) => Promise<StateReply>;
  /** What a batch of an eval gives. */
  readonly event: (event: EvalEvent) => void;
  readonly ended: (end: RunEnd) => void;
  /** The process is gone; `reason` says how, in words. */
  readonly crashed: (reason: string) => void;
}

/** What runner processes are made with. */
export interface RunnerDeps {
  readonly clock: Clock;
  readonly log: AgentLog;
  /** The agent's own environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

// A runner speaks to model providers itself; a proxy's address may hold a password, so its children do not get it.
const PROXY_ENV = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NODE_USE_ENV_PROXY"];
const MARK = "YAO_RUNNER";
const PONG_MS = 1_000;
const MAX_LINE = 2_000;
const LEAVE_MS = 2_000;

/** A forked runner. */
export class RunnerProcess {
  readonly workspaceId: string;
  readonly #deps: RunnerDeps;
  readonly #child: ChildProcess;
  readonly #runs = new Map<string, RunListener>();
  readonly #onExit: () => void;
  #pong: (() => void) | undefined;
  readonly #mark = randomUUID();
  #isGone = false;
  #hasForgotten = false;
  /** It takes no new runs. */
  isRetired = false;

  constructor(workspaceId: string, deps: RunnerDeps, onExit: () => void) {
    this.workspaceId = workspaceId;
    this.#deps = deps;
    this.#onExit = onExit;
    const program = programOf("main", import.meta.url);
    this.#child = fork(program.path, [], {
      execArgv: [...program.execArgv, "--enable-source-maps", "--disallow-code-generation-from-strings"],
      env: { ...inheritedEnv(deps.env, PROXY_ENV), [MARK]: this.#mark },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: process.platform !== "win32",
    });
    this.#listen();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get runCount(): number {
    return this.#runs.size;
  }

  /** Starts a run. */
  start(job: Job, listener: RunListener): void {
    // First, since it throws for what cannot be written; the answers of the other process come later in any case.
    this.#send({ kind: "run", job });
    this.#runs.set(keyOf(job), listener);
  }

  /** Asks a run to stop; its listener hears the end. */
  cancel(run: { readonly runId: string; readonly epoch: number }): void {
    this.#send({ kind: "cancel", runId: run.runId, epoch: run.epoch });
  }

  /** Nobody listens to this run any more. */
  forget(run: { readonly runId: string; readonly epoch: number }): void {
    if (this.#runs.delete(keyOf(run))) this.#hasForgotten = true;
  }

  /** Whether its event loop turns. */
  async answers(): Promise<boolean> {
    const limit = new AbortController();
    let hasAnswered = false;
    this.#pong = () => {
      hasAnswered = true;
      limit.abort();
    };
    this.#send({ kind: "ping" });
    await this.#deps.clock.sleep(PONG_MS, limit.signal);
    return hasAnswered;
  }

  /** Asks it to end, with what it has started; ends it after a while in any case. */
  leave(): void {
    this.isRetired = true;
    if (this.#child.connected) this.#child.disconnect();
    const cancel = this.#deps.clock.after(LEAVE_MS, () => this.kill());
    this.#child.once("exit", cancel);
  }

  /** Ends the process and its whole group at once. */
  kill(): void {
    this.isRetired = true;
    const { pid } = this.#child;
    if (pid === undefined || this.#isGone) return;
    try {
      process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
    } catch {
      this.#child.kill("SIGKILL");
    }
  }

  #listen(): void {
    this.#child.on("message", (message: unknown) => this.#receive(message));
    this.#child.once("error", (error) => this.#gone(`could not be started: ${error.message}`));
    this.#child.once("exit", (code, signal) =>
      this.#gone(signal === null ? `exited with code ${code ?? "unknown"}` : `was killed by ${signal}`),
    );
    for (const stream of [this.#child.stdout, this.#child.stderr]) if (stream !== null) this.#logLines(stream);
  }

  #receive(message: unknown): void {
    if (!isFromRunner(message)) return;
    if (message.kind === "pong") this.#pong?.();
    // Its other runs go on; the next one gets a fresh process.
    if (message.kind === "stuck") this.isRetired = true;
    if (message.kind === "ready" || message.kind === "pong" || message.kind === "stuck") return;
    const listener = this.#runs.get(keyOf(message));
    if (listener !== undefined) this.#tell(listener, message);
  }

  #tell(listener: RunListener, message: FromRun): void {
    switch (message.kind) {
      case "started":
        listener.started();
        return;
      case "message":
        listener.message(message.message);
        return;
      case "state":
        listener.state(message.piece);
        return;
      case "event":
        listener.event(message.event);
        return;
      case "ask":
      case "permit": {
        const { runId, epoch, question } = message;
        const reply = message.kind === "ask" ? listener.asked(message.asked) : listener.permit(message.asked);
        void reply.then((answer) => this.#answer({ runId, epoch, question, reply: answer }));
        return;
      }
      case "end":
        this.#runs.delete(keyOf(message));
        listener.ended(message.end);
    }
  }

  // What is nested too deep for this process to write must not end it.
  #answer(answer: Omit<Extract<ToRunner, { kind: "answer" }>, "kind">): void {
    try {
      this.#send({ kind: "answer", ...answer });
    } catch (thrown) {
      const error = { code: "resource_exhausted", message: `the answer cannot be handed on: ${errorText(thrown)}` };
      this.#send({ kind: "answer", ...answer, reply: { error } });
    }
  }

  #gone(how: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.isRetired = true;
    const runs = [...this.#runs.values()];
    this.#runs.clear();
    if (runs.length > 0 || this.#hasForgotten) void this.#sweep();
    for (const run of runs) run.crashed(`the runner process ${how}`);
    this.#onExit();
  }

  async #sweep(): Promise<void> {
    // Loaded only now: an agent whose runners end well never needs it.
    const { killMarked } = await import("@mesh/agent/node");
    await killMarked(MARK, this.#mark);
  }

  #send(message: ToRunner): void {
    if (!this.#child.connected) return;
    // A failure here means that the process is going; its exit tells the runs.
    this.#child.send(message, () => undefined);
  }

  #logLines(stream: Readable): void {
    let rest = "";
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = (lines.pop() ?? "").slice(0, MAX_LINE);
      for (const line of lines) {
        if (line !== "")
          this.#deps.log.debug({ workspaceId: this.workspaceId, line: line.slice(0, MAX_LINE) }, "runner output");
      }
    });
    stream.on("error", () => undefined);
  }
}

function keyOf(run: { readonly runId: string; readonly epoch: number }): string {
  return `${run.runId}:${run.epoch}`;
}
