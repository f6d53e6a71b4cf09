/** Amazon Bedrock's ConverseStream. */

import { bedrockEnvKey } from "./bedrock-auth.ts";
import { bedrockAnswerTool, buildBedrockRequest } from "./bedrock-request.ts";
import { BedrockReader } from "./bedrock-stream.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig, StreamProvider } from "./provider.ts";
import { exchange, type ProviderDeps } from "./wire.ts";

/** Makes the provider of `bedrock-converse-stream`; credentials are read from `deps.env` per request. */
export function createBedrock(deps: ProviderDeps): StreamProvider {
  return {
    protocol: "bedrock-converse-stream",
    stream(call, sink, signal) {
      const env = deps.env ?? {};
      const envKey = bedrockEnvKey(hasAuthorization(call), call.apiKey, env);
      // Failures are worded from this one, so that what was read from the environment is left out of them as well.
      const config = envKey === "" ? call : { ...call, apiKey: envKey };
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
          build: () => buildBedrockRequest(call, { env, nowMs: deps.clock.now() }),
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

function hasAuthorization(config: StreamConfig): boolean {
  return Object.keys(config.model.headers ?? {}).some((name) => name.toLowerCase() === "authorization");
}
