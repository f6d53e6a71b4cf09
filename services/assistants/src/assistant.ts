/** An assistant as validated, immutable data. */

import type { JsonObject } from "@mesh/kernel";

import type { LocaleTexts } from "./locale-file.ts";
import type { SandboxConfig } from "./sandbox-config.ts";

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
  /** The folder, such as `assistants/hello`. */
  readonly folder: string;
  readonly name: string;
  readonly description: string;
  /** Default `assistant`. */
  readonly type: string;
  /** As written: an id, `$ENV.NAME` or `use::role`; absent means the default. */
  readonly connector?: string;
  readonly connectorOptions: ConnectorOptions;
  readonly avatar?: string;
  readonly tags: readonly string[];
  /** Options of the model, as written. */
  readonly options: JsonObject;
  readonly placeholder: Placeholder;
  readonly disableGlobalPrompts: boolean;
  readonly prompts: readonly Prompt[];
  /** Preset prompts by dotted name. */
  readonly promptPresets: Readonly<Record<string, readonly Prompt[]>>;
  /** Flattened locale strings: locale to dotted key to text. */
  readonly locales: Readonly<Record<string, LocaleTexts>>;
  readonly isPublic: boolean;
  readonly share: "private" | "team";
  readonly readonly: boolean;
  readonly isBuiltIn: boolean;
  readonly mentionable: boolean;
  readonly automated: boolean;
  readonly sort: number;
  readonly modes: readonly string[];
  readonly defaultMode?: string;
  readonly mcp: McpUse;
  /** Absent when package.yao says nothing of it; the options are as written. */
  readonly kb?: { readonly collections: readonly string[]; readonly options: JsonObject };
  readonly db?: { readonly models: readonly string[]; readonly options: JsonObject };
  /** Who does what the model cannot, by sense: `vision`, `audio`, `search`, `fetch`, … */
  readonly uses: Readonly<Record<string, string>>;
  /** Absent when package.yao says nothing of it; see `searchConfigOf` for what counts in the end. */
  readonly search?: SearchConfig;
  readonly sandbox?: SandboxConfig;
  /** Path of `src/index.ts`, when there is one. */
  readonly hooks?: string;
  /** Paths of the eval inputs in `tests/`. */
  readonly evalInputs: readonly string[];
  /** The whole parsed package.yao. */
  readonly source: JsonObject;
}

/** Which connectors people may choose for an assistant. */
export interface ConnectorOptions {
  readonly isOptional: boolean;
  /** Empty: all. */
  readonly connectors: readonly string[];
  /** What a connector must be able to do, such as `vision`. */
  readonly filters: readonly string[];
}

/** What an empty chat shows; texts are not translated yet. */
export interface Placeholder {
  readonly title: string;
  readonly description: string;
  readonly prompts: readonly string[];
}

/** The MCP servers of an assistant. */
export interface McpUse {
  readonly servers: readonly McpServerRef[];
  readonly hasToolLoop?: boolean;
  readonly maxTurns?: number;
  readonly timeoutSeconds?: number;
}

/** A server by the name an assistant uses for it, and what of it is offered. */
export interface McpServerRef {
  readonly serverId: string;
  /** Absent: all. */
  readonly tools?: readonly string[];
  readonly resources?: readonly string[];
}

/** How to search, as written in package.yao or agent/search.yml. */
export interface SearchConfig {
  readonly web?: { readonly provider?: string; readonly api_key_env?: string; readonly max_results?: number };
  readonly kb?: {
    readonly collections?: readonly string[];
    readonly threshold?: number;
    readonly graph?: boolean;
    readonly max_results?: number;
  };
  readonly db?: { readonly models?: readonly string[]; readonly max_results?: number };
  readonly keyword?: { readonly max_keywords?: number; readonly language?: string };
  readonly querydsl?: { readonly strict?: boolean };
  readonly rerank?: { readonly top_n?: number };
  readonly citation?: {
    readonly format?: string;
    readonly auto_inject_prompt?: boolean;
    readonly custom_prompt?: string;
  };
  readonly weights?: { readonly user?: number; readonly hook?: number; readonly auto?: number };
  readonly options?: JsonObject;
}
