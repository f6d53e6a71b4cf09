export { type LlmServer, type LlmServerOptions, startLlmServer } from "./llm-server.ts";
export type { Matcher, Reply, ReplySource, ScriptedToolCall, SeenRequest } from "./script.ts";
