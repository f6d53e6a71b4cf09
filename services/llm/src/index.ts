export type { ChatEvent, ChatMessage, ChatRequest, Connector, StreamChat } from "./chat.ts";
