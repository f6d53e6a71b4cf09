/** One model call with its retries, bound to where it goes. */

import type { Clock } from "@mesh/kernel";
import type { AssistantMessage, ModelConfig, StreamConfig, StreamProvider, StreamSink } from "@mesh/llm";

/** A model and how to reach it. */
export interface ModelTarget {
  readonly model: ModelConfig;
  readonly provider: StreamProvider;
  readonly apiKey?: string;
  readonly clock: Clock;
  /** Randomness in [0, 1) for the jitter of retries. */
  readonly random?: () => number;
}

const ignore: StreamSink = () => undefined;

/** The whole answer; rejects with a `ProviderError`. */
export function callModel(
  target: ModelTarget,
  config: StreamConfig,
  signal: AbortSignal,
  sink: StreamSink = ignore,
): Promise<AssistantMessage> {
  const keyed = target.apiKey === undefined ? config : { ...config, apiKey: target.apiKey };
  return target.provider.stream(keyed, sink, signal);
}
