/** Ours: the agent as an application uses it. */

import {
  Agent,
  type AgentMessage,
  type AgentTool,
  type CallAnswer,
  messageText,
  type RunResult,
  textOutput,
} from "@mesh/agent";
import { type Json, systemClock } from "@mesh/kernel";
import { createProviders, NO_USAGE, toolCallsOf } from "@mesh/llm";
import { WIRE_PROTOCOLS, wireModel } from "@mesh/llm/testing";

import type { End, Entry, Library, Place, Session, SessionOptions, StageTool } from "./scenario.ts";

/** The library. */
export const ourLibrary: Library = {
  name: "ours",
  protocols: WIRE_PROTOCOLS,
  abilities: ["abort", "gate", "turnHook", "seed", "approval", "external", "compaction", "switchModel"],
  open: (place, options) => new OurSession(place, options),
};

class OurSession implements Session {
  readonly #agent: Agent;
  #told = 0;

  constructor({ protocol, baseUrl }: Place, options: SessionOptions) {
    const { tools = [], seed = [], gate, beforeTurn, contextWindow = 100_000 } = options;
    this.#agent = new Agent({
      model: { ...wireModel(protocol, baseUrl), contextWindow },
      provider: createProviders({ clock: systemClock }).resolve(protocol),
      apiKey: "sk-test-1234567890",
      clock: systemClock,
      retry: { maxRetries: 0 },
      tools: tools.map(toolOf),
      messages: seed.map(messageOf),
      ...(gate === undefined
        ? {}
        : {
            middleware: [
              {
                beforeTool: async ({ id }) => {
                  await gate(id);
                  return { kind: "allow" };
                },
              },
            ],
          }),
      ...(beforeTurn === undefined ? {} : { beforeTurn: (_messages, turn) => (beforeTurn(turn), true) }),
    });
  }

  async prompt(text: string): Promise<End> {
    const result = await this.#agent.promptInto(text, (event) => {
      if (event.type === "contextCompacted") this.#told += 1;
    });
    return endOf(result);
  }

  abort(): void {
    this.#agent.abort();
  }

  history(): readonly Entry[] {
    return this.#agent.messages.flatMap(entryOf);
  }

  waiting(): readonly string[] {
    return this.#agent.waiting.map((call) => call.toolCallId);
  }

  async answer(answers: Readonly<Record<string, string | true>>): Promise<End> {
    const given = Object.entries(answers).map(([id, answer]): [string, CallAnswer] => [
      id,
      answer === true ? { kind: "approve" } : { kind: "result", content: textOutput(answer).content },
    ]);
    return endOf(await this.#agent.resume(Object.fromEntries(given)).result);
  }

  switchModel(id: string): void {
    this.#agent.setModel({ ...this.#agent.model, id });
  }

  compactions(): { readonly done: number; readonly told: number } {
    return { done: this.#agent.stats.compactions, told: this.#told };
  }
}

function endOf({ end }: RunResult): End {
  switch (end.kind) {
    case "completed":
    case "cancelled":
    case "waiting":
      return { kind: end.kind };
    case "failed":
      return { kind: "failed", error: end.error };
    case "rejected":
    case "stopped":
      return { kind: "failed", error: end.reason };
  }
}

function toolOf({ name, needsApproval = false, run }: StageTool): AgentTool {
  return {
    name,
    description: `does ${name}`,
    parameters: { type: "object" },
    needsApproval,
    ...(run === undefined ? {} : { execute: async (args, { signal }) => textOutput(await run(args, signal)) }),
  };
}

function entryOf(message: AgentMessage): readonly Entry[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", text: messageText(message) }];
    case "assistant": {
      const calls = toolCallsOf(message).map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
      const error = message.errorMessage;
      return [{ role: "assistant", text: messageText(message), calls, ...(error === undefined ? {} : { error }) }];
    }
    case "toolResult":
      return [{ role: "result", callId: message.toolCallId, name: message.toolName, text: messageText(message) }];
    case "extension":
      return [];
  }
}

function messageOf(entry: Entry): AgentMessage {
  switch (entry.role) {
    case "user":
      return { role: "user", content: textOutput(entry.text).content, timestamp: 0 };
    case "result": {
      const { callId: toolCallId, name: toolName, text } = entry;
      return {
        role: "toolResult",
        toolCallId,
        toolName,
        content: textOutput(text).content,
        isError: false,
        timestamp: 0,
      };
    }
    case "assistant":
      return {
        role: "assistant",
        content: entry.calls.map(({ id, name, arguments: args }) => ({
          type: "toolCall",
          id,
          name,
          arguments: args as Readonly<Record<string, Json>>,
        })),
        stopReason: "toolUse",
        model: "m",
        provider: "fixture",
        usage: NO_USAGE,
        timestamp: 0,
      };
  }
}
