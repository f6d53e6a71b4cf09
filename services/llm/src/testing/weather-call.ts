/** One conversation with everything that a request can hold, for comparing ours with those of the official SDKs. */

import type { ApiProtocol, AssistantMessage, Message } from "../message.ts";
import type { ModelConfig, StreamConfig } from "../provider.ts";

/** A picture, in base64. */
export const weatherPicture: string = "iVBORw0KGgo=";
/** The key of every call. */
export const weatherKey: string = "sk-test-key-0123456789";
/** What the tool takes. */
export const weatherSchema = {
  type: "object",
  properties: { city: { type: "string", description: "Name" } },
  required: ["city"],
} as const;

function conversation(api: ApiProtocol): readonly Message[] {
  const assistant: AssistantMessage = {
    role: "assistant",
    content: [
      { type: "text", text: "Looking." },
      { type: "toolCall", id: "call_1", name: "weather", arguments: { city: "Bern" } },
      { type: "toolCall", id: "call_2", name: "weather", arguments: { city: "Oslo" } },
    ],
    stopReason: "toolUse",
    model: "m-1",
    provider: "p",
    api,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
    timestamp: 1,
  };
  return [
    {
      role: "user",
      content: [
        { type: "text", text: "Weather?" },
        { type: "image", data: weatherPicture, mimeType: "image/png" },
      ],
      timestamp: 0,
    },
    assistant,
    result("call_1", "sunny", false),
    result("call_2", "no such city", true),
    { role: "user", content: [{ type: "text", text: "And tomorrow?" }], timestamp: 4 },
  ];
}

function result(toolCallId: string, text: string, isError: boolean): Message {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "weather",
    content: [{ type: "text", text }],
    isError,
    timestamp: 2,
  };
}

/** The call that builders translate beside an official SDK: text, a picture, two calls, a failed result. */
export function weatherCall(api: ApiProtocol, model: Partial<ModelConfig> = {}): StreamConfig {
  return {
    model: {
      id: "m-1",
      name: "M",
      api,
      provider: "custom",
      reasoning: false,
      contextWindow: 100_000,
      maxTokens: 1000,
      cost: null,
      ...model,
    },
    systemPrompt: "Be brief.",
    messages: conversation(api),
    tools: [{ name: "weather", description: "Weather of a city", parameters: weatherSchema }],
    maxTokens: 500,
    temperature: 0.5,
    apiKey: weatherKey,
    cache: { enabled: false, strategy: "auto" },
  };
}
