/** The main thread's side of the heartbeats: tells the thread what is new, hands out what the coordinator answered. */

import { Worker } from "node:worker_threads";

import { type CancelTimer, type Clock, errorText } from "@mesh/kernel";
import type { HeartbeatAnswer } from "@mesh/proto";

import type { AgentLog } from "../log.ts";
import { threadOf } from "../program.ts";
import {
  type FromHeartbeat,
  type HeartbeatStart,
  type HeartbeatState,
  processMs,
  type ToHeartbeat,
} from "./protocol.ts";

/** What the heartbeats need. */
export interface HeartbeatsDeps {
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly start: () => Omit<HeartbeatStart, "turnedAt">;
  readonly state: () => HeartbeatState;
  readonly answered: (answer: HeartbeatAnswer) => void;
  /** This JWT was refused. */
  readonly refused: (jwt: string) => void;
}

const TURN_MS = 1_000;
const RESTART_MS = 1_000;
const GOODBYE_MS = 4_000;
const LIMITS = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2, stackSizeMb: 1 };

/** The heartbeats of a running agent. */
export class Heartbeats {
  readonly #deps: HeartbeatsDeps;
  readonly #turnedAt = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT);
  readonly #cancelTurn: CancelTimer;
  #worker: Worker | undefined;
  #exited: Promise<void> = Promise.resolve();
  #isStopping = false;
  #isStateQueued = false;
  #missed = 0;

  constructor(deps: HeartbeatsDeps) {
    this.#deps = deps;
    this.#turn();
    this.#cancelTurn = deps.clock.every(TURN_MS, () => this.#turn());
  }

  /** Starts the thread; it is started again should it ever end by itself. */
  start(): void {
    const { entry, isCode } = threadOf("thread", import.meta.url);
    const worker = new Worker(entry, {
      eval: isCode,
      workerData: { ...this.#deps.start(), turnedAt: this.#turnedAt } satisfies HeartbeatStart,
      resourceLimits: LIMITS,
      // The thread needs none of it.
      env: {},
    });
    this.#worker = worker;
    this.changed();
    worker.on("message", (message: FromHeartbeat) => this.#receive(message));
    worker.on("error", (error) => this.#deps.log.error({ reason: errorText(error) }, "heartbeat thread failed"));
    this.#exited = new Promise((resolve) => {
      worker.once("exit", () => {
        resolve();
        this.#worker = undefined;
        if (!this.#isStopping) this.#deps.clock.after(RESTART_MS, () => this.#isStopping || this.start());
      });
    });
  }

  /** Something of the state changed; told to the thread once per turn. */
  changed(): void {
    if (this.#isStateQueued) return;
    this.#isStateQueued = true;
    queueMicrotask(() => {
      this.#isStateQueued = false;
      this.#post({ kind: "state", state: this.#deps.state() });
    });
  }

  /** The credentials were renewed. */
  renewed(jwt: string): void {
    this.#post({ kind: "jwt", jwt });
  }

  /** Beats at once. */
  beat(): void {
    this.#post({ kind: "beat" });
  }

  /** Says goodbye, so that the device goes offline at once, and ends the thread. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#cancelTurn();
    const worker = this.#worker;
    this.#post({ kind: "state", state: this.#deps.state() });
    this.#post({ kind: "goodbye" });
    const patience = new AbortController();
    await Promise.race([this.#exited, this.#deps.clock.sleep(GOODBYE_MS, patience.signal)]);
    patience.abort();
    await worker?.terminate();
  }

  #turn(): void {
    Atomics.store(new BigInt64Array(this.#turnedAt), 0, BigInt(processMs()));
  }

  #post(message: ToHeartbeat): void {
    this.#worker?.postMessage(message);
  }

  #receive(message: FromHeartbeat): void {
    switch (message.kind) {
      case "answer":
        if (this.#missed > 2) this.#deps.log.info({ missed: this.#missed }, "heartbeats are answered again");
        this.#missed = 0;
        this.#deps.answered(message.answer);
        return;
      case "missed":
        this.#missed += 1;
        if (this.#missed === 3) this.#deps.log.warn({ reason: message.reason }, "heartbeats are not answered");
        return;
      case "refused":
        this.#deps.refused(message.jwt);
    }
  }
}
