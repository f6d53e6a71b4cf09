export type { App, AppFiles, Assistant, ConnectorFile, LoadedApp, Problem, Prompt } from "./app.ts";
