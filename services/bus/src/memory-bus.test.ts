import { busContract } from "./testing/bus-contract.ts";
import { type MemoryBus, memoryBus } from "./testing/memory-bus.ts";

busContract("memory", async () => {
  const hub = memoryBus();
  await hub.admin.ensureStreams();
  const buses: MemoryBus[] = [];
  return {
    admin: hub.admin,
    connect: async () => {
      const bus = hub.connect();
      buses.push(bus);
      return bus;
    },
    interrupt: async () => {
      for (const bus of buses) bus.cut();
      for (const bus of buses) bus.heal();
    },
    stop: async () => {
      for (const bus of buses) await bus.close();
    },
  };
});
