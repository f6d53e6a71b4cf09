/** Ours: the agent as an application uses it, everything on that is on by default; every event is read. */

import { Agent } from "@mesh/agent";
import { createProviders, textOf } from "@mesh/llm";
import { systemClock } from "@mesh/kernel";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

const provider = createProviders({ clock: systemClock }).resolve("openai-completions");

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const model = {
    id: "scripted",
    name: "scripted",
    api: "openai-completions",
    provider: "local",
    baseUrl: baseURL,
    reasoning: false,
    contextWindow: 1_000_000,
    maxTokens: 4096,
    cost: null,
  };
  const tools = [
    {
      ...ADD,
      async execute(args, { signal }) {
        return { content: [{ type: "text", text: await add(args, signal) }] };
      },
    },
  ];
  const options = {
    model,
    provider,
    apiKey: "k",
    clock: systemClock,
    systemPrompt: SYSTEM_PROMPT,
    tools,
    limits: null,
  };
  return async ({ signal, onText }) => {
    const agent = new Agent({ ...options, retry: { maxRetries: 0 } });
    signal?.addEventListener("abort", () => agent.abort(), { once: true });
    const { end, messages } = await agent.promptInto(PROMPT, (event) => {
      if (event.type === "messageUpdate" && event.delta.type === "text") onText(event.delta.delta);
    });
    if (end.kind !== "completed") throw new Error(`the run ended as ${end.kind}: ${end.error ?? ""}`);
    return textOf(messages.at(-1).content);
  };
}
