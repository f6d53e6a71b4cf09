export { readAppDirectory } from "./app-directory.ts";
export { APP_LIMITS, type AppLimits } from "./app-path.ts";
export type { App, AppFiles, ConnectorFile, LoadedApp, ModelFile, Problem, ScriptFile } from "./app.ts";
export type {
  Assistant,
  ConnectorOptions,
  McpServerRef,
  McpUse,
  Placeholder,
  Prompt,
  SearchConfig,
} from "./assistant.ts";
export { type Bundle, bundleApp, bundleDigest, readBundle } from "./bundle.ts";
export { type AppChecker, checkApp } from "./check-app.ts";
export { demoAppDirectory } from "./demo-app.ts";
export { type Derivation, deriveAssistant } from "./derive-assistant.ts";
export { envNamesOfAssistant, envNamesOfConnector, envNamesOfMcpServer } from "./env-names.ts";
export { type EnvLookup, envNamesIn, resolveEnv } from "./env-ref.ts";
export { loadApp } from "./load-app.ts";
export { type LocalizedAssistant, localizeAssistant, type Translate, translator } from "./localize.ts";
export {
  findMcpServer,
  findMcpUse,
  type McpPromptFile,
  type McpResourceFile,
  type McpServerFile,
  type McpToolFile,
  resolveMcpServer,
} from "./mcp-server-file.ts";
export { mcpServerRefs } from "./mcp-server-ref.ts";
export { type RenderRequest, renderPrompts } from "./render-prompts.ts";
export {
  completeConnector,
  type ConnectorRequest,
  DEMO_CONNECTOR,
  type ResolvedConnector,
  resolveConnector,
  type WorkspaceConnector,
} from "./resolve-connector.ts";
export type { SandboxConfig, SandboxSecret, SandboxStep } from "./sandbox-config.ts";
export { searchConfigOf, usesOf } from "./search-config.ts";
