/** An app as validated, immutable data. */

import type { JsonObject } from "@mesh/kernel";

/** One finding in an app directory. */
export interface Problem {
  /** Path inside the app, with forward slashes. */
  readonly file: string;
  /** From 1; 0 when the finding is about the file as a whole. */
  readonly line: number;
  readonly message: string;
  readonly severity: "error" | "warning";
}

/** One entry of a prompts file. */
export interface Prompt {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
  readonly name?: string;
}

/** One assistant: a folder with a package.yao. */
export interface Assistant {
  /** Path under `assistants/` with dots. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Default `assistant`. */
  readonly type: string;
  /** As written: an id, `$ENV.NAME` or `use::role`; absent means the default. */
  readonly connector?: string;
  readonly avatar?: string;
  readonly tags: readonly string[];
  readonly options: JsonObject;
  readonly disableGlobalPrompts: boolean;
  readonly prompts: readonly Prompt[];
  /** Preset prompts by dotted name. */
  readonly promptPresets: Readonly<Record<string, readonly Prompt[]>>;
  /** Flattened locale strings: locale to dotted key to text. */
  readonly locales: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly isPublic: boolean;
  readonly readonly: boolean;
  readonly mentionable: boolean;
  readonly automated: boolean;
  readonly sort: number;
  readonly modes: readonly string[];
  /** The whole parsed package.yao, for later features. */
  readonly source: JsonObject;
}

/** One connector file. Strings may still hold `$ENV.NAME`. */
export interface ConnectorFile {
  /** Path under `connectors/` with dots. */
  readonly id: string;
  readonly type: string;
  readonly label: string;
  readonly options: JsonObject;
}

/** A loaded app. */
export interface App {
  readonly assistants: ReadonlyMap<string, Assistant>;
  readonly connectors: ReadonlyMap<string, ConnectorFile>;
  readonly globalPrompts: readonly Prompt[];
  /** Flattened texts of agent/locales, for all assistants. */
  readonly globalLocales?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** agent/agent.yml, parsed; empty when absent. */
  readonly settings: JsonObject;
}

/** Result of loading: `app` holds what could be loaded even when there are errors in other files. */
export interface LoadedApp {
  readonly app: App;
  readonly problems: readonly Problem[];
}

/** The files of an app by path with forward slashes. */
export type AppFiles = ReadonlyMap<string, Uint8Array>;
