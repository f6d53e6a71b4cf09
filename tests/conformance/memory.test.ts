/** What the coordinator's memory does under many requests, and under a reader that takes nothing. */

import { connect, type Socket } from "node:net";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { openStore } from "@mesh/store";
import { afterAll, beforeAll, expect, test } from "vitest";

import { InspectedProcess, INSPECTED } from "../harness/inspected.ts";
import { TestMesh } from "../harness/test-mesh.ts";

const REQUESTS = 5000;
const WARM_UP = 3000;
const AT_ONCE = 16;

let mesh: TestMesh;
let inside: InspectedProcess;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha", slots: 8 }], env: { ...INSPECTED } });
  await mesh.pushApp("demo", demoAppDirectory);
  const [coordinator] = mesh.coordinators;
  if (coordinator === undefined) throw new Error("no coordinator");
  inside = await InspectedProcess.open(coordinator);
});

afterAll(async () => {
  await inside?.[Symbol.asyncDispose]();
  await mesh?.stop();
});

/** One of a mix of what a busy page and its programs ask, by number. */
async function ask(n: number, task: string): Promise<void> {
  const { api } = mesh;
  const home = "/v1/workspaces/default";
  switch (n % 10) {
    case 0:
      await api.call("POST", `${home}/tasks`, { title: `Soak ${n}`, message: "hi", assistant: "hello" });
      break;
    case 1:
      await api.call("PATCH", `/v1/tasks/${task}`, { priority: n % 20 === 1 ? "high" : "low" });
      break;
    case 2:
      // Saving what is saved already: the complaint that this test stands for.
      await api.call("PATCH", "/v1/account", { preferences_json: '{"letters":true}' });
      break;
    case 3:
      await api.call("GET", `${home}/feed?limit=20`);
      break;
    case 4:
      await api.call("GET", `${home}/tasks?limit=20`);
      break;
    case 5:
      await api.call("GET", `/v1/tasks/${task}`);
      break;
    case 6:
      await api.call("GET", "/v1/inbox");
      break;
    case 7:
      await api.call("GET", `${home}/documents`);
      break;
    case 8: {
      const headers = { accept: "text/event-stream", authorization: `Bearer ${api.token}` };
      const stream = await fetch(`${api.url}${home}/feed`, { headers });
      await stream.body?.cancel();
      break;
    }
    default:
      await api.call("GET", "/v1/nodes");
  }
}

async function askAll(from: number, count: number, task: string): Promise<void> {
  let next = from;
  const worker = async (): Promise<void> => {
    while (next < from + count) {
      const n = next;
      next += 1;
      await ask(n, task);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

const openStreams = async (): Promise<number> => {
  const text = await (await fetch(`${mesh.api.url}/metrics`)).text();
  return Number(/^yao_open_streams (\d+)/m.exec(text)?.[1]);
};

test("5,000 mixed requests leave the memory within 10 % of what it was after the warm-up", async () => {
  const body = { title: "Soaked", message: "hi", assistant: "hello" };
  const { task } = await mesh.api.call<{ task: { id: string } }>("POST", "/v1/workspaces/default/tasks", body);
  await askAll(0, WARM_UP, task.id);
  const before = await inside.residentMb();
  await askAll(WARM_UP, REQUESTS, task.id);
  const after = await inside.residentMb();
  process.stderr.write(`resident: ${before.toFixed(1)} MB after the warm-up, ${after.toFixed(1)} MB in the end\n`);
  expect(after).toBeLessThan(before * 1.1);
});

/** Puts messages before the end of a run's log: more than the demo model says. */
async function lengthen(runId: string, count: number, bytes: number): Promise<void> {
  await using store = openStore({ url: mesh.postgres.url, maxConnections: 1 });
  await store.sql.begin(async (tx) => {
    const [run] = await tx<{ last_seq: number }[]>`SELECT last_seq FROM runs WHERE id = ${runId}`;
    const end = run?.last_seq ?? 0;
    await tx`UPDATE run_events SET seq = seq + ${count} WHERE run_id = ${runId} AND seq = ${end}`;
    await tx`
      INSERT INTO run_events (run_id, seq, epoch, at, kind, body)
      SELECT ${runId}, ${end} + n - 1, 1, now(), 'message', json_build_object('type', 'text', 'message_id', 'L' || n,
        'props', json_build_object('content', repeat('x', ${bytes}::int)))::text
      FROM generate_series(1, ${count}::int) AS n`;
    await tx`UPDATE runs SET last_seq = last_seq + ${count} WHERE id = ${runId}`;
  });
}

test("a reader that takes nothing of a stream of 50 MB costs the coordinator at most 10 MB, and is cut", async () => {
  const run = await mesh.createRun({ assistant: "hello", input: "hi" });
  await mesh.ended(run.id);
  await lengthen(run.id, 12_800, 4096);
  // Once read whole by somebody else: what reading such a log costs anyway is no cost of the slow one.
  const log = await mesh.api.follow(run.id, { timeoutMs: 60_000 });
  expect([log.length > 12_800, log.at(-1)?.kind]).toEqual([true, "run.finished"]);
  const before = await inside.residentMb();
  const { hostname, port } = new URL(mesh.api.url);
  const slow: Socket = connect(Number(port), hostname);
  slow.pause();
  slow.on("error", () => undefined);
  slow.write(
    `GET /v1/runs/${run.id}/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer ${mesh.api.token}\r\n\r\n`,
  );
  await until(async () => (await openStreams()) === 1, { what: "the slow stream" });
  let most = before;
  await until(
    async () => {
      most = Math.max(most, await inside.residentMb());
      return (await openStreams()) === 0;
    },
    { timeoutMs: 40_000, everyMs: 250, what: "the end of the slow stream" },
  );
  slow.destroy();
  process.stderr.write(
    `resident: ${before.toFixed(1)} MB before the slow reader, at most ${most.toFixed(1)} MB with it\n`,
  );
  expect(most - before).toBeLessThan(10);
});
