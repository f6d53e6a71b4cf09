export { readAppDirectory } from "./app-directory.ts";
export { APP_LIMITS, type AppLimits } from "./app-path.ts";
export type { App, AppFiles, Assistant, ConnectorFile, LoadedApp, Problem, Prompt } from "./app.ts";
export { type Bundle, bundleApp, bundleDigest, readBundle } from "./bundle.ts";
export { demoAppDirectory } from "./demo-app.ts";
export { type EnvLookup, envNamesIn, envNamesOfAssistant, envNamesOfConnector, resolveEnv } from "./env-ref.ts";
export { loadApp } from "./load-app.ts";
export { type LocalizedAssistant, localizeAssistant } from "./localize.ts";
export { type RenderRequest, renderPrompts } from "./render-prompts.ts";
export {
  completeConnector,
  type ConnectorRequest,
  DEMO_CONNECTOR,
  type ResolvedConnector,
  resolveConnector,
  type WorkspaceConnector,
} from "./resolve-connector.ts";
