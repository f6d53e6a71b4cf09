/** OpenAI's SDK with a loop by hand, as its own examples stream. */

import { OpenAI } from "openai";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const client = new OpenAI({ apiKey: "k", baseURL, maxRetries: 0 });
  return async ({ signal, onText }) => {
    const messages = [
      { role: "system", content: SYSTEM_PROMPT },
      { role: "user", content: PROMPT },
    ];
    for (;;) {
      const stream = await client.chat.completions.create(
        {
          model: "scripted",
          messages,
          tools: [{ type: "function", function: ADD }],
          stream: true,
          stream_options: { include_usage: true },
        },
        { signal },
      );
      let content = "";
      const calls = [];
      for await (const chunk of stream) {
        const delta = chunk.choices[0]?.delta;
        if (delta?.content) {
          content += delta.content;
          onText(delta.content);
        }
        for (const call of delta?.tool_calls ?? []) {
          const slot = (calls[call.index] ??= { id: call.id, type: "function", function: { name: "", arguments: "" } });
          slot.function.name += call.function.name ?? "";
          slot.function.arguments += call.function.arguments ?? "";
        }
      }
      if (calls.length === 0) return content;
      messages.push({ role: "assistant", content, tool_calls: calls });
      const results = await Promise.all(calls.map((call) => add(JSON.parse(call.function.arguments), signal)));
      for (const [index, result] of results.entries()) {
        messages.push({ role: "tool", tool_call_id: calls[index].id, content: result });
      }
    }
  };
}
