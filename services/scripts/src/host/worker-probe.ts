/**
 * Looks into a worker that does not answer, through the inspector inside this process (no port is opened): how much
 * memory its heap holds, and which line it is at. A worker that is deep in a native loop answers late or never.
 */

import { Session } from "node:inspector";

import { type Clock, isObject } from "@mesh/kernel";

/** A place in a script that runs: line from 1, column from 0. */
export interface ProbedFrame {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly name: string;
}

interface Waiting {
  readonly accepts: (message: Record<string, unknown>) => boolean;
  readonly resolve: (message: Record<string, unknown>) => void;
}

const WAIT_MS = 500;

/** The inspector's view of this process's workers; connected while it is used. */
export class WorkerProbe {
  readonly #clock: Clock;
  #session: Session | undefined;
  readonly #sessions = new Map<string, string>();
  readonly #waiting = new Map<string, Set<Waiting>>();
  readonly #files = new Map<string, string>();
  #nextId = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Bytes in use on the worker's heap, garbage included. Undefined when it cannot be known. */
  async heapBytes(threadId: number): Promise<number | undefined> {
    const { usedSize } = (await this.#request(threadId, "Runtime.getHeapUsage")) ?? {};
    return typeof usedSize === "number" ? usedSize : undefined;
  }

  /** Bytes in use after a collection. Undefined when that takes long: then there is much that is no garbage. */
  async liveHeapBytes(threadId: number): Promise<number | undefined> {
    const collected = this.#request(threadId, "HeapProfiler.collectGarbage").then(() => this.heapBytes(threadId));
    return await this.#soon(collected);
  }

  /** Stops the worker where it is and gives its stack, innermost first; the worker has to be ended afterwards. */
  async stack(threadId: number): Promise<readonly ProbedFrame[]> {
    const session = this.#sessionOf(threadId);
    if (session === undefined) return [];
    const paused = new Promise<Record<string, unknown>>((resolve) => {
      this.#wait(session, { accepts: ({ method }) => method === "Debugger.paused", resolve });
    });
    this.#post(session, "Debugger.enable", this.#id());
    this.#post(session, "Debugger.pause", this.#id());
    const message = await this.#soon(paused);
    // A paused thread cannot be ended: it goes on until it is. Messages are taken in order, so that one which comes to
    // all three only now does not pause at all.
    await this.#soon(this.#request(threadId, "Debugger.disable"));
    return framesOf(message?.["params"], this.#files);
  }

  /** Lets go of all workers; the next use connects again. */
  close(): void {
    const session = this.#session;
    this.#session = undefined;
    this.#sessions.clear();
    for (const waiters of this.#waiting.values()) for (const waiter of waiters) waiter.resolve({});
    this.#waiting.clear();
    session?.post("NodeWorker.disable");
    session?.disconnect();
  }

  async #soon<Value>(value: Promise<Value>): Promise<Value | undefined> {
    const gone = new AbortController();
    const late = this.#clock.sleep(WAIT_MS, gone.signal).then(() => undefined);
    try {
      return await Promise.race([value, late]);
    } finally {
      gone.abort();
    }
  }

  async #request(threadId: number, method: string): Promise<Record<string, unknown> | undefined> {
    const session = this.#sessionOf(threadId);
    if (session === undefined) return undefined;
    const id = this.#id();
    const { result } = await new Promise<Record<string, unknown>>((resolve) => {
      // First: an answer may interrupt this thread at any point after the question.
      this.#wait(session, { accepts: (message) => message["id"] === id, resolve });
      this.#post(session, method, id);
    });
    return isObject(result) ? result : undefined;
  }

  #id(): number {
    this.#nextId += 1;
    return this.#nextId;
  }

  #post(sessionId: string, method: string, id: number): void {
    this.#session?.post("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify({ id, method }) });
  }

  #wait(session: string, waiter: Waiting): void {
    const waiters = this.#waiting.get(session) ?? new Set();
    this.#waiting.set(session, waiters.add(waiter));
  }

  #sessionOf(threadId: number): string | undefined {
    if (this.#session === undefined) this.#connect();
    return this.#sessions.get(String(threadId));
  }

  #connect(): void {
    const session = new Session();
    this.#session = session;
    session.connect();
    session.on("NodeWorker.attachedToWorker", ({ params }) => {
      // The inspector numbers workers as it meets them; the thread's id is in the title.
      const [, threadId] = /\[worker (\d+)\]/.exec(params.workerInfo.title) ?? [];
      if (threadId !== undefined) this.#sessions.set(threadId, params.sessionId);
    });
    session.on("NodeWorker.detachedFromWorker", ({ params }) => this.#detached(params.sessionId));
    session.on("NodeWorker.receivedMessageFromWorker", ({ params }) =>
      this.#received(params.sessionId, params.message),
    );
    // Workers that run already are reported before this returns.
    session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  }

  #detached(sessionId: string): void {
    for (const [worker, session] of this.#sessions) if (session === sessionId) this.#sessions.delete(worker);
    for (const waiter of this.#waiting.get(sessionId) ?? []) waiter.resolve({});
    this.#waiting.delete(sessionId);
  }

  #received(sessionId: string, text: string): void {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) return;
    const { method, params } = message;
    if (method === "Debugger.scriptParsed" && isObject(params)) {
      this.#files.set(String(params["scriptId"]), String(params["url"]));
    }
    const waiters = this.#waiting.get(sessionId);
    for (const waiter of waiters ?? []) {
      if (!waiter.accepts(message)) continue;
      waiters?.delete(waiter);
      waiter.resolve(message);
    }
  }
}

function framesOf(params: unknown, files: ReadonlyMap<string, string>): readonly ProbedFrame[] {
  const frames = isObject(params) && Array.isArray(params["callFrames"]) ? (params["callFrames"] as unknown[]) : [];
  return frames.flatMap((frame) => {
    if (!isObject(frame) || !isObject(frame["location"])) return [];
    const { scriptId, lineNumber, columnNumber } = frame["location"];
    const file = files.get(String(scriptId)) ?? "";
    return [{ file, line: Number(lineNumber) + 1, column: Number(columnNumber), name: String(frame["functionName"]) }];
  });
}
