/** A run that is a batch of an eval, with a scripted runner. */

import { MeshError, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { WorkItem } from "@mesh/proto/wire";
import { beforeEach, expect, test } from "vitest";

import { RunLog } from "../journal/run-log.ts";
import { silentLog } from "../log.ts";
import type { Job } from "../runner/protocol.ts";
import type { RunListener } from "../runner/runner-process.ts";
import { RunSession, type SessionDeps } from "./run-session.ts";

const ITEM: WorkItem = {
  ...WorkItem.decode(new Uint8Array()),
  run_id: "run_1",
  epoch: 1,
  workspace_id: "ws_1",
  assistant_id: "echo",
  bundle_digest: "d",
  connectors_json: '{"own":{"type":"openai"}}',
  needs_secrets: true,
  timeout_ms: 10_000,
  eval: true,
};

let events: { readonly kind: string; readonly body: string }[];
let started: { readonly job: Job; readonly listener: RunListener; isAbandoned: boolean }[];
let lost: number;
let clock: FakeClock;

beforeEach(() => {
  events = [];
  started = [];
  lost = 0;
  clock = new FakeClock();
});

function begin(more: Partial<SessionDeps> = {}): RunSession {
  const session = new RunSession(new RunLog({ runId: "run_1", epoch: 1 }, ITEM), {
    journal: { append: (_run, event) => events.push(event) },
    runners: {
      run: (job, listener) => {
        const run = { job, listener, isAbandoned: false };
        started.push(run);
        return { cancel: () => undefined, abandon: () => void (run.isAbandoned = true) };
      },
    },
    clock,
    log: silentLog,
    env: { OPENAI_HOST: "h" },
    bundlePath: () => Promise.resolve("/bundle"),
    secrets: () => Promise.resolve({ keys: { own: "key" }, env: { REGION: "eu" } }),
    savedState: () => Promise.reject(new MeshError("internal", "nothing was saved")),
    evalBatch: () => Promise.resolve('{"phase":"units"}'),
    askPermit: (_run, { calls }) => Promise.resolve({ granted: calls, waitMs: 0 }),
    askState: () => Promise.reject(new MeshError("internal", "an eval has no state")),
    workspaceDir: (id) => `/workspaces/${id}`,
    scratchDir: (id) => `/evals/${id}`,
    isCertain: () => true,
    lost: () => (lost += 1),
    over: () => undefined,
    ...more,
  });
  session.begin();
  return session;
}

const reached = (): Promise<(typeof started)[number]> =>
  until(() => started[0], { what: "the batch to reach a runner" });
const kinds = (): readonly string[] => events.map(({ kind }) => kind);

test("a batch reaches its runner with connectors and secrets, and no folder of the workspace", async () => {
  begin();
  const { job, listener } = await reached();
  expect(job).toEqual({
    runId: "run_1",
    epoch: 1,
    workspaceId: "ws_1",
    connectors: { own: { type: "openai", key: "key" } },
    env: { OPENAI_HOST: "h", REGION: "eu" },
    bundleDigest: "d",
    bundlePath: "/bundle",
    batch: '{"phase":"units"}',
    scratchDir: "/evals/ws_1",
  });
  listener.started();
  listener.event({ kind: "eval.result", body: '{"ordinal":0}' });
  listener.ended({ state: "succeeded", output: "" });
  listener.event({ kind: "eval.result", body: '{"ordinal":1}' });
  expect(kinds()).toEqual(["run.started", "eval.result", "run.finished"]);
  expect(events[1]?.body).toBe('{"ordinal":0}');
});

test("whether a model may be called is answered, also when it could not be asked", async () => {
  const failing = new MeshError("unavailable", "nobody there");
  begin({
    askPermit: (_run, { calls }) => (calls > 1 ? Promise.reject(failing) : Promise.resolve({ granted: 1, waitMs: 0 })),
  });
  const { listener } = await reached();
  const question = { provider: "host", slowDownMs: 0 };
  expect(await listener.permit({ ...question, calls: 1 })).toEqual({ result: { granted: 1, waitMs: 0 } });
  expect(await listener.permit({ ...question, calls: 2 })).toEqual({
    error: { code: "unavailable", message: "nobody there" },
  });
});

test("an event that no message of the bus holds ends the batch", async () => {
  begin();
  const run = await reached();
  run.listener.event({ kind: "eval.result", body: "x".repeat(256 * 1024 + 1) });
  expect(kinds()).toEqual(["run.finished"]);
  expect(JSON.parse(events[0]?.body ?? "")).toMatchObject({ state: "failed", error: { code: "resource_exhausted" } });
  expect(run.isAbandoned).toBe(true);
});

test("a batch that another device has by now is dropped without a word; one that cannot be had fails", async () => {
  begin({ evalBatch: () => Promise.reject(new MeshError("failed_precondition", "this device does not hold it")) });
  await until(() => lost === 1, { what: "the batch to be dropped" });
  expect([started.length, kinds()]).toEqual([0, []]);
  begin({ evalBatch: () => Promise.reject(new MeshError("resource_exhausted", "too large")) });
  await until(() => events.length === 1, { what: "the end" });
  expect(events[0]?.body).toContain("too large");
});

test("a batch ends at its time-out with the results it gave", async () => {
  begin();
  const { listener } = await reached();
  listener.event({ kind: "eval.result", body: "{}" });
  await clock.advance(10_000);
  expect(kinds()).toEqual(["eval.result", "run.finished"]);
  expect(events[1]?.body).toContain('"timeout"');
});
