/** The floor: `fetch`, an SSE parser and a loop, with nothing that a product needs beyond a sunny day. */

import { createParser } from "eventsource-parser";

import { ADD, PROMPT, SYSTEM_PROMPT } from "../scenario.mjs";

/** Prepares runs against one address. */
export function prepare({ baseURL, add }) {
  const tools = [{ type: "function", function: ADD }];
  return async ({ signal, onText }) => {
    const messages = [
      { role: "system", content: SYSTEM_PROMPT },
      { role: "user", content: PROMPT },
    ];
    for (;;) {
      const { text, calls } = await respond({ baseURL, messages, tools, signal, onText });
      if (calls.length === 0) return text;
      messages.push({
        role: "assistant",
        content: text,
        tool_calls: calls.map(({ id, name, args }) => ({ id, type: "function", function: { name, arguments: args } })),
      });
      const results = await Promise.all(calls.map(({ args }) => add(JSON.parse(args), signal)));
      for (const [index, content] of results.entries()) {
        messages.push({ role: "tool", tool_call_id: calls[index].id, content });
      }
    }
  };
}

async function respond({ baseURL, messages, tools, signal, onText }) {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer k" },
    body: JSON.stringify({ model: "scripted", messages, tools, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  let text = "";
  const calls = [];
  const parser = createParser({
    onEvent({ data }) {
      if (data === "[DONE]") return;
      const delta = JSON.parse(data).choices[0]?.delta;
      if (delta?.content) {
        text += delta.content;
        onText(delta.content);
      }
      for (const call of delta?.tool_calls ?? []) {
        const slot = (calls[call.index] ??= { id: call.id, name: call.function.name, args: "" });
        slot.args += call.function.arguments;
      }
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }));
  return { text, calls };
}
