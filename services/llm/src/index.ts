export type { CallLimits } from "./call-guard.ts";
export type { ChatEvent, ChatMessage, ChatRequest, Connector, StreamChat } from "./chat.ts";
export { type ChatRegistry, type ChatRegistryOptions, createChatRegistry } from "./chat-registry.ts";
export { createDemoChat, type DemoChatOptions } from "./demo-chat.ts";
export { createOpenAiChat, type OpenAiChatOptions, streamOpenAiChat } from "./openai-chat.ts";
export { buildOpenAiRequest, type OpenAiRequest } from "./openai-request.ts";
export { type OpenAiStreamOptions, parseOpenAiStream } from "./openai-stream.ts";
