/** The namespace `agent`: every type a hook may name. */

export type { Agent, AgentRequest, AgentResult, CallOptions, Response, SkipOptions } from "./agent-call.ts";
export type { Computer, ExecResult, FileInfo, Sandbox, Workspace } from "./computer.ts";
export type { AuthorizedInfo, ClientInfo, Context } from "./context.ts";
export type {
  Create,
  CreateResponse,
  Delegate,
  McpServer,
  Next,
  NextResponse,
  Options,
  Payload,
  ToolCallResponse,
  Uses,
} from "./hook.ts";
export type { ImageResult, Llm, LlmOptions, LlmRequest, LlmResult } from "./llm.ts";
export type { Mcp, McpCall, McpClient, McpRequest, McpResult, McpTool } from "./mcp.ts";
export type { Memory, MemoryNamespace, Space, TimeToLive } from "./memory.ts";
export type {
  Chunk,
  Completion,
  ContentPart,
  Conversation,
  Message,
  OnChunk,
  OnChunkOf,
  OutputMessage,
  ToolCall,
  Usage,
} from "./message.ts";
export type {
  DbSearchOptions,
  KbSearchOptions,
  Search,
  SearchItem,
  SearchRequest,
  SearchResult,
  WebSearchOptions,
} from "./search.ts";
export type {
  Trace,
  TraceNode,
  TraceNodeOption,
  TraceParallelInput,
  TraceSpace,
  TraceSpaceOption,
  TraceTarget,
} from "./trace.ts";
