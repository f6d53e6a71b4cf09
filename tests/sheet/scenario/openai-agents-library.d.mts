import type { Library } from "./scenario.ts";

/** What a package exports; used as its documentation shows it. */
type Package = Readonly<Record<string, unknown>>;

export declare function openAiAgentsLibrary(sdk: Package, openai: Package): Library;
