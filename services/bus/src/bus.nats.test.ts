import { startStopStress } from "@mesh/kernel/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

import { STREAM, workDurable } from "./subjects.ts";
import { busContract } from "./testing/bus-contract.ts";
import { type TestNats, testNats, testNode } from "./testing/test-nats.ts";

let nats: TestNats;

beforeAll(async () => {
  nats = await testNats();
});

afterAll(async () => {
  await nats.stop();
});

busContract("nats", async () => {
  const buses: { close(): Promise<void> }[] = [];
  await nats.admin.ensureStreams();
  return {
    admin: nats.admin,
    connect: async () => {
      const bus = await nats.connect();
      buses.push(bus);
      return bus;
    },
    interrupt: () => nats.restart(),
    stop: async () => {
      for (const bus of buses) await bus.close();
      for (const node of await nats.admin.listWorkConsumers()) {
        await nats.admin.removeWorkConsumer(node);
        await nats.admin.purgeWork(node);
      }
    },
  };
});

test("a consumer survives abrupt starts and stops", async () => {
  const node = testNode().digest;
  await nats.admin.ensureWorkConsumer(node, 2);
  const bus = await nats.connect();
  const ref = { stream: STREAM.work, durable: workDurable(node) };
  await startStopStress(() => bus.consumer(ref, async () => undefined, { maxBatch: 2 }));
});

test("a consumer ends by itself when its bus is closed", async () => {
  const bus = await nats.connect();
  const service = bus.consumer({ stream: STREAM.work, durable: "n_none" }, async () => undefined, { maxBatch: 2 });
  const ended = service.run(new AbortController().signal);
  await bus.close();
  await expect(ended).resolves.toBeUndefined();
});

test("A2: settings that somebody changed are put right", async () => {
  const bus = await nats.connect();
  const api = async (name: string, body: object): Promise<Record<string, unknown>> => {
    const data = Buffer.from(JSON.stringify(body));
    return JSON.parse(
      Buffer.from(await bus.request(`$JS.API.${name}`, data, { timeoutMs: 2_000 })).toString(),
    ) as Record<string, unknown>;
  };
  const info = async (): Promise<Record<string, unknown>> =>
    (await api("STREAM.INFO.WORK", {}))["config"] as Record<string, unknown>;
  const before = await info();
  await api("STREAM.UPDATE.WORK", { ...before, max_msgs_per_subject: 7, discard_new_per_subject: true });
  expect((await info())["max_msgs_per_subject"]).toBe(7);
  await nats.admin.ensureStreams();
  expect(await info()).toEqual(before);
  expect(before).toMatchObject({ retention: "workqueue", discard: "new", discard_new_per_subject: true });
});
