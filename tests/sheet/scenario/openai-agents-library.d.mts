import type { Library } from "./scenario.ts";

/** What a package exports; used as its documentation shows it. */
type Package = Readonly<Record<string, unknown>>;

/** Makes the library from its installed packages. */
export declare function openAiAgentsLibrary(sdk: Package, openai: Package): Library;
