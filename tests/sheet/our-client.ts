/** Ours: the whole path with its retries, over a real connection. */

import { systemClock } from "@mesh/kernel";
import { createProviders, type StreamEvent, streamWithRetry, textOf, toolCallsOf } from "@mesh/llm";
import { problemsOf, WIRE_PROTOCOLS, wireModel } from "@mesh/llm/testing";

import type { SheetClient } from "./client.ts";

/** Makes the client. */
export function ourClient(): SheetClient {
  const providers = createProviders({ clock: systemClock, env: { AWS_REGION: "us-east-1" } });
  return {
    name: "ours",
    protocols: WIRE_PROTOCOLS,
    async run(wire, baseUrl, requests) {
      const abort = new AbortController();
      const events: StreamEvent[] = [];
      let text = "";
      const start = performance.now();
      const message = await streamWithRetry(
        {
          provider: providers.resolve(wire.protocol),
          config: {
            model: wireModel(wire.protocol, baseUrl),
            systemPrompt: "",
            messages: [{ role: "user", content: [{ type: "text", text: "Hi" }], timestamp: 0 }],
            apiKey: wire.protocol === "bedrock-converse-stream" ? "AKIDEXAMPLE:secret-secret" : "sk-test-1234567890",
            retry: { maxRetries: wire.before === undefined ? 0 : 2 },
          },
          sink(event) {
            events.push(event);
            if (event.type !== "textDelta") return;
            text += event.delta;
            if (wire.end === "stall" && text === wire.expect.text) abort.abort();
          },
          signal: abort.signal,
        },
        { clock: systemClock, random: () => 0.5 },
      );
      const { stopReason } = message;
      const waitedMs = performance.now() - start;
      return {
        kind: stopReason === "error" || stopReason === "aborted" ? stopReason : "answer",
        text: textOf(message.content),
        calls: toolCallsOf(message).filter((call) => call.malformed === undefined),
        problems: problemsOf(wire, { message, events, requests: requests(), waitedMs }),
      };
    },
  };
}
