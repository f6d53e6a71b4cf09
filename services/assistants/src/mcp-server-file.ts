/** An MCP server as an app's files describe it. */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { App } from "./app.ts";
import { type EnvLookup, resolveEnv } from "./env-ref.ts";

/** The description of one tool. */
export interface McpToolFile {
  /** JSON Schema of the arguments; its `description` describes the tool. */
  readonly input: JsonObject;
  readonly output?: JsonObject;
  /** How arguments become those of the process; absent: all of them as one. */
  readonly processArgs?: readonly Json[];
  readonly samples: readonly JsonObject[];
}

/** The description of one resource. */
export interface McpResourceFile {
  readonly uri?: string;
  readonly name?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly parameters?: Json;
  readonly meta?: JsonObject;
  /** JSON Schema of the content. */
  readonly schema?: JsonObject;
  readonly processArgs?: readonly Json[];
  readonly samples: readonly JsonObject[];
}

/** The description of one prompt: one text, or messages. */
export interface McpPromptFile {
  readonly name?: string;
  readonly description?: string;
  readonly template?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  readonly messages?: readonly JsonObject[];
}

/** One server: a file `*.mcp.yao` and what `mapping/` says of its tools. Strings may still hold `$ENV.NAME`. */
export interface McpServerFile {
  /** Path under `mcps/` with dots; of an assistant's server behind `agents.<assistant>.` */
  readonly id: string;
  readonly path: string;
  /** The assistant whose folder it is in. */
  readonly assistantId?: string;
  readonly label?: string;
  readonly description?: string;
  readonly transport: "process" | "stdio" | "http" | "sse";
  readonly command?: string;
  readonly arguments?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly endpoint?: string;
  readonly authorization_token?: string;
  /** A duration such as `30s`, or seconds. */
  readonly timeout?: string | number;
  readonly capabilities?: JsonObject;
  /** For `process`: names, and the processes behind them. */
  readonly tools?: Readonly<Record<string, string>>;
  readonly resources?: Readonly<Record<string, string>>;
  readonly prompts?: Readonly<Record<string, string>>;
  readonly mapping: {
    readonly tools: Readonly<Record<string, McpToolFile>>;
    readonly resources: Readonly<Record<string, McpResourceFile>>;
    readonly prompts: Readonly<Record<string, McpPromptFile>>;
  };
}

/** The fields of a server in which `$ENV.NAME` is replaced. */
export const MCP_ENV_FIELDS = ["command", "url", "endpoint", "authorization_token"] as const;

const USE_PREFIX = "mcp:";

/** The server an assistant means by a name: one of its own first, then one of the app. */
export function findMcpServer(app: App, assistantId: string | undefined, name: string): McpServerFile | undefined {
  const own = assistantId === undefined ? undefined : app.mcpServers.get(`agents.${assistantId}.${name}`);
  return own ?? app.mcpServers.get(name);
}

/** What follows `mcp:` in a value of `uses`; undefined when it names no server. */
export function mcpUseName(use: string): string | undefined {
  return use.startsWith(USE_PREFIX) && use.length > USE_PREFIX.length ? use.slice(USE_PREFIX.length) : undefined;
}

/**
 * The server and the tool that `mcp:server` or `mcp:server.tool` in `uses` means. Ids hold dots as well: the longest one that
 * exists counts.
 */
export function findMcpUse(
  app: App,
  assistantId: string | undefined,
  use: string,
): { readonly server: McpServerFile; readonly tool?: string } | undefined {
  const name = mcpUseName(use);
  if (name === undefined) return undefined;
  const whole = findMcpServer(app, assistantId, name);
  if (whole !== undefined) return { server: whole };
  for (let end = name.lastIndexOf("."); end > 0; end = name.lastIndexOf(".", end - 1)) {
    const server = findMcpServer(app, assistantId, name.slice(0, end));
    if (server !== undefined) return { server, tool: name.slice(end + 1) };
  }
  return undefined;
}

/** The server with its variables replaced; throws when one has no value, except in `env`, where it is left out. */
export function resolveMcpServer(server: McpServerFile, env: EnvLookup): McpServerFile {
  const say = (name: string, text: string): string => {
    const { text: resolved, missing } = resolveEnv(text, env);
    const [variable] = missing;
    if (variable === undefined) return resolved;
    throw new MeshError(
      "failed_precondition",
      `MCP server ${server.id} takes its ${name} from $ENV.${variable}, which has no value: set ${variable}`,
    );
  };
  const texts = MCP_ENV_FIELDS.flatMap((name) => {
    const text = server[name];
    return text === undefined ? [] : [[name, say(name, text)] as const];
  });
  const variables = Object.entries(server.env ?? {}).flatMap(([name, text]) => {
    const { text: resolved, missing } = resolveEnv(text, env);
    return missing.length > 0 ? [] : [[name, resolved] as const];
  });
  return {
    ...server,
    ...Object.fromEntries(texts),
    ...(server.arguments === undefined ? {} : { arguments: server.arguments.map((text) => say("arguments", text)) }),
    ...(server.env === undefined ? {} : { env: Object.fromEntries(variables) }),
  };
}
