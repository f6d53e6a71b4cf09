/**
 * The same names without an import: scripts of assistants see them as globals.
 *
 * Names of hooks and tests that guides use bare (`Context`, `TestingT`, `NextHookPayload` …) are here as well.
 */

import type * as agentTypes from "./agent.ts";
import type { ContextConstructor } from "./context.ts";
import type { ExceptionConstructor } from "./exception.ts";
import type { FSConstructor } from "./fs.ts";
import type { Http } from "./http.ts";
import type { TranslateFunction } from "./locale.ts";
import type { Log, Time } from "./log.ts";
import type { McpConstructor } from "./mcp.ts";
import type { ProcessesFunction, ProcessFunction } from "./process.ts";
import type { QueryConstructor } from "./query.ts";
import type { StoreConstructor } from "./store.ts";
import type * as testingTypes from "./testing.ts";
import type { TraceConstructor } from "./trace.ts";
import type { AuthorizedFunction, UseFunction } from "./use.ts";
import type { Value } from "./value.ts";

declare global {
  /** Calls a process by name and gives what it returns. */
  const Process: ProcessFunction;
  /** Calls several processes at the same time and waits for all. */
  const All: ProcessesFunction;
  /** Waits for the first process that succeeds. */
  const Any: ProcessesFunction;
  /** Waits for the first process that ends, well or not. */
  const Race: ProcessesFunction;
  /** Requests to other servers. */
  const http: Http;
  /** Opens files under a root, such as `data`. */
  const FS: FSConstructor;
  /** Opens a store by name. */
  const Store: StoreConstructor;
  /** Queries over the data models of the workspace. */
  const Query: QueryConstructor;
  /** An error with a code: `throw new Exception("closed", 409)`. */
  const Exception: ExceptionConstructor;
  /** Lines for the log of the run. */
  const log: Log;
  /** Waiting, and starting something later. */
  const time: Time;
  /** The text of a key in the language of the run. */
  const $L: TranslateFunction;
  /** Who is asking; the same as `ctx.authorized`. */
  const Authorized: AuthorizedFunction;
  /** Makes something, hands it to a function and releases it when that ends. */
  const Use: UseFunction;
  /** Another view of the running request, for functions that have no `ctx`. */
  const Context: ContextConstructor;
  /** One MCP server. */
  const MCP: McpConstructor;
  /** The trace of the run, for functions that have no `ctx`. */
  const Trace: TraceConstructor;

  interface Console {
    assert(condition?: Value, ...values: Value[]): void;
    debug(...values: Value[]): void;
    error(...values: Value[]): void;
    info(...values: Value[]): void;
    log(...values: Value[]): void;
    trace(...values: Value[]): void;
    warn(...values: Value[]): void;
  }
  var console: Console;

  /** Text to base64. */
  function btoa(text: string): string;
  /** Base64 to text. */
  function atob(base64: string): string;

  type Context = agentTypes.Context;
  type HookCreateResponse = agentTypes.CreateResponse;
  type NextHookPayload = agentTypes.Payload;
  type NextHookResponse = agentTypes.NextResponse;
  type TestingT = testingTypes.T;
  type TestCase = testingTypes.TestCase;
  type TestResult = testingTypes.TestResult;

  namespace agent {
    type Agent = agentTypes.Agent;
    type AgentRequest = agentTypes.AgentRequest;
    type AgentResult = agentTypes.AgentResult;
    type AuthorizedInfo = agentTypes.AuthorizedInfo;
    type CallOptions = agentTypes.CallOptions;
    type Chunk = agentTypes.Chunk;
    type ClientInfo = agentTypes.ClientInfo;
    type Completion = agentTypes.Completion;
    type Computer = agentTypes.Computer;
    type ContentPart = agentTypes.ContentPart;
    type Conversation = agentTypes.Conversation;
    type Context = agentTypes.Context;
    type Create = agentTypes.Create;
    type CreateResponse = agentTypes.CreateResponse;
    type DbSearchOptions = agentTypes.DbSearchOptions;
    type Delegate = agentTypes.Delegate;
    type ExecResult = agentTypes.ExecResult;
    type FileInfo = agentTypes.FileInfo;
    type ImageResult = agentTypes.ImageResult;
    type KbSearchOptions = agentTypes.KbSearchOptions;
    type Llm = agentTypes.Llm;
    type LlmOptions = agentTypes.LlmOptions;
    type LlmRequest = agentTypes.LlmRequest;
    type LlmResult = agentTypes.LlmResult;
    type Mcp = agentTypes.Mcp;
    type McpCall = agentTypes.McpCall;
    type McpClient = agentTypes.McpClient;
    type McpRequest = agentTypes.McpRequest;
    type McpResult = agentTypes.McpResult;
    type McpServer = agentTypes.McpServer;
    type McpTool = agentTypes.McpTool;
    type Memory = agentTypes.Memory;
    type MemoryNamespace = agentTypes.MemoryNamespace;
    type Message = agentTypes.Message;
    type Next = agentTypes.Next;
    type NextResponse = agentTypes.NextResponse;
    type OnChunk = agentTypes.OnChunk;
    type OnChunkOf = agentTypes.OnChunkOf;
    type Options = agentTypes.Options;
    type OutputMessage = agentTypes.OutputMessage;
    type Payload = agentTypes.Payload;
    type Response = agentTypes.Response;
    type Sandbox = agentTypes.Sandbox;
    type Search = agentTypes.Search;
    type SearchItem = agentTypes.SearchItem;
    type SearchRequest = agentTypes.SearchRequest;
    type SearchResult = agentTypes.SearchResult;
    type SkipOptions = agentTypes.SkipOptions;
    type Space = agentTypes.Space;
    type TimeToLive = agentTypes.TimeToLive;
    type ToolCall = agentTypes.ToolCall;
    type ToolCallResponse = agentTypes.ToolCallResponse;
    type Trace = agentTypes.Trace;
    type TraceNode = agentTypes.TraceNode;
    type TraceNodeOption = agentTypes.TraceNodeOption;
    type TraceParallelInput = agentTypes.TraceParallelInput;
    type TraceSpace = agentTypes.TraceSpace;
    type TraceSpaceOption = agentTypes.TraceSpaceOption;
    type TraceTarget = agentTypes.TraceTarget;
    type Usage = agentTypes.Usage;
    type Uses = agentTypes.Uses;
    type WebSearchOptions = agentTypes.WebSearchOptions;
    type Workspace = agentTypes.Workspace;
  }

  namespace testing {
    type T = testingTypes.T;
    type Assert = testingTypes.Assert;
    type AgentAssertion = testingTypes.AgentAssertion;
    type TestCase = testingTypes.TestCase;
    type TestResult = testingTypes.TestResult;
  }
}
