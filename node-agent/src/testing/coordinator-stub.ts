/**
 * The other end of the wire for tests: answers heartbeats and rpcs, publishes work, and stores events the way the
 * coordinator does: in the order of `n`, once.
 */

import { createHash } from "node:crypto";

import { type Bus, type BusAdmin, INGEST_DURABLE, STREAM, subjects } from "@mesh/bus";
import { until } from "@mesh/kernel";
import {
  BundleChunk,
  BundleChunkRequest,
  Command,
  EvalBatchPart,
  EvalBatchRequest,
  EvalPermitAnswer,
  EvalPermitRequest,
  EventBatch,
  Heartbeat,
  HeartbeatAnswer,
  Hello,
  HelloAnswer,
  type NodeEvent,
  SecretsAnswer,
  WorkItem,
} from "@mesh/proto/wire";

/** What a test decides. */
export interface StubOptions {
  readonly bus: Bus;
  readonly admin: BusAdmin;
  readonly digest: string;
  readonly slots?: number;
  readonly heartbeatMs?: number;
}

/** A stored run. */
export interface StubRun {
  readonly events: NodeEvent[];
  /** Deliveries of events that were stored already. */
  repeated: number;
}

/** A scripted coordinator for one node. */
export class CoordinatorStub {
  readonly beats: Heartbeat[] = [];
  readonly hellos: Hello[] = [];
  readonly runs: Map<string, StubRun> = new Map();
  readonly bundles: Map<string, Uint8Array> = new Map();
  readonly bundleRequests: string[] = [];
  secrets: SecretsAnswer = { keys: {}, env: {} };
  /** What a lease says, by run and epoch. */
  readonly desired: Map<string, string> = new Map();
  refused = "";
  isDraining = false;
  /** When true, events are acknowledged to the stream but not stored. */
  isDeaf = false;
  /** Batches of evals, by run. */
  readonly batches: Map<string, unknown> = new Map();
  readonly permitRequests: EvalPermitRequest[] = [];
  /** Answers whether a model may be called. */
  permit: (request: EvalPermitRequest) => EvalPermitAnswer = ({ calls }) => ({ granted: calls, wait_ms: 0 });
  /** Characters of one part of a batch. */
  partChars: number = 384 * 1024;
  readonly #options: StubOptions;
  readonly #stop = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: StubOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { bus, admin, digest, slots = 4 } = this.#options;
    await admin.ensureStreams();
    await admin.ensureIngestConsumer();
    await admin.ensureWorkConsumer(digest, slots);
    bus.serve(subjects.heartbeat(digest), async (data) => this.#beat(Heartbeat.decode(data)));
    bus.serve(subjects.rpc(digest, "hello"), async (data) => this.#hello(Hello.decode(data)));
    bus.serve(subjects.rpc(digest, "bundle"), async (data) => this.#bundle(BundleChunkRequest.decode(data)));
    bus.serve(subjects.rpc(digest, "secrets"), async () => SecretsAnswer.encode(this.secrets).finish());
    bus.serve(subjects.rpc(digest, "eval_batch"), async (data) => this.#batch(EvalBatchRequest.decode(data)));
    bus.serve(subjects.rpc(digest, "eval_permit"), async (data) => {
      const request = EvalPermitRequest.decode(data);
      this.permitRequests.push(request);
      return EvalPermitAnswer.encode(this.permit(request)).finish();
    });
    const consumer = bus.consumer(
      { stream: STREAM.events, durable: INGEST_DURABLE },
      async (messages) => {
        for (const message of messages) {
          this.#store(EventBatch.decode(message.data));
          message.ack();
        }
      },
      { maxBatch: 100 },
    );
    this.#ended = consumer.run(this.#stop.signal).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  /** Keeps a bundle and returns its digest. */
  addBundle(bytes: Uint8Array): string {
    const digest = createHash("sha256").update(bytes).digest("hex");
    this.bundles.set(digest, bytes);
    return digest;
  }

  /** Publishes a work item; `copy` makes it a message of its own for the stream. */
  async work(item: Partial<WorkItem> & Pick<WorkItem, "run_id">, copy = ""): Promise<void> {
    const full: WorkItem = { ...EMPTY_ITEM, ...item };
    const msgId = `${full.run_id}:${full.epoch}:${copy}`;
    await this.#options.bus.publishStream(subjects.work(this.#options.digest), WorkItem.encode(full).finish(), {
      msgId,
    });
  }

  command(command: NonNullable<Command["command"]>): void {
    const { bus, digest } = this.#options;
    const data = Command.encode({ command }).finish();
    // An unreachable node misses a command, as over the wire.
    bus.request(subjects.command(digest), data, { timeoutMs: 2_000 }).catch(() => undefined);
  }

  run(runId: string, epoch = 1): StubRun {
    const key = `${runId}:${epoch}`;
    const run = this.runs.get(key) ?? { events: [], repeated: 0 };
    this.runs.set(key, run);
    return run;
  }

  kinds(runId: string, epoch = 1): string[] {
    return this.run(runId, epoch).events.map((event) => event.kind);
  }

  /** Waits for the end of a run and returns the body of its terminal event. */
  async end(runId: string, epoch = 1, timeoutMs = 15_000): Promise<Record<string, unknown>> {
    const event = await until(() => this.run(runId, epoch).events.find((item) => item.kind === "run.finished"), {
      timeoutMs,
      what: `the end of ${runId} (so far: ${this.kinds(runId, epoch).join(", ")})`,
    });
    return JSON.parse(event.body) as Record<string, unknown>;
  }

  #beat(beat: Heartbeat): Uint8Array {
    this.beats.push(beat);
    const answer: HeartbeatAnswer = {
      runs: beat.runs.map((run) => this.#lease(run.run_id, run.epoch)),
      draining: this.isDraining,
      slots: this.#options.slots ?? 4,
      interval_ms: this.#options.heartbeatMs ?? 200,
      refused: this.refused,
    };
    return HeartbeatAnswer.encode(answer).finish();
  }

  #hello(hello: Hello): Uint8Array {
    this.hellos.push(hello);
    const answer: HelloAnswer = {
      node_id: "node_1",
      name: "stub",
      runs: hello.runs.map((run) => this.#lease(run.run_id, run.epoch)),
      draining: this.isDraining,
      slots: this.#options.slots ?? 4,
      heartbeat_ms: 200,
      refused: this.refused,
    };
    return HelloAnswer.encode(answer).finish();
  }

  #lease(runId: string, epoch: number): HeartbeatAnswer["runs"][number] {
    const key = `${runId}:${epoch}`;
    const events = this.runs.get(key)?.events ?? [];
    const committed_n = events.length;
    const lease_ms = isLast(events.at(-1)) ? 0 : 60_000;
    return { run_id: runId, epoch, lease_ms, desired: this.desired.get(key) ?? "continue", committed_n };
  }

  #bundle(request: BundleChunkRequest): Uint8Array {
    this.bundleRequests.push(request.digest);
    const bytes = this.bundles.get(request.digest) ?? new Uint8Array();
    const part = Buffer.from(bytes.subarray(request.offset, request.offset + 512 * 1024));
    const chunk = { total_bytes: bytes.length, bytes: part };
    return BundleChunk.encode(chunk).finish();
  }

  #batch({ run_id, part }: EvalBatchRequest): Uint8Array {
    const text = JSON.stringify(this.batches.get(run_id) ?? {});
    const body = text.slice(part * this.partChars, (part + 1) * this.partChars);
    return EvalBatchPart.encode({ parts: Math.ceil(text.length / this.partChars), body }).finish();
  }

  #store(batch: EventBatch): void {
    if (this.isDeaf) return;
    const run = this.run(batch.run_id, batch.epoch);
    for (const event of batch.events) {
      if (event.n <= run.events.length) run.repeated += 1;
      else if (event.n === run.events.length + 1) run.events.push(event);
    }
    const last = run.events.at(-1);
    if (last === undefined || !isLast(last)) return;
    this.command({ $case: "ack", value: { runs: [{ run_id: batch.run_id, epoch: batch.epoch, last_n: last.n }] } });
  }
}

function isLast(event: NodeEvent | undefined): boolean {
  return event?.kind === "run.finished" || event?.kind === "run.asked";
}

const EMPTY_ITEM: WorkItem = {
  run_id: "",
  epoch: 1,
  workspace_id: "ws_00000000000000000000000001",
  assistant_id: "hello",
  bundle_digest: "",
  input: "",
  options_json: "{}",
  metadata_json: "{}",
  connectors_json: "{}",
  needs_secrets: false,
  timeout_ms: 60_000,
  lease_ms: 60_000,
  user_id: "user_00000000000000000000000001",
  attempt: 1,
  resume: false,
  eval: false,
};
