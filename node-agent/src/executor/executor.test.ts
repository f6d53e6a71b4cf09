/** Executor, sender and journal together against a scripted coordinator, with a scripted runner. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { nodeDigest, STREAM, subjects, workDurable } from "@mesh/bus";
import { type MemoryBus, memoryBus } from "@mesh/bus/testing";
import { MeshError, systemClock, until } from "@mesh/kernel";
import { sequentialIds } from "@mesh/kernel/testing";
import type { Resume } from "@mesh/runtime";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Journal } from "../journal/journal.ts";
import { executeCommand } from "../link/command.ts";
import { silentLog } from "../log.ts";
import type { RunJob } from "../runner/protocol.ts";
import type { RunListener } from "../runner/runner-process.ts";
import { Sender } from "../sender/sender.ts";
import { CoordinatorStub } from "../testing/coordinator-stub.ts";
import { Executor } from "./executor.ts";

interface Started {
  readonly job: RunJob;
  readonly listener: RunListener;
  isCancelled: boolean;
  /** What people said to it. */
  readonly said: string[];
}

const ids = sequentialIds();
const digest = nodeDigest("test");
let dir: string;
let stub: CoordinatorStub;
let nodeBus: MemoryBus;
let node: Node;

interface Node {
  readonly journal: Journal;
  readonly sender: Sender;
  readonly executor: Executor;
  readonly started: Started[];
  /** As kill -9: the files stay as they are. */
  stop(): Promise<void>;
}

/** Runs that another device has by now. */
let taken: Set<string>;
let isCertain: boolean;
/** What runs that waited go on from. */
let states: Map<string, Resume>;

async function startNode(slots = 2): Promise<Node> {
  const journal = await Journal.open({ dir, clock: systemClock, log: silentLog });
  const sender = new Sender({ journal, clock: systemClock, log: silentLog, digest });
  const started: Started[] = [];
  const executor = new Executor(
    {
      journal,
      runners: {
        warm: () => undefined,
        stop: async () => undefined,
        run: (job, listener) => {
          if ("batch" in job) throw new Error("no evals here");
          const run: Started = { job, listener, isCancelled: false, said: [] };
          started.push(run);
          const cancel = (): void => {
            run.isCancelled = true;
          };
          return { cancel, abandon: cancel, steer: (message) => void run.said.push(message.text) };
        },
      },
      clock: systemClock,
      log: silentLog,
      env: { OPENAI_HOST: "h" },
      bundlePath: async () => "/bundle",
      workspaceDir: (id) => `/workspaces/${id}`,
      secrets: async (run) => {
        if (taken.has(run.runId)) throw new MeshError("failed_precondition", "this device does not hold the run");
        return stub.secrets;
      },
      savedState: async (run) => {
        const saved = states.get(run.runId);
        if (saved === undefined) throw new MeshError("failed_precondition", "this device does not hold the run");
        return saved;
      },
      evalBatch: () => Promise.reject(new MeshError("unimplemented", "no evals here")),
      askPermit: () => Promise.reject(new MeshError("unimplemented", "no evals here")),
      scratchDir: (id) => `/evals/${id}`,
      askState: (_run, { args }) => Promise.resolve([...args]),
      isCertain: () => isCertain,
      changed: () => undefined,
      began: () => undefined,
      ended: () => undefined,
    },
    slots,
  );
  executor.recover();
  const targets = {
    cancel: executor.cancel.bind(executor),
    steer: executor.steer.bind(executor),
    drop: executor.drop.bind(executor),
    committed: (key: { runId: string; epoch: number }, n: number, hasEnded: boolean): void => {
      const run = journal.run(key);
      if (run !== undefined) journal.committed(run, n, hasEnded);
    },
    resend: sender.resend.bind(sender),
    setDraining: (isDraining: boolean): void => executor.setPolicy({ slots: 0, isDraining }),
    handBack: executor.handBack.bind(executor),
    beat: (): void => undefined,
    file: () => Promise.reject(new MeshError("unimplemented", "no files here")),
  };
  const commands = nodeBus.serve(subjects.command(digest), async (data) => executeCommand(targets, data));
  const stop = new AbortController();
  const ref = { stream: STREAM.work, durable: workDurable(digest) };
  const work = nodeBus.consumer(ref, (messages) => executor.accept(messages), { maxBatch: 4 }).run(stop.signal);
  sender.connected(nodeBus);
  return {
    journal,
    sender,
    executor,
    started,
    stop: async () => {
      stop.abort();
      commands.stop();
      await work;
      sender.close();
      await journal.close();
    },
  };
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-executor-"));
  const hub = memoryBus();
  nodeBus = hub.connect();
  taken = new Set();
  isCertain = true;
  states = new Map();
  stub = new CoordinatorStub({ bus: hub.connect(), admin: hub.admin, digest });
  await stub.start();
  node = await startNode();
});
afterEach(async () => {
  await node.stop();
  await stub.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function running(index: number): Promise<Started> {
  return await until(() => node.started[index], { what: `run ${index} to reach the runner` });
}

test("work that waited while the device was away is dropped when another device has it by now", async () => {
  isCertain = false;
  const [stale, own] = [ids.next("run"), ids.next("run")];
  taken.add(stale);
  await stub.work({ run_id: stale, input: "stale" });
  await stub.work({ run_id: own, input: "own" });
  const { job } = await running(0);
  expect(job.runId).toBe(own);
  await until(() => node.journal.runs().length === 1, { what: "the stale run to be forgotten" });
  expect(node.started).toHaveLength(1);
  expect(stub.kinds(stale)).not.toContain("run.finished");
});

test("a run goes from its work item to its terminal event, with its secrets", async () => {
  const run_id = ids.next("run");
  stub.secrets = { keys: { "openai.x": "key" }, env: { REGION: "eu" } };
  const connectors_json = JSON.stringify({ "openai.x": { type: "openai", model: "m" } });
  await stub.work({ run_id, input: "hi", needs_secrets: true, connectors_json });
  const { job, listener } = await running(0);
  expect(job).toMatchObject({
    input: "hi",
    connectors: { "openai.x": { type: "openai", model: "m", key: "key" } },
    env: { OPENAI_HOST: "h", REGION: "eu" },
  });
  listener.started();
  listener.message({ type: "text", props: { content: "hello" }, message_id: "M1" });
  listener.ended({ state: "succeeded", output: "hello" });
  expect(await stub.end(run_id)).toMatchObject({ state: "succeeded", output: "hello" });
  expect(stub.kinds(run_id)).toEqual(["run.accepted", "run.started", "message", "run.finished"]);
  await until(() => node.journal.runs().length === 0, { what: "the journal to forget the run" });
  expect(node.executor.slotsUsed).toBe(0);
});

test("X1 a work item delivered again, before or after its end, starts nothing", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const first = await running(0);
  await stub.work({ run_id }, "copy");
  first.listener.ended({ state: "succeeded", output: "" });
  await stub.end(run_id);
  await stub.work({ run_id }, "another copy");
  const other = ids.next("run");
  await stub.work({ run_id: other });
  expect((await running(1)).job.runId).toBe(other);
});

test("X2 a full node leaves work in the stream and takes it when a slot is free; a draining node takes none", async () => {
  const runs = [ids.next("run"), ids.next("run"), ids.next("run")];
  for (const run_id of runs) await stub.work({ run_id });
  await running(1);
  expect(node.executor.slotsUsed).toBe(2);
  node.started[0]!.listener.ended({ state: "succeeded", output: "" });
  const third = await running(2);
  for (const started of [node.started[1]!, third]) started.listener.ended({ state: "succeeded", output: "" });
  node.executor.setPolicy({ slots: 2, isDraining: true });
  const late = ids.next("run");
  await stub.work({ run_id: late });
  node.executor.setPolicy({ slots: 2, isDraining: false });
  await until(() => node.started.length === 4, { what: "the late run" });
});

test("X3 a newer epoch ends the older one without a word", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id, epoch: 1 });
  const old = await running(0);
  await stub.work({ run_id, epoch: 2 });
  const renewed = await running(1);
  expect([old.isCancelled, renewed.job.epoch]).toEqual([true, 2]);
  old.listener.ended({ state: "succeeded", output: "late" });
  renewed.listener.ended({ state: "succeeded", output: "" });
  await stub.end(run_id, 2);
  expect(stub.kinds(run_id, 1)).not.toContain("run.finished");
});

test("E1 commands: cancel, drop, hand back, and repeating them", async () => {
  const runs = [ids.next("run"), ids.next("run")];
  for (const run_id of runs) await stub.work({ run_id });
  await running(1);
  const byId = (run_id: string): Started => node.started.find((item) => item.job.runId === run_id)!;
  const cancel = { $case: "cancel", value: { run_id: runs[0]!, epoch: 1, why: "user" } } as const;
  stub.command(cancel);
  stub.command(cancel);
  await until(() => byId(runs[0]!).isCancelled, { what: "the cancel to reach the runner" });
  byId(runs[0]!).listener.ended({ state: "cancelled" });
  expect(await stub.end(runs[0]!)).toMatchObject({ state: "cancelled" });
  stub.command(cancel);
  stub.command({ $case: "drain", value: { draining: true, hand_back: true } });
  expect(await stub.end(runs[1]!)).toMatchObject({ state: "failed", error: { code: "handed_back" } });
  expect(byId(runs[1]!).isCancelled).toBe(true);
});

test("a cancel that overtakes its work item is remembered", async () => {
  const run_id = ids.next("run");
  stub.command({ $case: "cancel", value: { run_id, epoch: 1, why: "user" } });
  await new Promise((resolve) => setImmediate(resolve));
  await stub.work({ run_id });
  expect(await stub.end(run_id)).toMatchObject({ state: "cancelled" });
  expect(node.started).toHaveLength(0);
});

test("a dropped run leaves nothing behind", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const run = await running(0);
  node.executor.drop({ runId: run_id, epoch: 1 });
  expect([run.isCancelled, node.executor.slotsUsed, node.journal.runs().length]).toEqual([true, 0, 0]);
  run.listener.message({ type: "text", props: { content: "late" } });
  run.listener.ended({ state: "succeeded", output: "" });
  expect(stub.kinds(run_id)).not.toContain("run.finished");
});

test("E2 a time-out and a crash end the run with their own codes", async () => {
  const [slow, crashing] = [ids.next("run"), ids.next("run")];
  await stub.work({ run_id: slow, timeout_ms: 100 });
  expect(await stub.end(slow)).toMatchObject({ state: "failed", error: { code: "timeout" } });
  await stub.work({ run_id: crashing });
  (await running(1)).listener.crashed("the runner process was killed by SIGKILL");
  expect(await stub.end(crashing)).toMatchObject({ state: "failed", error: { code: "runner_crashed" } });
});

test("a work item that makes no sense fails its run with a reason", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id, options_json: "[1]" });
  expect(await stub.end(run_id)).toMatchObject({ state: "failed", error: { code: "invalid_argument" } });
});

test("S1 S3 events written while disconnected arrive once, in order, after the connection is back", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const { listener } = await running(0);
  await until(() => stub.kinds(run_id).length === 1, { what: "the first event" });
  nodeBus.cut();
  for (let i = 0; i < 200; i += 1) listener.message({ type: "text", props: { content: `${i}` }, message_id: `M${i}` });
  listener.ended({ state: "succeeded", output: "" });
  await until(() => node.journal.runs()[0]?.releasedN === 202, { what: "the journal" });
  nodeBus.heal();
  node.sender.connected(nodeBus);
  await stub.end(run_id);
  expect(stub.run(run_id).events.map((event) => event.n)).toEqual(Array.from({ length: 202 }, (_, i) => i + 1));
});

test("S3 events the stream took but the coordinator lost are sent again on its word", async () => {
  const run_id = ids.next("run");
  stub.isDeaf = true;
  await stub.work({ run_id });
  const { listener } = await running(0);
  listener.ended({ state: "succeeded", output: "" });
  await until(() => node.journal.runs()[0]?.releasedN === 2, { what: "the journal" });
  stub.isDeaf = false;
  await until(
    () => {
      stub.command({ $case: "resend", value: { run_id, epoch: 1, from_n: 1 } });
      return stub.kinds(run_id).includes("run.finished");
    },
    { what: "the events", everyMs: 50 },
  );
});

test("a restart ends what was in progress and sends what was not sent", async () => {
  const [open, done] = [ids.next("run"), ids.next("run")];
  await stub.work({ run_id: open });
  await stub.work({ run_id: done });
  await running(1);
  nodeBus.cut();
  node.started.find((item) => item.job.runId === done)!.listener.ended({ state: "succeeded", output: "kept" });
  await until(() => node.journal.runs().some((run) => run.terminalN > 0 && run.releasedN === run.terminalN), {
    what: "the end on disk",
  });
  await node.stop();
  nodeBus.heal();
  node = await startNode();
  expect(await stub.end(open)).toMatchObject({ state: "failed", error: { code: "node_restarted" } });
  expect(await stub.end(done)).toMatchObject({ state: "succeeded", output: "kept" });
  await until(() => node.journal.runs().length === 0, { what: "the journal to be empty" });
});

/** Lets a run wait and returns its item for the next epoch. */
async function askedRun(
  run_id: string,
): Promise<{ readonly run_id: string; readonly epoch: number; readonly resume: boolean }> {
  await stub.work({ run_id });
  const { listener } = await running(0);
  listener.started();
  listener.message({ type: "text", props: { content: "hm" }, message_id: "M1" });
  listener.state('{"a');
  listener.state('":1}');
  listener.ended({ state: "waiting", pending: [ITEM] });
  return { run_id, epoch: 2, resume: true };
}

const ITEM = { id: "c", kind: "approval", tool: "bash", arguments: {}, text: "bash needs your approval" } as const;

test("E1 a run that waits ends here with its state before its end, frees its slot, and goes on in a later epoch", async () => {
  const run_id = ids.next("run");
  const next = await askedRun(run_id);
  await until(() => node.journal.runs().length === 0, { what: "the journal to forget the epoch" });
  expect(node.executor.slotsUsed).toBe(0);
  expect(stub.kinds(run_id)).toEqual(["run.accepted", "run.started", "message", "run.state", "run.state", "run.asked"]);
  const { events } = stub.run(run_id);
  expect(events.slice(3, 5).map((event) => event.body)).toEqual(['{"a', '":1}']);
  expect(JSON.parse(events.at(-1)?.body ?? "")).toEqual({ pending: [ITEM], duration_ms: expect.any(Number) });
  const saved = { state: '{"a":1}', answers: [{ call_id: "c", decision: "approve" }] };
  states.set(run_id, saved);
  await stub.work(next);
  const { job, listener } = await running(1);
  expect(job).toMatchObject({ runId: run_id, epoch: 2, resume: saved });
  listener.ended({ state: "succeeded", output: "ok" });
  expect(await stub.end(run_id, 2)).toMatchObject({ state: "succeeded" });
});

test("a run that waits and a restart before that was sent: it is sent, and the run does not fail", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const { listener } = await running(0);
  nodeBus.cut();
  listener.state("x");
  listener.ended({ state: "waiting", pending: [ITEM] });
  await until(() => node.journal.runs().some((run) => run.terminalN > 0 && run.releasedN === run.terminalN), {
    what: "the question on disk",
  });
  await node.stop();
  nodeBus.heal();
  node = await startNode();
  await until(() => node.journal.runs().length === 0, { what: "the journal to be empty" });
  expect(stub.kinds(run_id)).toEqual(["run.accepted", "run.state", "run.asked"]);
});

test("a run whose state is written only in part when the agent dies fails like any other", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const { listener } = await running(0);
  listener.state("half");
  await until(() => stub.kinds(run_id).includes("run.state"), { what: "half a state" });
  await node.stop();
  node = await startNode();
  expect(await stub.end(run_id)).toMatchObject({ state: "failed", error: { code: "node_restarted" } });
  expect(stub.kinds(run_id)).not.toContain("run.asked");
});

test("a cancel that comes as the run begins to wait ends it", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id });
  const run = await running(0);
  stub.command({ $case: "cancel", value: { run_id, epoch: 1, why: "user" } });
  await until(() => run.isCancelled, { what: "the cancel to reach the runner" });
  run.listener.ended({ state: "waiting", pending: [ITEM] });
  expect(await stub.end(run_id)).toMatchObject({ state: "cancelled" });
});

test("a run that goes on by now elsewhere is dropped here without a word", async () => {
  const run_id = ids.next("run");
  await stub.work({ run_id, epoch: 2, resume: true });
  await until(() => stub.kinds(run_id, 2).includes("run.accepted"), { what: "the run to be accepted" });
  await until(() => node.journal.runs().length === 0, { what: "the run to be dropped" });
  expect(node.started).toHaveLength(0);
});
