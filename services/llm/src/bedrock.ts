/** Amazon Bedrock's ConverseStream. */

import { bedrockAnswerTool, buildBedrockRequest } from "./bedrock-request.ts";
import { BedrockReader } from "./bedrock-stream.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamProvider } from "./provider.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `bedrock-converse-stream`; credentials are read from `deps.env` per request. */
export function createBedrock(deps: ProviderDeps): StreamProvider {
  return {
    protocol: "bedrock-converse-stream",
    stream(config, sink, signal) {
      const answerTool = bedrockAnswerTool(config);
      const assembler = new MessageAssembler({
        config,
        sink,
        clock: deps.clock,
        malformedCalls: "fail",
        ...(answerTool === undefined ? {} : { answerTool }),
      });
      return exchange(
        {
          config,
          sink,
          signal,
          assembler,
          reader: new BedrockReader(assembler, config),
          build: () => buildBedrockRequest(config, { env: deps.env ?? {}, nowMs: deps.clock.now() }),
          explain: (status, body) =>
            status === 403 && /signature expired|not yet current/i.test(body)
              ? "check this device's clock: it is too far from the server's"
              : undefined,
        },
        deps,
      );
    },
  };
}
