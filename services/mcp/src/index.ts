/** MCP: clients of the servers an app uses. A server over what an embedder offers is an entry of its own, `./server`. */

export {
  callAll,
  callAny,
  callRace,
  callTools,
  callToolsParallel,
  type McpBatchOptions,
  type McpToolCall,
  type McpToolOutcome,
  type McpToolRequest,
  type OpenClient,
} from "./batch.ts";
export { type McpCallOptions, type McpClient, type McpListResult } from "./client.ts";
export { McpClients, type McpClientsDeps, type McpClientsOptions } from "./clients.ts";
export { type CallProcess } from "./process-session.ts";
export {
  type McpMapping,
  type McpPromptArgument,
  type McpPromptMapping,
  type McpResourceMapping,
  type McpServerConfig,
  type McpToolMapping,
  type McpTransportKind,
} from "./server-config.ts";
export {
  type McpContent,
  type McpProgress,
  type McpPrompt,
  type McpPromptResult,
  type McpReadResult,
  type McpResource,
  type McpResourceContents,
  type McpResourceTemplate,
  type McpTool,
  type McpToolResult,
} from "./session.ts";
export { type McpLog } from "./session-keeper.ts";
export { type ToolAddress, ToolNames } from "./tool-name.ts";
export { parseToolResult, toolResultText } from "./tool-result.ts";
export { serveNodeRequest } from "./node-http.ts";
export type { McpHttp, McpHttpDeps, McpHttpOptions } from "./serve-http.ts";
export type { StdioStreams } from "./serve-stdio.ts";
export type { McpServer } from "./server.ts";
export { type McpCompletion, type McpLogLevel, type McpServed, type McpServerDefinition } from "./server-definition.ts";
