export { busContract, type ContractMesh } from "./bus-contract.ts";
export { type MemoryBus, memoryBus, type MemoryHub } from "./memory-bus.ts";
export { type TestNats, testNats, type TestNode, testNode } from "./test-nats.ts";
