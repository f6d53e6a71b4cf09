/** Rivals that can play scenarios, as far as they are installed. */

import { installed, RIVAL_ROOT } from "../installed.ts";
import { aiLibrary } from "./ai-library.mjs";
import { openAiAgentsLibrary } from "./openai-agents-library.mjs";
import { piLibrary } from "./pi-library.mjs";
import type { Library } from "./scenario.ts";

/** The libraries that are there. */
export async function rivalLibraries(root: string = RIVAL_ROOT): Promise<readonly Library[]> {
  const [ai, compatible, pi, agents, openai] = await Promise.all(
    ["ai", "@ai-sdk/openai-compatible", "@mariozechner/pi-agent-core", "@openai/agents", "openai"].map((name) =>
      installed(root, name),
    ),
  );
  return [
    ...(ai === undefined || compatible === undefined ? [] : [aiLibrary(ai, compatible)]),
    ...(pi === undefined ? [] : [piLibrary(pi)]),
    ...(agents === undefined || openai === undefined ? [] : [openAiAgentsLibrary(agents, openai)]),
  ];
}
