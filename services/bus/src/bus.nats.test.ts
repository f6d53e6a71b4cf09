import { afterAll, beforeAll } from "vitest";

import { busContract } from "./testing/bus-contract.ts";
import { type TestNats, testNats } from "./testing/test-nats.ts";

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
