export type { AppReader } from "./bundle/resolve-import.ts";
export { ScriptBundler, type ScriptBundlerOptions } from "./bundle/script-bundler.ts";
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
  TestSeed,
} from "./call.ts";
export { type ScriptLimit, ScriptError, ScriptLimitError } from "./host/script-error.ts";
export { ScriptHost, type ScriptHostDeps, type ScriptHostOptions } from "./host/script-host.ts";
export type { SourcePosition } from "./host/source-stack.ts";
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
export type { StoreOperation, StorePort } from "./process/store-port.ts";
export type { HttpClient } from "./process/http-client.ts";
export { LateHttpClient } from "./process/late-http-client.ts";
