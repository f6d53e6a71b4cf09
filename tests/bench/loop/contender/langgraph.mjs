/** LangGraph.js: the prebuilt agent over ChatOpenAI, messages streamed. */

import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { tool } from "@langchain/core/tools";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const llm = new ChatOpenAI({ model: "scripted", apiKey: "k", maxRetries: 0, configuration: { baseURL } });
  const sum = tool((args, config) => add(args, config?.signal), {
    name: ADD.name,
    description: ADD.description,
    schema: ADD.parameters,
  });
  const agent = createReactAgent({ llm, tools: [sum], prompt: SYSTEM_PROMPT });
  return async ({ signal, onText }) => {
    let text = "";
    let id = "";
    const input = { messages: [{ role: "user", content: PROMPT }] };
    const config = { streamMode: "messages", recursionLimit: 5000, signal };
    for await (const [chunk] of await agent.stream(input, config)) {
      if (chunk.getType() !== "ai" || chunk.content === "") continue;
      if (chunk.id !== id) text = "";
      ({ id } = chunk);
      text += chunk.content;
      onText(chunk.content);
    }
    return text;
  };
}
