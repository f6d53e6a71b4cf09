/** The whole agent against a real nats-server and a scripted coordinator. */

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { type TestNats, testNats } from "@mesh/bus/testing";
import { until } from "@mesh/kernel";
import { sequentialIds } from "@mesh/kernel/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";

import { SMALL_HEAP_FLAGS } from "./heap-flags.ts";
import { AgentRig, childrenOf, isAlive, kill } from "./testing/agent-rig.ts";
import type { CoordinatorStub } from "./testing/coordinator-stub.ts";

const ids = sequentialIds();
let nats: TestNats;
let rig: AgentRig;
let stub: CoordinatorStub;
let bundle: string;

beforeAll(async () => {
  nats = await testNats();
});
afterAll(async () => {
  await nats.stop();
});
beforeEach(async () => {
  rig = await AgentRig.open(nats);
  ({ stub } = rig);
  bundle = stub.addBundle(bundleApp(await readAppDirectory(demoAppDirectory)).bytes);
});
afterEach(async () => {
  await rig[Symbol.asyncDispose]();
});

test("a run is executed and its events arrive once and in order", async () => {
  await rig.start();
  const run_id = ids.next("run");
  await stub.work({ run_id, bundle_digest: bundle, input: "/count 20" });
  const end = await stub.end(run_id);
  expect(end).toMatchObject({ state: "succeeded" });
  const kinds = stub.kinds(run_id);
  expect(kinds.slice(0, 2)).toEqual(["run.accepted", "run.started"]);
  expect(kinds.at(-1)).toBe("run.finished");
  expect(kinds.filter((kind) => kind === "message").length).toBeGreaterThan(3);
});

test("a run in progress fails as node_restarted after kill -9 of the agent, with everything before it kept", async () => {
  const agent = await rig.start();
  const run_id = ids.next("run");
  await stub.work({ run_id, bundle_digest: bundle, input: "/slow 60s" });
  await until(() => stub.kinds(run_id).filter((kind) => kind === "message").length > 5, { what: "output" });
  const runners = childrenOf(agent);
  expect(runners.length).toBeGreaterThan(0);
  await kill(agent, "SIGKILL");
  await until(() => runners.every((pid) => !isAlive(pid)), { what: "the runner to end with its agent" });
  await rig.start();
  const end = await stub.end(run_id);
  expect(end).toMatchObject({ state: "failed", error: { code: "node_restarted" } });
  await stub.work({ run_id, bundle_digest: bundle, input: "/noop" }, "again");
  const other = ids.next("run");
  await stub.work({ run_id: other, bundle_digest: bundle, input: "/noop" });
  expect(await stub.end(other)).toMatchObject({ state: "succeeded" });
  expect(stub.kinds(run_id).filter((kind) => kind === "run.accepted")).toHaveLength(1);
});

test("kill -9 of a runner fails its run as runner_crashed and the next run gets a fresh one", async () => {
  const agent = await rig.start();
  const run_id = ids.next("run");
  await stub.work({ run_id, bundle_digest: bundle, input: "/slow 60s" });
  await until(() => stub.kinds(run_id).includes("run.started"), { what: "the run to start" });
  for (const pid of childrenOf(agent)) process.kill(pid, "SIGKILL");
  const end = await stub.end(run_id);
  expect(end).toMatchObject({ state: "failed", error: { code: "runner_crashed" } });
  expect(JSON.stringify(end)).toContain("SIGKILL");
  const next = ids.next("run");
  await stub.work({ run_id: next, bundle_digest: bundle, input: "/noop" });
  expect(await stub.end(next)).toMatchObject({ state: "succeeded" });
});

test("cancel stops a run; its time-out does too", async () => {
  await rig.start();
  const [cancelled, late] = [ids.next("run"), ids.next("run")];
  await stub.work({ run_id: cancelled, bundle_digest: bundle, input: "/slow 60s" });
  await stub.work({ run_id: late, bundle_digest: bundle, input: "/slow 60s", timeout_ms: 700 });
  await until(() => stub.kinds(cancelled).includes("run.started"), { what: "the run to start" });
  stub.command({ $case: "cancel", value: { run_id: cancelled, epoch: 1, why: "user" } });
  expect(await stub.end(cancelled)).toMatchObject({ state: "cancelled" });
  expect(await stub.end(late)).toMatchObject({ state: "failed", error: { code: "timeout" } });
});

test("SIGTERM ends runs, sends what is left, says goodbye and exits with 0", async () => {
  const agent = await rig.start();
  const run_id = ids.next("run");
  await stub.work({ run_id, bundle_digest: bundle, input: "/slow 60s" });
  await until(() => stub.kinds(run_id).includes("run.started"), { what: "the run to start" });
  expect(await kill(agent, "SIGTERM")).toBe(0);
  expect(await stub.end(run_id)).toMatchObject({ state: "failed", error: { code: "node_stopped" } });
  expect(stub.beats.at(-1)?.goodbye).toBe(true);
});

test("heartbeats go on while the main thread is stuck", async () => {
  const agent = await rig.start({}, "blocked-agent");
  await until(() => stub.beats.length > 2, { what: "heartbeats" });
  const before = stub.beats.length;
  agent.send({ blockMs: 3_000 });
  const stuck = await until(() => stub.beats.find((beat) => beat.loop_lag_ms > 2_000), {
    what: "a beat that tells of the lag",
  });
  // How many depends on the machine; none would come from the main thread.
  expect(stub.beats.indexOf(stuck) - before).toBeGreaterThan(2);
  await until(() => (stub.beats.at(-1)?.loop_lag_ms ?? 9_999) < 1_500, { what: "the lag to end" });
});

test("a removed node ends with exit code 77", async () => {
  const agent = await rig.start();
  stub.refused = "removed";
  const code = await new Promise((resolve) => agent.once("exit", resolve));
  expect(code).toBe(77);
});

test("after the server was killed and its store deleted, uncommitted events are sent again", async () => {
  await rig.start();
  const run_id = ids.next("run");
  await stub.work({ run_id, bundle_digest: bundle, input: "/count 100 every 50ms" });
  await until(() => stub.kinds(run_id).length > 5, { what: "output" });
  await nats.restart(() => rmSync(join(nats.dataDir, "jetstream"), { recursive: true, force: true }));
  await until(
    async () =>
      stub.start().then(
        () => true,
        () => false,
      ),
    { what: "the streams", timeoutMs: 20_000 },
  );
  expect(await stub.end(run_id, 1, 30_000)).toMatchObject({ state: "succeeded" });
}, 60_000);

const built = join(import.meta.dirname, "../dist/main.js");

test.skipIf(!existsSync(built))("the built agent starts work within milliseconds and is small when idle", async () => {
  const agent = await rig.launch([...SMALL_HEAP_FLAGS, built]);
  const latencies: number[] = [];
  for (let i = 0; i < 60; i += 1) {
    const run_id = ids.next("run");
    const startedMs = performance.now();
    await stub.work({ run_id, bundle_digest: bundle, input: "/noop" });
    await until(() => stub.kinds(run_id).length > 0, { what: "the first event", everyMs: 1 });
    latencies.push(performance.now() - startedMs);
    await stub.end(run_id);
  }
  const sorted = latencies.slice(10).toSorted((a, b) => a - b);
  console.log(
    `work published to first event stored: p50 ${sorted[25]?.toFixed(1)} ms, max ${sorted.at(-1)?.toFixed(1)} ms`,
  );
  await kill(agent, "SIGTERM");
  const idle = await rig.launch([...SMALL_HEAP_FLAGS, built]);
  const before = stub.beats.length;
  await until(() => stub.beats.length > before + 20, { what: "heartbeats" });
  const status = readFileSync(`/proc/${idle.pid}/status`, "utf8");
  const rssMb = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  console.log(`idle agent: ${rssMb.toFixed(0)} MB RSS`);
  expect(rssMb).toBeLessThan(100);
});
