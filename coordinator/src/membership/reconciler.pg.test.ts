import { INGEST_DURABLE, STREAM, subjects } from "@mesh/bus";
import { systemClock, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import { afterEach, beforeEach, expect, test } from "vitest";

import { Reconciler } from "./reconciler.ts";
import { type Fleet, startFleet } from "./testing/fleet.ts";

let fleet: Fleet;

beforeEach(async () => {
  fleet = await startFleet();
});

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
});

async function joined(name: string): Promise<string> {
  const device = fleet.device();
  await fleet.join(device, await fleet.token(), { name });
  return device.digest;
}

test("R1: a deleted store is made anew when the connection comes back", async () => {
  const digests = [await joined("a"), await joined("b")];
  fleet.bus.cut();
  fleet.hub.deleteStore();
  fleet.bus.heal();
  await until(async () => {
    const found = await fleet.hub.admin.listWorkConsumers().catch((): string[] => []);
    return digests.every((digest) => found.includes(digest));
  });
  const stop = new AbortController();
  const received: string[] = [];
  const consumer = fleet.bus.consumer(
    { stream: STREAM.events, durable: INGEST_DURABLE },
    async (messages) => void received.push(...messages.map((message) => message.subject)),
    { maxBatch: 1 },
  );
  const running = consumer.run(stop.signal);
  const subject = subjects.events(digests[0]!, "0".repeat(26));
  await fleet.bus.publishStream(subject, new Uint8Array(1), { msgId: "1" });
  await until(() => received.includes(subject));
  stop.abort();
  await running;
});

test("R2: passes of several replicas at once end with one consumer for each device, and none for others", async () => {
  const digest = await joined("a");
  await fleet.hub.admin.ensureWorkConsumer("z".repeat(20), 2);
  await Promise.all(Array.from({ length: 4 }, () => fleet.reconciler.reconcile()));
  expect(await fleet.hub.admin.listWorkConsumers()).toEqual([digest]);
});

test("a device that joins while a pass is under way keeps its consumer", async () => {
  await joined("a");
  const { admin } = fleet.hub;
  let late = "";
  const reconciler = new Reconciler({
    bus: fleet.bus,
    system: fleet.system,
    trust: fleet.enrolment.trust,
    store: fleet.tenant.store,
    clock: systemClock,
    log: silentLogger,
    admin: {
      ...admin,
      ensureWorkConsumer: async (digest, slots) => {
        if (late === "") late = await joined("late");
        await admin.ensureWorkConsumer(digest, slots);
      },
    },
  });
  await reconciler.reconcile();
  expect(late).not.toBe("");
  expect(await admin.listWorkConsumers()).toContain(late);
});

test("a device without slots gets a consumer that a server accepts", async () => {
  await joined("a");
  await fleet.tenant.store.sql`UPDATE nodes SET slots = 0`;
  const asked: number[] = [];
  const reconciler = new Reconciler({
    bus: fleet.bus,
    system: fleet.system,
    trust: fleet.enrolment.trust,
    store: fleet.tenant.store,
    clock: systemClock,
    log: silentLogger,
    admin: { ...fleet.hub.admin, ensureWorkConsumer: async (_digest, slots) => void asked.push(slots) },
  });
  await reconciler.reconcile();
  expect(asked).toEqual([1]);
});

test("revocations of removed devices are pushed with every pass", async () => {
  await joined("a");
  await fleet.nodes.removeNode({ node: "a" }, fleet.tenant.as(fleet.tenant.admin));
  const before = fleet.pushed.length;
  await fleet.reconciler.reconcile();
  expect(fleet.pushed.length).toBe(before + 1);
});
