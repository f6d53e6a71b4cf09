export type {
  ContextSeed,
  HostOps,
  OpIo,
  ScriptArgument,
  ScriptCall,
  ScriptLimits,
  ScriptProgram,
  ScriptResult,
  ScriptStats,
} from "./call.ts";
export { ContextMemory } from "./memory/context-memory.ts";
export {
  type AgentOutcome,
  type LlmOutcome,
  type McpToolAnswer,
  type McpToolOutcome,
  OP_ARGS,
  type OpArgKind,
  type OpArgKinds,
  type OpArgs,
  type OpName,
  type OpResult,
  type ProcessOutcome,
} from "./op.ts";
export type { ProcessCaller, Scope } from "./process/process-caller.ts";
export { addressedGroup, functionGroup, type ProcessGroup } from "./process/process-group.ts";
export { ProcessRegistry } from "./process/process-registry.ts";
