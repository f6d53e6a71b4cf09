/** What one MCP server is, as an app's files describe it, and the facts derived from that description. */

import { createHash } from "node:crypto";

import { canonicalJson, type Json, type JsonObject, MeshError, parseDuration } from "@mesh/kernel";

/** How a server is reached. */
export type McpTransportKind = "process" | "stdio" | "http" | "sse";

/** The schemas of one tool of a `process` server, and the samples of a tool of any server. */
export interface McpToolMapping {
  /** JSON Schema of the arguments; its `description` describes the tool. */
  readonly input: JsonObject;
  readonly output?: JsonObject | undefined;
  /** How arguments become the process's arguments; `x-process-args` of `input` when absent. */
  readonly processArgs?: readonly Json[] | undefined;
  readonly samples?: readonly JsonObject[] | undefined;
}

/** One resource of a `process` server, and the samples of a resource of any server. */
export interface McpResourceMapping {
  /** A URI or a template such as `echo://health?check={check}`; `<server>://<name>` when absent. */
  readonly uri?: string | undefined;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly processArgs?: readonly Json[] | undefined;
  readonly samples?: readonly JsonObject[] | undefined;
}

/** One prompt of a `process` server: a template, or none when a process makes it. */
export interface McpPromptMapping {
  readonly description?: string | undefined;
  readonly arguments?: readonly McpPromptArgument[] | undefined;
  /** Text of the one user message. */
  readonly template?: string | undefined;
  /** Messages whose texts are templates. */
  readonly messages?: readonly Json[] | undefined;
}

/** An argument a prompt takes. */
export interface McpPromptArgument {
  readonly name: string;
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
}

/** The mapping folder of one server. */
export interface McpMapping {
  readonly tools?: Readonly<Record<string, McpToolMapping>> | undefined;
  readonly resources?: Readonly<Record<string, McpResourceMapping>> | undefined;
  readonly prompts?: Readonly<Record<string, McpPromptMapping>> | undefined;
}

/** One MCP server. Values arrive resolved: `$ENV.NAME` was replaced for the run that asks. */
export interface McpServerConfig {
  readonly id: string;
  readonly label?: string | undefined;
  readonly description?: string | undefined;
  readonly transport: McpTransportKind;
  /** `stdio`: the program, its arguments and what its environment has beside the allowed variables. */
  readonly command?: string | undefined;
  readonly arguments?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** `http`, `sse`: where it is; `endpoint` is resolved against `url`. */
  readonly url?: string | undefined;
  readonly endpoint?: string | undefined;
  /** With or without the word `Bearer`. */
  readonly authorization_token?: string | undefined;
  /** How long one call may take without progress: `"30s"`, or a number of seconds. */
  readonly timeout?: string | number | undefined;
  readonly capabilities?: JsonObject | undefined;
  /** `process`: names of tools, resources and prompts, and the processes behind them. */
  readonly tools?: Readonly<Record<string, string>> | undefined;
  readonly resources?: Readonly<Record<string, string>> | undefined;
  readonly prompts?: Readonly<Record<string, string>> | undefined;
  readonly mapping?: McpMapping | undefined;
}

const MAX_TIMEOUT_MS = 3_600_000;

// A mapping is large and stays the same object while the rest is resolved anew for each run.
const mappingDigests = new WeakMap<McpMapping, string>();

/** Equal for configurations that mean the same server, secrets included. */
export function configDigest({ mapping, ...rest }: McpServerConfig): string {
  return digestOf([rest, mapping === undefined ? "" : mappingDigest(mapping)]);
}

function mappingDigest(mapping: McpMapping): string {
  const known = mappingDigests.get(mapping);
  if (known !== undefined) return known;
  const digest = digestOf(mapping);
  mappingDigests.set(mapping, digest);
  return digest;
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

/** Milliseconds of `timeout`, or undefined when the file names none. */
export function configTimeoutMs(config: McpServerConfig): number | undefined {
  const { timeout } = config;
  if (timeout === undefined || timeout === "") return undefined;
  const ms = typeof timeout === "number" ? timeout * 1000 : parseDuration(timeout);
  if (ms === undefined || !(ms > 0)) {
    throw misconfigured(config, `"timeout" is ${JSON.stringify(timeout)}; write a duration such as "30s"`);
  }
  return Math.min(ms, MAX_TIMEOUT_MS);
}

/** The address of an `http` or `sse` server. */
export function configUrl(config: McpServerConfig): URL {
  const { url, endpoint } = config;
  const text = url ?? endpoint;
  if (text === undefined || text === "") throw misconfigured(config, `"url" is missing`);
  let parsed: URL;
  try {
    parsed = url !== undefined && endpoint !== undefined ? new URL(endpoint, url) : new URL(text);
  } catch (cause) {
    throw misconfigured(config, `"url" is not an absolute URL`, cause);
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw misconfigured(config, `"url" starts with ${parsed.protocol}; only http: and https: are supported`);
  }
  return parsed;
}

/** The error for a configuration that cannot be used. */
export function misconfigured(config: McpServerConfig, what: string, cause?: unknown): MeshError {
  return new MeshError("invalid_argument", `MCP server "${config.id}": ${what}`, { cause });
}
