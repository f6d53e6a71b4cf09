/** OpenAI's Responses API, at OpenAI and at Azure: one builder and one parser, two addresses. */

import type { ApiProtocol } from "./message.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamProvider } from "./provider.ts";
import { buildResponsesRequest } from "./responses-request.ts";
import { ResponsesState } from "./responses-stream.ts";
import { sseReader } from "./sse-reader.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `openai-responses`. */
export function createResponses(deps: ProviderDeps): StreamProvider {
  return responsesProvider("openai-responses", deps);
}

/** Makes the provider of `azure-openai-responses`. */
export function createAzureResponses(deps: ProviderDeps): StreamProvider {
  return responsesProvider("azure-openai-responses", deps);
}

function responsesProvider(protocol: ApiProtocol, deps: ProviderDeps): StreamProvider {
  return {
    protocol,
    stream(config, sink, signal) {
      const assembler = new MessageAssembler({ config, sink, clock: deps.clock, malformedCalls: "tell" });
      const reader = sseReader(assembler, new ResponsesState(assembler, config));
      return exchange({ config, sink, signal, assembler, reader, build: () => buildResponsesRequest(config) }, deps);
    },
  };
}
