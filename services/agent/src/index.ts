/** The agent loop. This entry touches no Node API; tools that do are in "@mesh/agent/node". */

export { Agent, type AgentFromModel, type AgentOptions, type RunHandle } from "./agent.ts";
export { Budget, type BudgetOptions } from "./budget.ts";
export {
  calibrated,
  compactHistory,
  contextBudget,
  type ContextConfig,
  contextFor,
  withHeadroom,
} from "./compaction.ts";
export { type CompactionStrategy, tieredCompaction } from "./compaction-strategy.ts";
export { type Ancestry, delegatedFrom, type Delegation } from "./delegation.ts";
export {
  type AgentEvent,
  type CompactionReport,
  EVENT_TYPES,
  type EventMeta,
  type EventSink,
  type MessageDelta,
  readEvent,
  type ToolResultView,
  type WaitingCall,
} from "./event.ts";
export {
  type Extension,
  type PromptDecision,
  type RunContext,
  type RunEnd,
  type RunHooks,
  sharedHooks,
  type StopDecision,
  type ToolResult,
  type TurnContext,
  type TurnDecision,
} from "./extension.ts";
export { type InputDecision, type InputFilter } from "./input-filter.ts";
export { DEFAULT_LIMITS, type ExecutionLimits, SUB_AGENT_LIMITS } from "./limit.ts";
export { LlmCompaction, type LlmCompactionOptions } from "./llm-compaction.ts";
export { type Log, type LogLevel } from "./log.ts";
export type {
  Checkpoint,
  LifecycleHooks,
  LoopConfig,
  ModelSettings,
  ToolSettings,
  ToolStrategy,
} from "./loop-config.ts";
export { LoopDetector, type LoopDetectorState, type LoopVerdict } from "./loop-detector.ts";
export {
  BRIEFING_PREFIX,
  CANCELLED_MARKER,
  COMPACTION_MARKER,
  EXTENSION_FAILED_PREFIX,
  EXTENSION_MESSAGE_PREFIX,
  EXTENSION_STOP_PREFIX,
  isLoopInjected,
  LIMIT_STOP_PREFIX,
  LOOP_STOP_PREFIX,
  NUDGE_PREFIX,
  stopMarkerKind,
  SUMMARY_PREFIX,
} from "./marker.ts";
export {
  type AgentMessage,
  type ExtensionMessage,
  lastAssistant,
  loadHistory,
  messageText,
  saveHistory,
  userMessage,
} from "./message.ts";
export { ALLOW, DENIED_PREFIX, ToolCallRequest, type ToolDecision, type ToolMiddleware } from "./middleware.ts";
export { MessageQueue, type QueueMode } from "./queue.ts";
export { RetrySafeFilter, retrySafeEvents } from "./retry-safe.ts";
export { continueRun, resumeRun, type RunIo, type RunResult, startRun } from "./run.ts";
export {
  type CallAnswer,
  type PendingCall,
  type PendingStatus,
  readRunState,
  type RunCounters,
  type RunState,
  waitingCalls,
} from "./run-state.ts";
export { type CompiledSchema, compileSchema } from "./schema.ts";
export { type Divergence, Session, type SessionEntry } from "./session.ts";
export {
  evictionsFor,
  MemoryBackend,
  SHARED_STATE_BYTES,
  SHARED_STATE_TOOL,
  SharedState,
  type SharedStateBackend,
  sharedStateSection,
  sharedStateTool,
  storeFull,
} from "./shared-state.ts";
export { mergeSkills, type Skill, skillIndex } from "./skill.ts";
export {
  addStats,
  cacheHitRate,
  type CompactionSpend,
  isUnpriced,
  NO_STATS,
  type RunStats,
  type Spend,
  type SubAgentSpend,
  totalSpend,
} from "./stats.ts";
export { structuredOutput, StructuredOutputError } from "./structured.ts";
export { subAgentTool, type SubAgentOptions } from "./sub-agent.ts";
export { SUB_AGENT_STATS_KEY, subAgentStats } from "./sub-agent-stats.ts";
export { type Span, type SpanValue, type Telemetry, type Tracer } from "./telemetry.ts";
export { ContextTracker, estimateTokens, historyTokens, messageTokens } from "./token.ts";
export {
  type AgentTool,
  invalidArguments,
  textArgument,
  textOutput,
  toolCancelled,
  type ToolContext,
  toolFailed,
  toolNotFound,
  type ToolOutput,
} from "./tool.ts";
export { type ToolSource } from "./tool-source.ts";
export { checkTranscript, LOST_CALL_TEXT, repairTranscript, type TranscriptFault } from "./transcript.ts";
export { capText, DEFAULT_OUTPUT_CAP, type OutputCap, type OutputStash } from "./truncate.ts";
export { type ReplyContext, type UserRequest, userRequest } from "./user-request.ts";
