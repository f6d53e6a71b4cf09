/** Processes: what scripts call by name. Apart from the rest, as most runs call none. */

export type { ProcessArgs } from "./process-args.ts";
export { addressedGroup, functionGroup, type ProcessGroup } from "./process-group.ts";
export { ProcessRegistry } from "./process-registry.ts";
export { type StandardProcessDeps, standardProcesses } from "./standard-processes.ts";
