/** One model call with its retries, bound to where it goes. */

import type { Clock } from "@mesh/kernel";
import {
  type AssistantMessage,
  type ModelConfig,
  type StreamConfig,
  type StreamProvider,
  type StreamSink,
  streamWithRetry,
} from "@mesh/llm";

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
// Without randomness the delays of retries have no jitter.
const middle = (): number => 0.5;

/** The whole answer; a final failure is a message as well, with `stopReason` `error` or `aborted`. */
export function callModel(
  target: ModelTarget,
  config: StreamConfig,
  signal: AbortSignal,
  sink: StreamSink = ignore,
): Promise<AssistantMessage> {
  const { apiKey, provider, clock, random = middle } = target;
  const keyed = apiKey === undefined ? config : { ...config, apiKey };
  return streamWithRetry({ provider, config: keyed, sink, signal }, { clock, random });
}
