/** OpenAI's Agents SDK over Chat Completions, tracing off, every stream event read. */

import { Agent, OpenAIChatCompletionsModel, Runner, setTracingDisabled, tool } from "@openai/agents";
import { OpenAI } from "openai";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

setTracingDisabled(true);

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const client = new OpenAI({ apiKey: "k", baseURL, maxRetries: 0 });
  const agent = new Agent({
    name: "calculator",
    instructions: SYSTEM_PROMPT,
    model: new OpenAIChatCompletionsModel(client, "scripted"),
    tools: [tool({ ...ADD, strict: true, execute: (args, _context, details) => add(args, details?.signal) })],
  });
  const runner = new Runner({ tracingDisabled: true });
  return async ({ signal, onText }) => {
    const stream = await runner.run(agent, PROMPT, { stream: true, maxTurns: 1000, signal });
    for await (const event of stream) {
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") onText(event.data.delta);
    }
    await stream.completed;
    return stream.finalOutput;
  };
}
