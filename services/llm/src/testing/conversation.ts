/** Parts of conversations and calls for tests of request builders. */

import type { AssistantMessage, Content, InputContent, Message, StopReason, ToolResultMessage } from "../message.ts";
import { NO_USAGE } from "../message.ts";
import type { ModelConfig, StreamConfig } from "../provider.ts";

/** What a user says. */
export function said(...content: readonly (string | InputContent)[]): Message {
  return { role: "user", content: content.map(part), timestamp: 0 };
}

/** What a model answered; `from` overrides who it was. */
export function answered(
  content: readonly (string | Content)[],
  from: Partial<AssistantMessage> = {},
): AssistantMessage {
  const parts = content.map((each): Content => (typeof each === "string" ? { type: "text", text: each } : each));
  const reason: StopReason = parts.some((each) => each.type === "toolCall") ? "toolUse" : "stop";
  return {
    role: "assistant",
    content: parts,
    stopReason: reason,
    model: "m-1",
    provider: "custom",
    usage: NO_USAGE,
    timestamp: 0,
    ...from,
  };
}

/** A tool call. */
export function called(id: string, args: Readonly<Record<string, string | number>> = {}, name = "add"): Content {
  return { type: "toolCall", id, name, arguments: args };
}

/** A tool's answer. */
export function resulted(id: string, content: readonly (string | InputContent)[], isError = false): ToolResultMessage {
  return { role: "toolResult", toolCallId: id, toolName: "add", content: content.map(part), isError, timestamp: 0 };
}

/** A call to a model of this protocol. */
export function callOf(
  model: Pick<ModelConfig, "api"> & Partial<ModelConfig>,
  messages: readonly Message[],
  more: Partial<StreamConfig> = {},
): StreamConfig {
  return {
    model: {
      id: "m-1",
      name: "M",
      provider: "custom",
      reasoning: true,
      contextWindow: 100_000,
      maxTokens: 1000,
      cost: null,
      ...model,
    },
    systemPrompt: "",
    messages,
    ...more,
  };
}

function part(each: string | InputContent): InputContent {
  return typeof each === "string" ? { type: "text", text: each } : each;
}
