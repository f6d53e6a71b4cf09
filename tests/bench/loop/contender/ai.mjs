/** Vercel's `ai`: streamText over its OpenAI-compatible provider, the full stream read. */

import { jsonSchema, stepCountIs, streamText, tool } from "ai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const model = createOpenAICompatible({ name: "local", baseURL, apiKey: "k", includeUsage: true })("scripted");
  const tools = {
    [ADD.name]: tool({
      description: ADD.description,
      inputSchema: jsonSchema(ADD.parameters),
      execute: (args, { abortSignal }) => add(args, abortSignal),
    }),
  };
  return async ({ signal, onText }) => {
    const result = streamText({
      model,
      system: SYSTEM_PROMPT,
      prompt: PROMPT,
      tools,
      stopWhen: stepCountIs(1000),
      maxRetries: 0,
      abortSignal: signal,
      onError: () => undefined,
    });
    let text = "";
    for await (const part of result.fullStream) {
      if (part.type === "start-step") text = "";
      if (part.type === "text-delta") {
        text += part.text;
        onText(part.text);
      }
      if (part.type === "error") throw part.error;
      if (part.type === "abort") throw new Error("aborted");
    }
    return text;
  };
}
