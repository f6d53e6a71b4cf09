/** Gemini's generateContent API, at Google AI and at Vertex: one builder and one parser, two addresses. */

import { buildGeminiRequest } from "./gemini-request.ts";
import { GeminiState } from "./gemini-stream.ts";
import type { ApiProtocol } from "./message.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamProvider } from "./provider.ts";
import { sseReader } from "./sse-reader.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `google-generative-ai`. */
export function createGemini(deps: ProviderDeps): StreamProvider {
  return geminiProvider("google-generative-ai", deps);
}

/** Makes the provider of `google-vertex`; its key is an OAuth access token. */
export function createVertex(deps: ProviderDeps): StreamProvider {
  return geminiProvider("google-vertex", deps);
}

function geminiProvider(protocol: ApiProtocol, deps: ProviderDeps): StreamProvider {
  return {
    protocol,
    stream(config, sink, signal) {
      const assembler = new MessageAssembler({ config, sink, clock: deps.clock, malformedCalls: "tell" });
      const reader = sseReader(assembler, new GeminiState(assembler, config));
      return exchange({ config, sink, signal, assembler, reader, build: () => buildGeminiRequest(config) }, deps);
    },
  };
}
