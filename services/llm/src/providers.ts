/** Every protocol that this version speaks, each loaded with its first call: hardly a process speaks more than one. */

import { API_PROTOCOLS, type ApiProtocol } from "./message.ts";
import { ProviderRegistry, type StreamProvider } from "./provider.ts";
import type { ProviderDeps } from "./wire.ts";

const LOADERS: Readonly<Record<ApiProtocol, (deps: ProviderDeps) => Promise<StreamProvider>>> = {
  "anthropic-messages": async (deps) => (await import("./anthropic.ts")).createAnthropic(deps),
  "openai-completions": async (deps) => (await import("./completions.ts")).createCompletions(deps),
  "openai-responses": async (deps) => (await import("./responses.ts")).createResponses(deps),
  "azure-openai-responses": async (deps) => (await import("./responses.ts")).createAzureResponses(deps),
  "google-generative-ai": async (deps) => (await import("./gemini.ts")).createGemini(deps),
  "google-vertex": async (deps) => (await import("./gemini.ts")).createVertex(deps),
  "bedrock-converse-stream": async (deps) => (await import("./bedrock.ts")).createBedrock(deps),
  demo: async (deps) => (await import("./demo.ts")).createDemo(deps),
};

/** Makes a registry with all of them. */
export function createProviders(deps: ProviderDeps): ProviderRegistry {
  return new ProviderRegistry(API_PROTOCOLS.map((protocol) => loadedLater(protocol, deps)));
}

function loadedLater(protocol: ApiProtocol, deps: ProviderDeps): StreamProvider {
  let loaded: StreamProvider | undefined;
  // A load that failed is tried again by the next call.
  const first: StreamProvider["stream"] = async (config, sink, signal) => {
    loaded ??= await LOADERS[protocol](deps);
    return loaded.stream(config, sink, signal);
  };
  return {
    protocol,
    stream(config, sink, signal) {
      return loaded?.stream(config, sink, signal) ?? first(config, sink, signal);
    },
  };
}
