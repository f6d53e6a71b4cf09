/** Anthropic's Messages API, and the servers that imitate it. */

import { buildAnthropicRequest, forcedAnswerTool } from "./anthropic-request.ts";
import { AnthropicState } from "./anthropic-stream.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamProvider } from "./provider.ts";
import { sseReader } from "./sse-reader.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `anthropic-messages`. */
export function createAnthropic(deps: ProviderDeps): StreamProvider {
  return {
    protocol: "anthropic-messages",
    stream(config, sink, signal) {
      const answerTool = forcedAnswerTool(config);
      const assembler = new MessageAssembler({
        config,
        sink,
        clock: deps.clock,
        malformedCalls: "fail",
        ...(answerTool === undefined ? {} : { answerTool }),
      });
      const reader = sseReader(assembler, new AnthropicState(assembler, config));
      return exchange({ config, sink, signal, assembler, reader, build: () => buildAnthropicRequest(config) }, deps);
    },
  };
}
