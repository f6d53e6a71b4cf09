/**
 * A Node.js process of ours under the supervisor: started with a channel, ready when it says so.
 *
 * C1  It is in a process group of its own: Ctrl-C at the terminal reaches the supervisor, which stops its children in order.
 * C2  It does not outlive the supervisor: it exits when the channel closes.
 */

import { type ChildProcess, fork } from "node:child_process";

import { type Clock, isObject, MeshError } from "@mesh/kernel";

import { type Exit, exitText, type Instance } from "./supervised.ts";

/** Which program, with what. */
export interface ChildSpec<Ready> {
  /** For people: "the coordinator". */
  readonly name: string;
  readonly script: string;
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Reads the ready message; undefined when it is something else. */
  readonly readReady: (message: Readonly<Record<string, unknown>>) => Ready | undefined;
  /** Receives what it writes. */
  readonly log: (chunk: Buffer) => void;
}

const READY_MS = 60_000;
const STOP_MS = 12_000;
const KEPT_CHARS = 4000;

/** Starts the program and resolves when it is ready; rejects when it ends before, or takes more than a minute. */
export async function startChild<Ready>(
  clock: Clock,
  spec: ChildSpec<Ready>,
  signal: AbortSignal,
): Promise<Instance<Ready>> {
  const child = fork(spec.script, [], {
    execArgv: [...spec.execArgv],
    env: { ...spec.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  let tail = "";
  child.stdout?.on("data", spec.log);
  child.stderr?.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-KEPT_CHARS);
    spec.log(chunk);
  });
  const exited = exitOf(child);
  const stop = (): Promise<void> => stopChild(clock, child, exited);
  try {
    const ready = await whenReady({ clock, child, exited, signal, spec, tail: () => tail });
    return { ready, exited, stop, kill: () => child.kill("SIGKILL") };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Waiting<Ready> {
  readonly clock: Clock;
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  readonly signal: AbortSignal;
  readonly spec: ChildSpec<Ready>;
  readonly tail: () => string;
}

function whenReady<Ready>(waiting: Waiting<Ready>): Promise<Ready> {
  const { clock, child, exited, signal, spec } = waiting;
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      cancel();
      child.off("message", read);
      signal.removeEventListener("abort", abort);
      settle();
    };
    const read = (message: unknown): void => {
      const ready = isObject(message) && message["kind"] === "ready" ? spec.readReady(message) : undefined;
      if (ready !== undefined) done(() => resolve(ready));
    };
    const abort = (): void => done(() => reject(new MeshError("cancelled", `stopped while ${spec.name} was starting`)));
    const cancel = clock.after(READY_MS, () =>
      done(() =>
        reject(
          new MeshError("deadline_exceeded", `${spec.name} was not ready after ${READY_MS / 1000} s — see its log`),
        ),
      ),
    );
    child.on("message", read);
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
    const fail = (exit: Exit): void => done(() => reject(startFailure(spec.name, exit, waiting.tail())));
    void exited.then(fail);
  });
}

function startFailure(name: string, exit: Exit, tail: string): MeshError {
  const said = tail
    .split("\n")
    .map(lineText)
    .findLast((line) => line !== "");
  return new MeshError(
    "unavailable",
    `${name} could not start (${exitText(exit)})${said === undefined ? "" : `: ${said}`}`,
  );
}

// A child complains either in a plain line or in a JSON log line.
function lineText(line: string): string {
  try {
    const parsed: unknown = JSON.parse(line);
    if (!isObject(parsed)) return line.trim();
    const error = isObject(parsed["err"]) ? parsed["err"]["message"] : undefined;
    return [parsed["msg"], error].filter((part) => typeof part === "string" && part !== "").join(": ");
  } catch {
    return line.trim();
  }
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => {
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
}

async function stopChild(clock: Clock, child: ChildProcess, exited: Promise<Exit>): Promise<void> {
  child.kill("SIGTERM");
  const cancel = clock.after(STOP_MS, () => child.kill("SIGKILL"));
  await exited;
  cancel();
}
