/** Every protocol that this version speaks, ready to be called. */

import { createAnthropic } from "./anthropic.ts";
import { createBedrock } from "./bedrock.ts";
import { createCompletions } from "./completions.ts";
import { createDemo } from "./demo.ts";
import { createGemini, createVertex } from "./gemini.ts";
import { ProviderRegistry } from "./provider.ts";
import { createAzureResponses, createResponses } from "./responses.ts";
import type { ProviderDeps } from "./wire.ts";

/** Makes a registry with all of them. */
export function createProviders(deps: ProviderDeps): ProviderRegistry {
  return new ProviderRegistry([
    createAnthropic(deps),
    createCompletions(deps),
    createResponses(deps),
    createAzureResponses(deps),
    createGemini(deps),
    createVertex(deps),
    createBedrock(deps),
    createDemo(deps),
  ]);
}
