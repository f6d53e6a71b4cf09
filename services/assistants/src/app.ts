/** An app as validated, immutable data. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { Assistant, Prompt, SearchConfig } from "./assistant.ts";
import type { LocaleTexts } from "./locale-file.ts";
import type { McpServerFile } from "./mcp-server-file.ts";

/**
 * One finding in an app directory. An error keeps its file's assistant or connector out of the app, a warning says that
 * something will not do what it seems to say, a note says that something is not used.
 */
export interface Problem {
  /** Path inside the app, with forward slashes. */
  readonly file: string;
  /** From 1; 0 when the finding is about the file as a whole. */
  readonly line: number;
  readonly message: string;
  readonly severity: "error" | "warning" | "note";
}

/** One connector file. Strings may still hold `$ENV.NAME`. */
export interface ConnectorFile {
  /** Path under `connectors/` with dots. */
  readonly id: string;
  readonly type: string;
  readonly label: string;
  readonly options: JsonObject;
}

/** One data model, as written: what it means is not this package's business. */
export interface ModelFile {
  /** Path under `models/` with dots; of an assistant's model behind `agents.<assistant>.` */
  readonly id: string;
  readonly path: string;
  /** The assistant whose folder it is in. */
  readonly assistantId?: string;
  readonly source: Json;
}

/** One script: hooks of an assistant, functions that can be called as processes, or tests. */
export interface ScriptFile {
  /** What stands before the name of a function: `agents.<assistant>.<path>` or `scripts.<path>`. */
  readonly id: string;
  readonly path: string;
  /** `hooks` is `src/index.ts`; `test` is `*_test.ts`. */
  readonly kind: "hooks" | "process" | "test";
  readonly assistantId?: string;
}

/** A loaded app. */
export interface App {
  readonly assistants: ReadonlyMap<string, Assistant>;
  readonly connectors: ReadonlyMap<string, ConnectorFile>;
  /** The app's own by path, those of assistants as `agents.<assistant>.<path>`. */
  readonly mcpServers: ReadonlyMap<string, McpServerFile>;
  readonly models: ReadonlyMap<string, ModelFile>;
  readonly scripts: ReadonlyMap<string, ScriptFile>;
  readonly globalPrompts: readonly Prompt[];
  /** Flattened texts of agent/locales, for all assistants. */
  readonly globalLocales?: Readonly<Record<string, LocaleTexts>>;
  /** agent/agent.yml, parsed; empty when absent. */
  readonly settings: JsonObject;
  /** `uses` of agent/agent.yml. */
  readonly uses: Readonly<Record<string, string>>;
  /** agent/search.yml. */
  readonly search: SearchConfig;
  /** agent/kb.yml. */
  readonly knowledge: JsonObject;
  /** Text of a file of the app; undefined when there is none or it is not UTF-8 text. */
  file(path: string): string | undefined;
  /** Content of a file of the app. */
  bytes(path: string): Uint8Array | undefined;
}

/** Result of loading: `app` holds what could be loaded even when there are errors in other files. */
export interface LoadedApp {
  readonly app: App;
  readonly problems: readonly Problem[];
}

/** The files of an app by path with forward slashes. */
export type AppFiles = ReadonlyMap<string, Uint8Array>;
