/** pi's agent core over its own provider layer, every event read. */

import { Agent } from "@mariozechner/pi-agent-core";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const model = {
    id: "scripted",
    name: "scripted",
    api: "openai-completions",
    provider: "local",
    baseUrl: baseURL,
    reasoning: false,
    input: ["text"],
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    contextWindow: 1_000_000,
    maxTokens: 4096,
  };
  const sum = {
    ...ADD,
    label: ADD.name,
    async execute(_id, args, signal) {
      return { content: [{ type: "text", text: await add(args, signal) }], details: {} };
    },
  };
  return async ({ signal, onText }) => {
    const agent = new Agent({
      initialState: { model, systemPrompt: SYSTEM_PROMPT, tools: [sum] },
      getApiKey: () => "k",
    });
    agent.subscribe((event) => {
      if (event.type !== "message_update") return;
      if (event.assistantMessageEvent.type === "text_delta") onText(event.assistantMessageEvent.delta);
    });
    signal?.addEventListener("abort", () => agent.abort(), { once: true });
    await agent.prompt(PROMPT);
    const last = agent.state.messages.at(-1);
    if (agent.state.errorMessage !== undefined) throw new Error(agent.state.errorMessage);
    return last.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  };
}
