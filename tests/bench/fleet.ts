/**
 * Simulated devices that speak the wire: they take work, publish events and send heartbeats, and execute nothing. They
 * isolate what the coordinator, the database and NATS cost.
 *
 * F1  A run with the input `/noop` ends at once: one batch accepts it, the next holds a message and its end.
 * F2  A batch of an eval is asked for, and each of its units ends at once as passed.
 * F3  Any other run is accepted, started and held; `stream` and `flood` then write its events.
 */

import { type Bus, STREAM, type StreamMessage, subjects, workDurable } from "@mesh/bus";
import { ulidOf } from "@mesh/kernel";
import {
  EvalBatchPart,
  EvalBatchRequest,
  EventBatch,
  Heartbeat,
  HeartbeatAnswer,
  type NodeEvent,
  WorkItem,
} from "@mesh/proto";

import { nowMs, sleep } from "./sample.ts";

const BEAT_MS = 5_000;
const PUBLISH_MS = 30_000;
const MAX_PUBLISHING = 256;

interface HeldRun {
  readonly id: string;
  readonly epoch: number;
  readonly digest: string;
  lastN: number;
}

/** What is used of a batch of an eval. */
interface EvalBatch {
  readonly cases: readonly { readonly id: string; readonly input: string }[];
  readonly units: readonly {
    readonly ordinal: number;
    readonly run: number;
    readonly copy: number;
    readonly case: number;
  }[];
}

/** How event streams are paced. */
export interface StreamPace {
  /** Events of one run in a second. */
  readonly perSecond: number;
  readonly seconds: number;
}

/** What a load of heartbeats came to. */
export interface BeatResult {
  readonly sent: number;
  readonly answered: number;
  /** Round trips in milliseconds. */
  readonly tripsMs: readonly number[];
}

/** See the head of this file. */
export class Fleet {
  readonly #buses: readonly Bus[];
  readonly #stop: AbortSignal;
  readonly #runs = new Map<string, HeldRun>();
  readonly #beats = new Map<string, number>();

  constructor(buses: readonly Bus[], stop: AbortSignal) {
    this.#buses = buses;
    this.#stop = stop;
  }

  /** Says that these nodes are there, and pulls their work from now on. */
  async takeWork(digests: readonly string[]): Promise<void> {
    await Promise.all(digests.map((digest) => this.#beat(digest)));
    for (const [index, digest] of digests.entries()) {
      const bus = this.#busOf(index);
      const ref = { stream: STREAM.work, durable: workDurable(digest) };
      const consumer = bus.consumer(ref, (messages) => this.#accept(bus, digest, messages), { maxBatch: 256 });
      void consumer.run(this.#stop);
      void this.#beatUntilStopped(digest);
    }
  }

  /** Publishes events of all held runs, each run at its own moment within a period; resolves with their number. */
  async stream({ perSecond, seconds }: StreamPace): Promise<number> {
    const runs = [...this.#runs.values()];
    const total = runs.length * perSecond * seconds;
    const startMs = nowMs();
    let sent = 0;
    while (sent < total) {
      const due = Math.min(total, ((nowMs() - startMs) / 1000) * runs.length * perSecond);
      for (; sent < due; sent += 1) {
        const run = runs[sent % runs.length];
        if (run !== undefined) void this.#publish(this.#busOf(sent), run, [message({ sent_ms: nowMs() })]);
      }
      await sleep(1);
    }
    return total;
  }

  /** Publishes batches as fast as they are stored in the stream; resolves when all are. */
  async flood(options: { readonly batches: number; readonly batchSize: number }): Promise<void> {
    const runs = [...this.#runs.values()];
    const text = "x".repeat(60);
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < options.batches) {
        const index = next;
        next += 1;
        const run = runs[index % runs.length];
        const events = Array.from({ length: options.batchSize }, () => message({ text }));
        if (run !== undefined) await this.#publish(this.#busOf(index), run, events);
      }
    };
    await Promise.all(Array.from({ length: MAX_PUBLISHING }, lane));
  }

  /** Sends one heartbeat of each node in each period, evenly spread. */
  async beat(digests: readonly string[], seconds: number): Promise<BeatResult> {
    const total = Math.floor((digests.length * seconds * 1000) / BEAT_MS);
    const startMs = nowMs();
    const tripsMs: number[] = [];
    const pending: Promise<void>[] = [];
    while (pending.length < total) {
      const due = Math.min(total, ((nowMs() - startMs) * digests.length) / BEAT_MS);
      while (pending.length < due) {
        const digest = digests[pending.length % digests.length] ?? "";
        pending.push(
          this.#beat(digest, pending.length).then(
            (tripMs) => void tripsMs.push(tripMs),
            () => undefined,
          ),
        );
      }
      await sleep(5);
    }
    await Promise.all(pending);
    return { sent: total, answered: tripsMs.length, tripsMs };
  }

  async #accept(bus: Bus, digest: string, messages: readonly StreamMessage[]): Promise<void> {
    for (const delivered of messages) {
      const item = WorkItem.decode(delivered.data);
      delivered.ack();
      const run: HeldRun = { id: item.run_id, epoch: item.epoch, digest, lastN: 0 };
      if (item.eval) void this.#judge(bus, run);
      else void this.#execute(bus, run, item.input === "/noop");
    }
  }

  async #execute(bus: Bus, run: HeldRun, isNoop: boolean): Promise<void> {
    await this.#publish(bus, run, [event("run.accepted", {})]);
    const rest = [event("run.started", {}), message({ text: "ok" })];
    if (isNoop) rest.push(event("run.finished", { state: "succeeded", output: "ok" }));
    else this.#runs.set(run.id, run);
    await this.#publish(bus, run, rest);
  }

  /** Answers a batch of an eval. */
  async #judge(bus: Bus, run: HeldRun): Promise<void> {
    await this.#publish(bus, run, [event("run.accepted", {})]);
    const pieces: string[] = [];
    for (let parts = 1; pieces.length < parts;) {
      const asked = EvalBatchRequest.encode({ run_id: run.id, epoch: run.epoch, part: pieces.length }).finish();
      const answer = EvalBatchPart.decode(
        await bus.request(subjects.rpc(run.digest, "eval_batch"), asked, { timeoutMs: 10_000 }),
      );
      pieces.push(answer.body);
      ({ parts } = answer);
    }
    const { units, cases } = JSON.parse(pieces.join("")) as EvalBatch;
    const results = units.map(({ ordinal, run: round, copy, case: index }) => {
      const { id, input } = cases[index] ?? { id: "", input: "" };
      const result = { id, run: round, status: "passed", input, output: input, duration_ms: 0.1, hash: "bench" };
      return event("eval.result", { ordinal, run: round, copy, result });
    });
    const end = event("run.finished", { state: "succeeded", output: "" });
    await this.#publish(bus, run, [event("run.started", {}), ...results, end]);
  }

  async #publish(bus: Bus, run: HeldRun, events: readonly Omit<NodeEvent, "n">[]): Promise<void> {
    const firstN = run.lastN + 1;
    run.lastN += events.length;
    const numbered = events.map((entry, i) => ({ ...entry, n: firstN + i }));
    const batch = EventBatch.encode({ run_id: run.id, epoch: run.epoch, events: numbered }).finish();
    const ulid = ulidOf(run.id);
    await bus.publishStream(subjects.events(run.digest, ulid), batch, {
      msgId: `${ulid}:${run.epoch}:${firstN}`,
      timeoutMs: PUBLISH_MS,
    });
  }

  async #beatUntilStopped(digest: string): Promise<void> {
    while (!this.#stop.aborted) {
      await sleep(BEAT_MS);
      await this.#beat(digest).catch(() => undefined);
    }
  }

  async #beat(digest: string, index = 0): Promise<number> {
    const seq = (this.#beats.get(digest) ?? 0) + 1;
    this.#beats.set(digest, seq);
    const runs = [...this.#runs.values()].filter((run) => run.digest === digest);
    const beat = Heartbeat.encode(
      Heartbeat.fromPartial({
        boot_id: "bench",
        hb_seq: seq,
        protocol: 1,
        runs: runs.map((run) => ({ run_id: run.id, epoch: run.epoch, last_n: run.lastN })),
        cpu: 0.2,
        memory_free_bytes: 8e9,
      }),
    ).finish();
    const startMs = nowMs();
    const answer = await this.#busOf(index).request(subjects.heartbeat(digest), beat, { timeoutMs: 10_000 });
    const { refused } = HeartbeatAnswer.decode(answer);
    if (refused !== "") throw new Error(`a heartbeat was refused: ${refused}`);
    return nowMs() - startMs;
  }

  #busOf(index: number): Bus {
    const bus = this.#buses[index % this.#buses.length];
    if (bus === undefined) throw new Error("the fleet has no connection");
    return bus;
  }
}

function event(kind: string, body: object, deltaOf = ""): Omit<NodeEvent, "n"> {
  return { at_ms: Date.now(), kind, body: JSON.stringify(body), delta_of: deltaOf };
}

function message(props: object): Omit<NodeEvent, "n"> {
  return event("message", { type: "text", message_id: "m1", delta: true, props }, "m1");
}
