/** A gate before calls of models: who is told to slow down tells it, and nobody calls before the gate lets them. */

import { ProviderError, ProviderRegistry, type StreamConfig, type StreamProvider } from "@mesh/llm";

/** See the file comment; a provider is named by the host that serves it. */
export interface ModelGate {
  /** Resolves when one call may be made; rejects when `signal` aborts, or nobody can say. */
  enter(provider: string, signal: AbortSignal): Promise<void>;
  /** The provider has said to wait. */
  slowDown(provider: string, delayMs: number): void;
}

// A provider that refuses for the number of calls and does not say for how long.
const UNSAID_DELAY_MS = 1_000;

/** The providers of a registry, behind a gate. Each attempt of a call passes it. */
export function gatedProviders(registry: ProviderRegistry, gate: ModelGate): ProviderRegistry {
  return new ProviderRegistry(registry.list().map((protocol) => gated(registry.resolve(protocol), gate)));
}

/** Who serves a model: the host of its address, or the name of a provider that has none of its own. */
export function providerOf({ model }: Pick<StreamConfig, "model">): string {
  const { baseUrl, provider } = model;
  const host = baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).host : provider;
  return host === "" ? "unnamed" : host;
}

function gated(inner: StreamProvider, gate: ModelGate): StreamProvider {
  return {
    protocol: inner.protocol,
    async stream(config, sink, signal) {
      const provider = providerOf(config);
      await enter(gate, provider, signal);
      try {
        return await inner.stream(config, sink, signal);
      } catch (thrown) {
        const delayMs = delayOf(thrown);
        if (delayMs !== undefined) gate.slowDown(provider, delayMs);
        throw thrown;
      }
    },
  };
}

async function enter(gate: ModelGate, provider: string, signal: AbortSignal): Promise<void> {
  try {
    await gate.enter(provider, signal);
  } catch (cause) {
    if (signal.aborted)
      throw new ProviderError({ errorClass: "aborted", message: "the model call was cancelled", cause });
    throw new ProviderError({
      errorClass: "network",
      message: `whether ${provider} may be called now could not be asked; is the coordinator reachable?`,
      // Whoever asks has tried for a while.
      retryable: false,
      cause,
    });
  }
}

function delayOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof ProviderError) || thrown.errorClass !== "rateLimit") return undefined;
  return thrown.retryAfterMs ?? (thrown.status === 429 ? UNSAID_DELAY_MS : undefined);
}
