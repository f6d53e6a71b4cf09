/** OpenAI's Chat Completions API, and the many servers that imitate it. */

import { buildCompletionsRequest } from "./completions-request.ts";
import { CompletionsState } from "./completions-stream.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamProvider } from "./provider.ts";
import { sseReader } from "./sse-reader.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `openai-completions`. */
export function createCompletions(deps: ProviderDeps): StreamProvider {
  return {
    protocol: "openai-completions",
    stream(config, sink, signal) {
      const assembler = new MessageAssembler({ config, sink, clock: deps.clock, malformedCalls: "tell" });
      const reader = sseReader(assembler, new CompletionsState(assembler, config));
      return exchange({ config, sink, signal, assembler, reader, build: () => buildCompletionsRequest(config) }, deps);
    },
  };
}
