/**
 * A child process that makes load, called by method over IPC, so that load and measurement do not share an event loop.
 *
 * L1  It ends when its owner stops it, and by itself when its owner is gone.
 */

import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";

/** Methods of a load process; parameters and results are plain JSON. */
export type LoadMethods = Readonly<Record<string, (params: never) => Promise<unknown>>>;

interface Reply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly note?: unknown;
}

/** The owner's side. */
export class LoadProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  readonly #ended: Promise<void>;
  #nextId = 1;
  /** Called with what the process says unasked. */
  onNote: (note: unknown) => void = () => undefined;

  /** Starts `file` of this directory with the options of this process. */
  constructor(file: string) {
    this.#child = fork(join(import.meta.dirname, file), [], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    this.#child.on("message", (message) => this.#receive(message as Reply));
    this.#ended = new Promise((resolve) => {
      this.#child.once("exit", (code, signal) => {
        for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ended (${signal ?? code})`));
        resolve();
      });
    });
  }

  /** Calls a method and waits for its result. */
  call<T>(method: string, params: unknown = {}): Promise<T> {
    const id = this.#nextId;
    this.#nextId += 1;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as T), reject });
      this.#child.send({ id, method, params });
    });
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#ended;
  }

  #receive(reply: Reply): void {
    if (reply.id === undefined) {
      this.onNote(reply.note);
      return;
    }
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply.result);
    else waiting?.reject(new Error(reply.error));
  }
}

/** The child's side: answers calls until the owner goes away. */
export function serveLoad(methods: LoadMethods): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (message) => {
    const { id, method, params } = message as { id: number; method: string; params: never };
    const handler = methods[method];
    const answer = handler === undefined ? Promise.reject(new Error(`no method ${method}`)) : handler(params);
    answer.then(
      (result) => process.send?.({ id, result }),
      (error: unknown) => process.send?.({ id, error: error instanceof Error ? error.message : String(error) }),
    );
  });
}

/** Tells the owner something it did not ask for. */
export function note(value: unknown): void {
  process.send?.({ note: value });
}
