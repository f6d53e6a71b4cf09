/** The run core over a real database and a memory bus, with scripted nodes. For tests. */

import { type BusAdmin, nodeDigest, subjects, workDurable } from "@mesh/bus";
import { type MemoryBus, memoryBus, type MemoryHub } from "@mesh/bus/testing";
import { type Clock, RunGroup, systemClock, systemIds, until } from "@mesh/kernel";
import { createLogger, silentLogger } from "@mesh/observability";
import { EventBatch, Heartbeat, HeartbeatAnswer, type RunProgress, WorkItem } from "@mesh/proto";
import { openStore, type Store } from "@mesh/store";
import { testDatabase } from "@mesh/store/testing";

import { createHeartbeats } from "../../membership/heartbeats.ts";
import { Dispatcher } from "../dispatcher.ts";
import { EventTail } from "../event-tail.ts";
import { createIngest } from "../ingest.ts";
import { PenaltyBox } from "../penalty-box.ts";
import type { RunDraft } from "../run-draft.ts";
import type { StoredRequirements } from "../run-row.ts";
import { createSweeper } from "../sweeper.ts";
import { WorkPublisher } from "../work-publisher.ts";

/** A scripted node. */
export interface ScriptedNode {
  readonly id: string;
  readonly digest: string;
  readonly name: string;
  /** Work received so far. */
  readonly work: WorkItem[];
  beat(runs?: readonly RunProgress[], goodbye?: boolean): Promise<HeartbeatAnswer>;
  send(
    run: { readonly run_id: string; readonly epoch: number },
    firstN: number,
    events: readonly { kind: string; body: object; delta_of?: string }[],
  ): Promise<void>;
}

/** Everything under test. */
export interface RunCore extends AsyncDisposable {
  readonly store: Store;
  readonly hub: MemoryHub;
  /** The coordinator's connection. */
  readonly bus: MemoryBus;
  readonly admin: BusAdmin;
  readonly dispatcher: Dispatcher;
  readonly tail: EventTail;
  readonly workspaceId: string;
  addNode(
    name: string,
    over?: { slots?: number; labels?: Record<string, string>; silent?: boolean },
  ): Promise<ScriptedNode>;
  draft(over?: Partial<RunDraft>): RunDraft;
  state(runId: string): Promise<string>;
}

/** Nothing demanded. */
export const ANYWHERE: StoredRequirements = { node_id: "", node: "", labels: {}, os: "", arch: "", tools: [] };

/** What a test may want different. */
export interface RunCoreOptions {
  readonly sweep?: boolean;
  /** Of the sweeper. */
  readonly clock?: Clock;
  readonly graceMs?: number;
  readonly endDrains?: () => Promise<void>;
  readonly dropEndedMemory?: () => Promise<unknown>;
}

/** Starts the core; dispose stops it. */
export async function startRunCore(options: RunCoreOptions = {}): Promise<RunCore> {
  const database = await testDatabase();
  const store = openStore({ url: database.url });
  const hub = memoryBus();
  const bus = hub.connect();
  await hub.admin.ensureStreams();
  await hub.admin.ensureIngestConsumer();
  const ids = systemIds();
  const workspaceId = ids.next("ws");
  await store.sql`INSERT INTO workspaces (id, name) VALUES (${workspaceId}, 'w')`;
  await store.sql`INSERT INTO bundles (digest, bytes, size_bytes) VALUES ('d', ''::bytea, 0)`;
  const tail = new EventTail({ store, bus, clock: systemClock, log: silentLogger, replicaId: "r1" });
  const penalties = new PenaltyBox(systemClock);
  const committed = (runIds: readonly string[]): void => tail.committed(runIds);
  const work = new WorkPublisher({ bus, store, log: silentLogger });
  const dispatcher = new Dispatcher({
    store,
    work,
    clock: systemClock,
    log: silentLogger,
    penalized: (id) => penalties.has(id),
    committed,
  });
  const poke = (): void => dispatcher.poke();
  const group = new RunGroup()
    .add(tail)
    .add(dispatcher)
    .add(
      createIngest({
        bus,
        store,
        log: createLogger({ name: "test", level: "warn" }),
        committed,
        slotsFreed: poke,
        onMissing: async () => undefined,
        counted: () => undefined,
      }),
    )
    .add(createHeartbeats({ bus, store, clock: systemClock, log: silentLogger, fleetChanged: poke, committed }));
  if (options.sweep === true) {
    group.add(
      createSweeper({
        store,
        bus,
        admin: hub.admin,
        work,
        clock: options.clock ?? systemClock,
        log: silentLogger,
        isLeader: () => true,
        graceMs: options.graceMs ?? 0,
        deltaRetentionMs: 0,
        committed,
        pokeQueue: poke,
        penalize: (id) => penalties.add(id),
        endDrains: options.endDrains ?? (async () => undefined),
        dropEndedMemory: options.dropEndedMemory ?? (async () => 0),
      }),
    );
  }
  const stop = new AbortController();
  const running = group.run(stop.signal);

  return {
    store,
    hub,
    bus,
    admin: hub.admin,
    dispatcher,
    tail,
    workspaceId,
    draft: (over = {}) => ({
      id: ids.next("run"),
      workspaceId,
      assistantId: "hello",
      appId: "app",
      appName: "demo",
      appVersion: 1,
      bundleDigest: "d",
      input: "hi",
      options: {},
      metadata: {},
      requirements: ANYWHERE,
      onLost: "hold",
      priority: 0,
      timeoutMs: 60_000,
      queueTtlMs: 60_000,
      retryOf: undefined,
      createdBy: "user:test",
      idempotencyKey: "",
      ...over,
    }),
    async state(runId) {
      const rows = await store.sql<{ state: string }[]>`SELECT state FROM runs WHERE id = ${runId}`;
      return rows[0]?.state ?? "absent";
    },
    async addNode(name, over = {}) {
      const digest = nodeDigest(name);
      const id = ids.next("node");
      await store.sql`INSERT INTO nodes (id, digest, nkey, name, slots, labels) VALUES (${id}, ${digest}, ${name}, ${name}, ${over.slots ?? 4}, ${store.sql.json(over.labels ?? {})})`;
      await hub.admin.ensureWorkConsumer(digest, over.slots ?? 4);
      const link = hub.connect();
      const received: WorkItem[] = [];
      const consumer = link.consumer(
        { stream: "WORK", durable: workDurable(digest) },
        async (messages) => {
          for (const message of messages) {
            received.push(WorkItem.decode(message.data));
            message.ack();
          }
        },
        { maxBatch: 10 },
      );
      if (over.silent !== true) void consumer.run(stop.signal);
      let hbSeq = 0;
      const node: ScriptedNode = {
        id,
        digest,
        name,
        work: received,
        async beat(runs = [], goodbye = false) {
          hbSeq += 1;
          const beat = Heartbeat.fromPartial({
            boot_id: "b",
            hb_seq: hbSeq,
            protocol: 1,
            slots: 4,
            runs: [...runs],
            goodbye,
          });
          return HeartbeatAnswer.decode(
            await link.request(subjects.heartbeat(digest), Heartbeat.encode(beat).finish(), { timeoutMs: 5000 }),
          );
        },
        async send(run, firstN, events) {
          const batch = EventBatch.fromPartial({
            run_id: run.run_id,
            epoch: run.epoch,
            events: events.map((event, i) => ({
              n: firstN + i,
              at_ms: Date.now(),
              kind: event.kind,
              body: JSON.stringify(event.body),
              delta_of: event.delta_of ?? "",
            })),
          });
          const ulid = run.run_id.slice(4);
          await link.publishStream(subjects.events(digest, ulid), EventBatch.encode(batch).finish(), {
            msgId: `${ulid}:${run.epoch}:${firstN}:${Math.random()}`,
          });
        },
      };
      await node.beat();
      return node;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await bus.close();
      await store.close();
      await database.drop();
    },
  };
}

/** The first work item for a run. */
export function workFor(node: ScriptedNode, runId: string): Promise<WorkItem> {
  return until(() => node.work.find((item) => item.run_id === runId), { what: `work ${runId} on ${node.name}` });
}
