export { FakeClock } from "./fake-clock.ts";
export { sequentialIds } from "./sequential-ids.ts";
export { startStopStress } from "./start-stop-stress.ts";
