/** What counts for an assistant in the end: its own settings before those of the app. */

import type { App } from "./app.ts";
import type { Assistant, SearchConfig } from "./assistant.ts";

/** How an assistant searches: its own words before those of agent/search.yml, section by section. */
export function searchConfigOf(app: Pick<App, "search">, assistant: Pick<Assistant, "search">): SearchConfig {
  const own = assistant.search ?? {};
  const sections = new Set([...Object.keys(app.search), ...Object.keys(own)]) as Set<keyof SearchConfig>;
  return Object.fromEntries([...sections].map((name) => [name, { ...app.search[name], ...own[name] }]));
}

/** Who does what for an assistant: its own words before those of agent/agent.yml. */
export function usesOf(app: Pick<App, "uses">, assistant: Pick<Assistant, "uses">): Readonly<Record<string, string>> {
  return { ...app.uses, ...assistant.uses };
}
