/** One run read in five ways: each sees the same events, with the same seqs and payloads, live and from any cursor. */

import { credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { EventSource } from "eventsource";
import { service as healthService } from "grpc-health-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";

import type { SeenEvent } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { ReflectedClient, reflectedFiles, reflectedServices } from "./reflected-client.ts";

let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

/** Reads a run from a cursor to its end. */
type Reader = (runId: string, afterSeq: number) => Promise<SeenEvent[]>;

const byFetch: Reader = async (runId, afterSeq) => {
  const events: SeenEvent[] = [];
  for await (const event of mesh.api.stream(runId, afterSeq)) events.push(event);
  return events;
};

const KINDS = [
  "message",
  "run.queued",
  "run.waiting",
  "run.placed",
  "run.accepted",
  "run.started",
  "run.cancelling",
  "run.finished",
] as const;

/** Left open at the end on purpose: the client reconnects with its cursor and must be told to stop. */
const byEventSource: Reader = async (runId, afterSeq) => {
  const events: SeenEvent[] = [];
  const source = new EventSource(`${mesh.api.url}/v1/runs/${runId}/events?after_seq=${afterSeq}`, {
    fetch: (input, init) =>
      fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${mesh.api.token}` } }),
  });
  for (const kind of KINDS) {
    source.addEventListener(kind, (message) => {
      const event = JSON.parse(String(message.data)) as SeenEvent;
      expect([message.lastEventId, message.type]).toEqual([String(event.seq), event.kind]);
      events.push(event);
    });
  }
  try {
    await until(() => source.readyState === EventSource.CLOSED, {
      timeoutMs: 60_000,
      what: "the end of the event source",
    });
  } finally {
    source.close();
  }
  return events;
};

const byGrpc: Reader = async (runId, afterSeq) => {
  using client = await ReflectedClient.connect(mesh.grpcAddress, "yao.mesh.v1.RunService", mesh.api.token);
  const events: SeenEvent[] = [];
  const answers = client.stream<{ event: SeenEvent }>("FollowRun", { run: runId, after_seq: afterSeq });
  for await (const { event } of answers) events.push(event);
  return events;
};

const bySocket: Reader = async (runId, afterSeq) => {
  const socket = new WebSocket(`${mesh.api.url.replace(/^http/, "ws")}/v1/ws`, {
    headers: { authorization: `Bearer ${mesh.api.token}` },
  });
  const events: SeenEvent[] = [];
  let isOver = false;
  socket.on("message", (bytes: Buffer) => {
    const frame = JSON.parse(bytes.toString("utf8")) as { type: string; event: SeenEvent };
    if (frame.type === "ready")
      socket.send(JSON.stringify({ type: "subscribe", id: "a", run: runId, after_seq: afterSeq }));
    if (frame.type === "event") events.push(frame.event);
    if (frame.type === "error") events.push({ seq: -1, epoch: 0, kind: JSON.stringify(frame), data: {} });
    isOver ||= frame.type === "end" || frame.type === "error";
  });
  try {
    await until(() => isOver, { timeoutMs: 60_000, what: "the end of the subscription" });
  } finally {
    socket.terminate();
  }
  return events;
};

const READERS: readonly (readonly [string, Reader])[] = [
  ["plain fetch", byFetch],
  ["an EventSource", byEventSource],
  ["a gRPC client made by reflection", byGrpc],
  ["the event socket", bySocket],
];

describe("a run that is followed from its first moment", () => {
  const seen = new Map<string, SeenEvent[]>();
  let run: RunView;
  let pages: SeenEvent[];

  beforeAll(async () => {
    run = await mesh.createRun({
      assistant: "counter",
      input: "/count 80 every 20ms",
      metadata: { deep: { list: [1, "two", null, true, { half: 0.5 }] }, text: 'ünïcode \u{1F680} "quotes"\n\\' },
    });
    for (const [name, events] of await Promise.all(
      READERS.map(async ([name, read]) => [name, await read(run.id, 0)] as const),
    )) {
      seen.set(name, events);
    }
    pages = await mesh.api.pages(run.id, 7);
  });

  test("has a log worth comparing: dense, with deltas, with nested payloads, with one end", () => {
    expect(pages.map(({ seq }) => seq)).toEqual(pages.map((_event, i) => i + 1));
    expect(pages.filter(({ data }) => data["delta"] === true).length).toBeGreaterThan(5);
    expect(JSON.stringify(pages)).toContain('"half":0.5');
    expect(pages.filter(({ kind }) => kind === "run.finished")).toEqual([pages.at(-1)]);
  });

  test.each(READERS.map(([name]) => name))("shows %s what the JSON pages hold", (name) => {
    expect(seen.get(name)).toEqual(pages);
  });

  test.each(READERS)("shows %s the same once it has ended, from every cursor", async (_name, read) => {
    for (const cursor of [0, 1, Math.floor(pages.length / 2), pages.length - 1]) {
      expect(await read(run.id, cursor)).toEqual(pages.slice(cursor));
    }
  });

  test.each(READERS)("gives %s nothing after its last event, and an end", async (_name, read) => {
    expect(await read(run.id, pages.length)).toEqual([]);
  });
});

test("a run that is cancelled ends with the same last event for every reader", async () => {
  const run = await mesh.createRun({ assistant: "slow", input: "/slow 60s" });
  const reading = Promise.all(READERS.map(([, read]) => read(run.id, 0)));
  await mesh.until(run.id, ({ state }) => state === "running");
  await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
  const pages = await reading.then(() => mesh.api.pages(run.id));
  for (const events of await reading) expect(events).toEqual(pages);
  expect(pages.at(-1)).toMatchObject({ kind: "run.finished", data: { state: "cancelled" } });
});

describe("gRPC by reflection", () => {
  const SERVICES = ["App", "Connector", "Node", "Run", "System", "Token", "Workspace"].map(
    (name) => `yao.mesh.v1.${name}Service`,
  );

  test.each(["v1", "v1alpha"] as const)(
    "%s tells of every service, in files that a strict reader accepts",
    async (version) => {
      expect(await reflectedServices(mesh.grpcAddress, version)).toEqual(expect.arrayContaining(SERVICES));
      for (const service of SERVICES) {
        const registry = await reflectedFiles(mesh.grpcAddress, version, service);
        expect(registry.getService(service)?.methods.length).toBeGreaterThan(1);
      }
      const registry = await reflectedFiles(mesh.grpcAddress, version, "yao.mesh.v1.Node");
      const fields = registry.getMessage("yao.mesh.v1.Node")?.fields ?? [];
      expect(fields.find(({ name }) => name === "labels")?.fieldKind).toBe("map");
      expect(fields.find(({ name }) => name === "last_seen_at")?.proto.proto3Optional).toBe(true);
    },
  );

  test("reads what HTTP reads: a run, a page of its events, the devices", async () => {
    const { id } = await mesh.ended((await mesh.createRun({ assistant: "hello", input: "hi" })).id);
    using runs = await ReflectedClient.connect(mesh.grpcAddress, "yao.mesh.v1.RunService", mesh.api.token);
    using nodes = await ReflectedClient.connect(mesh.grpcAddress, "yao.mesh.v1.NodeService", mesh.api.token);
    expect((await runs.call("GetRun", { run: id }))["run"]).toEqual(await mesh.run(id));
    const page = await runs.call("ListRunEvents", { run: id, after_seq: 2, limit: 3 });
    expect(page["events"]).toEqual((await mesh.api.pages(id)).slice(2, 5));
    const { nodes: devices } = await nodes.call<{ nodes: unknown[] }>("ListNodes", {});
    expect(devices).toEqual([expect.objectContaining({ name: "alpha", status: "online", labels: {} })]);
  });

  test("creates a run with labels and nested metadata, and follows it", async () => {
    await mesh.api.call("PATCH", "/v1/nodes/alpha", { labels: { site: "home" } });
    using client = await ReflectedClient.connect(mesh.grpcAddress, "yao.mesh.v1.RunService", mesh.api.token);
    const { run } = await client.call<{ run: RunView }>("CreateRun", {
      workspace: "default",
      assistant: "hello",
      input: "/echo over gRPC",
      requirements: { labels: { site: "home" } },
      metadata: { topic: "tides", list: [1, { deep: null }] },
    });
    const events: SeenEvent[] = [];
    for await (const { event } of client.stream<{ event: SeenEvent }>("FollowRun", { run: run.id })) events.push(event);
    expect(events.at(-1)).toMatchObject({ kind: "run.finished", data: { output: "over gRPC" } });
    expect(JSON.stringify(events)).toContain('"list":[1,{"deep":null}]');
  });
});

test("gRPC health says SERVING for the server and for each service, as readiness does", async () => {
  const Health = makeGenericClientConstructor(healthService, "Health");
  const client = new Health(mesh.grpcAddress, credentials.createInsecure());
  const check = (service: string): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const method = (client as unknown as Record<string, (...args: unknown[]) => unknown>)["check"];
      method?.call(client, { service }, (error: Error | null, answer: { status: unknown }) =>
        error === null ? resolve(answer.status) : reject(error),
      );
    });
  try {
    for (const service of ["", "yao.mesh.v1.RunService", "yao.mesh.v1.NodeService"]) {
      await until(async () => (await check(service)) === "SERVING", { what: `health of "${service}"` });
    }
    await expect(check("no.such.Service")).rejects.toMatchObject({ code: 5 });
  } finally {
    client.close();
  }
  expect((await fetch(`${mesh.api.url}/readyz`)).status).toBe(200);
});
