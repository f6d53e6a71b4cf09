/** pi's agent core as its documentation shows it: one agent that keeps its own messages. */

const USAGE = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** Makes the library from its installed package. */
export function piLibrary({ Agent }) {
  return {
    name: "pi (agent core)",
    protocols: ["openai-completions", "anthropic-messages"],
    abilities: ["abort", "gate", "turnHook", "seed", "switchModel"],
    open: (place, options) => new PiSession(Agent, place, options),
  };
}

class PiSession {
  #agent;

  constructor(Agent, { protocol, baseUrl }, { tools = [], seed = [], gate, beforeTurn }) {
    const model = {
      id: "m",
      name: "m",
      api: protocol,
      provider: "local",
      baseUrl,
      reasoning: true,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000,
      maxTokens: 4096,
    };
    let turn = -1;
    this.#agent = new Agent({
      initialState: {
        model,
        systemPrompt: "",
        thinkingLevel: "low",
        tools: tools.map(toolOf),
        messages: seed.map((entry) => messageOf(entry, model)),
      },
      getApiKey: () => "k",
      ...(gate === undefined ? {} : { beforeToolCall: async ({ toolCall }) => void (await gate(toolCall.id)) }),
      ...(beforeTurn === undefined
        ? {}
        : {
            transformContext: async (messages) => {
              turn += 1;
              beforeTurn(turn);
              return messages;
            },
          }),
    });
  }

  async prompt(text) {
    await this.#agent.prompt(text);
    const last = this.#agent.state.messages.findLast((message) => message.role === "assistant");
    if (last?.stopReason === "aborted") return { kind: "cancelled" };
    const error = this.#agent.state.errorMessage ?? (last?.stopReason === "error" ? last.errorMessage : undefined);
    return error === undefined ? { kind: "completed" } : { kind: "failed", error };
  }

  abort() {
    this.#agent.abort();
  }

  switchModel(id) {
    this.#agent.state.model = { ...this.#agent.state.model, id };
  }

  history() {
    return this.#agent.state.messages.map((message) => {
      const parts = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
      const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
      if (message.role === "user") return { role: "user", text };
      if (message.role === "toolResult") {
        return { role: "result", callId: message.toolCallId, name: message.toolName, text };
      }
      const calls = parts.filter((part) => part.type === "toolCall");
      const { errorMessage } = message;
      return {
        role: "assistant",
        text,
        calls: calls.map((call) => ({ id: call.id, name: call.name, arguments: call.arguments })),
        ...(errorMessage === undefined ? {} : { error: errorMessage }),
      };
    });
  }
}

function toolOf({ name, run }) {
  return {
    name,
    label: name,
    description: `does ${name}`,
    parameters: { type: "object", properties: {} },
    execute: async (_id, args, signal) => ({ content: [{ type: "text", text: await run(args, signal) }], details: {} }),
  };
}

function messageOf(entry, model) {
  if (entry.role === "user") return { role: "user", content: entry.text, timestamp: 0 };
  return {
    role: "assistant",
    content: entry.calls.map((call) => ({ type: "toolCall", id: call.id, name: call.name, arguments: call.arguments })),
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: USAGE,
    stopReason: "toolUse",
    timestamp: 0,
  };
}
