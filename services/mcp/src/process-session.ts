/**
 * A `process` server: tools, resources and prompts of an app, served by calling its processes. Nothing is started and nothing can
 * die; what a process throws is the tool's error, not the call's.
 */

import { type Clock, errorText, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { withDeadline } from "./deadline.ts";
import { processArgs } from "./process-args.ts";
import { renderTemplate } from "./prompt-template.ts";
import type { McpResourceMapping, McpServerConfig } from "./server-config.ts";
import type {
  Exchange,
  ListKind,
  McpContent,
  McpLists,
  McpPromptResult,
  McpReadResult,
  McpSession,
  McpTool,
  McpToolResult,
  Page,
} from "./session.ts";
import { isUriTemplate, matchUri, type UriMatch } from "./uri-pattern.ts";

/**
 * Calls a process of the caller's app; the result is JSON. The caller's context is appended as the last argument by whoever
 * implements this.
 */
export type CallProcess<Caller> = (
  name: string,
  args: readonly Json[],
  caller: Caller,
  signal: AbortSignal,
) => Promise<unknown>;

/** What a process session needs. */
export interface ProcessSessionDeps<Caller> {
  readonly clock: Clock;
  readonly callProcess: CallProcess<Caller>;
}

interface ResourceEntry {
  readonly name: string;
  readonly process: string;
  readonly uri: string;
  readonly mapping: McpResourceMapping;
}

/** Serves one `process` configuration. */
export class ProcessSession<Caller> implements McpSession<Caller> {
  readonly #config: McpServerConfig;
  readonly #deps: ProcessSessionDeps<Caller>;
  readonly #lists: { readonly [Kind in ListKind]: readonly McpLists[Kind][] };
  readonly #resources: readonly ResourceEntry[];

  constructor(config: McpServerConfig, deps: ProcessSessionDeps<Caller>) {
    this.#config = config;
    this.#deps = deps;
    this.#resources = resourceEntries(config);
    this.#lists = listsOf(config, this.#resources);
  }

  list<Kind extends ListKind>(kind: Kind): Promise<Page<McpLists[Kind]>> {
    return Promise.resolve({ items: this.#lists[kind] });
  }

  async callTool(tool: McpTool, args: JsonObject, exchange: Exchange<Caller>): Promise<McpToolResult> {
    const process = ownEntry(this.#config.tools, tool.name);
    if (process === undefined) throw this.#unknown("tool", tool.name);
    const mapping = ownEntry(this.#config.mapping?.tools, tool.name);
    const declared = mapping?.processArgs ?? argsOfSchema(mapping?.input);
    const scope = { whole: { ":arguments": args }, roots: { "": args, args } };
    try {
      const result = await this.#call(
        process,
        declared === undefined ? [args] : processArgs(declared, scope),
        exchange,
      );
      return { content: [{ type: "text", text: textOfResult(result) }] };
    } catch (error) {
      const known = MeshError.from(error);
      if (known.code === "cancelled" || known.code === "deadline_exceeded") throw known;
      const text = `Error executing tool ${tool.name}: ${errorText(error)}`;
      return { content: [{ type: "text", text }], isError: true };
    }
  }

  async readResource(uri: string, exchange: Exchange<Caller>): Promise<McpReadResult> {
    for (const entry of this.#resources) {
      const match = matchUri(entry.uri, uri);
      if (match === undefined) continue;
      const result = await this.#call(entry.process, resourceArgs(entry.mapping, uri, match), exchange);
      const mimeType = entry.mapping.mimeType ?? (typeof result === "string" ? "text/plain" : "application/json");
      return { contents: [{ uri, mimeType, text: textOfResult(result) }] };
    }
    throw this.#unknown("resource", uri);
  }

  async getPrompt(name: string, args: JsonObject, exchange: Exchange<Caller>): Promise<McpPromptResult> {
    const mapping = ownEntry(this.#config.mapping?.prompts, name);
    const process = ownEntry(this.#config.prompts, name);
    if (mapping === undefined && process === undefined) throw this.#unknown("prompt", name);
    const about = mapping?.description === undefined ? {} : { description: mapping.description };
    if (mapping?.messages !== undefined) {
      return { ...about, messages: mapping.messages.map((message) => promptMessage(message, args)) };
    }
    if (mapping?.template !== undefined) return { ...about, messages: [promptMessage(mapping.template, args)] };
    if (process === undefined) {
      throw new MeshError("failed_precondition", `${this.#name} prompt "${name}" has neither a template nor a process`);
    }
    const result = await this.#call(process, [args], exchange);
    const made = isObject(result) && Array.isArray(result["messages"]) ? result["messages"] : result;
    const messages = (Array.isArray(made) ? made : [made]) as readonly Json[];
    return { ...about, messages: messages.map((message) => promptMessage(message, undefined)) };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #call(process: string, args: readonly Json[], exchange: Exchange<Caller>): Promise<unknown> {
    const { caller, signal, timeoutMs } = exchange;
    if (caller === undefined) throw new MeshError("internal", "a process was called for nobody");
    const bounds = { signal, timeoutMs, what: `${this.#name} process ${process}` };
    return withDeadline(this.#deps.clock, bounds, (inner) => this.#deps.callProcess(process, args, caller, inner));
  }

  get #name(): string {
    return `MCP server "${this.#config.id}":`;
  }

  #unknown(kind: "tool" | "resource" | "prompt", name: string): MeshError {
    return new MeshError("not_found", `${this.#name} there is no ${kind} "${name}"`);
  }
}

function listsOf(
  config: McpServerConfig,
  resources: readonly ResourceEntry[],
): { readonly [Kind in ListKind]: readonly McpLists[Kind][] } {
  const { mapping } = config;
  const promptNames = new Set([...Object.keys(config.prompts ?? {}), ...Object.keys(mapping?.prompts ?? {})]);
  return {
    tools: Object.keys(config.tools ?? {}).map((name) => toolOf(config, name)),
    resources: resources
      .filter(({ uri }) => !isUriTemplate(uri))
      .map((entry) => ({ uri: entry.uri, ...aboutOf(entry) })),
    resourceTemplates: resources
      .filter(({ uri }) => isUriTemplate(uri))
      .map((entry) => ({ uriTemplate: entry.uri, ...aboutOf(entry) })),
    prompts: [...promptNames].map((name) => {
      const prompt = ownEntry(mapping?.prompts, name);
      return { name, description: prompt?.description, arguments: prompt?.arguments };
    }),
  };
}

function toolOf(config: McpServerConfig, name: string): McpTool {
  const mapping = ownEntry(config.mapping?.tools, name);
  // A tool without a schema is usable: it takes any object.
  const inputSchema: JsonObject = { type: "object", ...withoutExtensions(mapping?.input ?? {}) };
  const description = inputSchema["description"];
  return {
    name,
    description: typeof description === "string" ? description : undefined,
    inputSchema,
    outputSchema: mapping?.output === undefined ? undefined : withoutExtensions(mapping.output),
  };
}

function resourceEntries(config: McpServerConfig): readonly ResourceEntry[] {
  return Object.entries(config.resources ?? {}).map(([name, process]) => {
    const mapping = ownEntry(config.mapping?.resources, name) ?? {};
    return { name, process, mapping, uri: mapping.uri ?? `${config.id}://${name}` };
  });
}

function aboutOf({ name, mapping }: ResourceEntry): Omit<McpLists["resources"], "uri"> {
  return { name: mapping.name ?? name, description: mapping.description, mimeType: mapping.mimeType };
}

function resourceArgs(mapping: McpResourceMapping, uri: string, match: UriMatch): readonly Json[] {
  const parameters = { ...match.query, ...match.path };
  if (mapping.processArgs === undefined) return [parameters];
  return processArgs(mapping.processArgs, {
    whole: { ":uri": uri, ":parameters": parameters, ":arguments": parameters },
    roots: { "": parameters, uri: parameters, query: match.query, args: parameters },
  });
}

function argsOfSchema(schema: JsonObject | undefined): readonly Json[] | undefined {
  const declared = schema?.["x-process-args"];
  return Array.isArray(declared) ? (declared as readonly Json[]) : undefined;
}

/** What a model sees of a schema: keys that only this system reads are left out. */
function withoutExtensions(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !key.startsWith("x-")));
}

function textOfResult(result: unknown): string {
  if (result === undefined || result === null) return "";
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "");
}

/** A message from a template (with `args`) or as a process made it (without). */
function promptMessage(message: unknown, args: JsonObject | undefined): McpPromptResult["messages"][number] {
  const fill = (text: string): string => (args === undefined ? text : renderTemplate(text, args));
  if (!isObject(message)) return { role: "user", content: { type: "text", text: fill(textOfResult(message)) } };
  const role = message["role"] === "assistant" ? "assistant" : "user";
  const content = message["content"] ?? "";
  if (!isObject(content)) return { role, content: { type: "text", text: fill(textOfResult(content)) } };
  if (content["type"] !== "text" || typeof content["text"] !== "string")
    return { role, content: content as McpContent };
  return { role, content: { type: "text", text: fill(content["text"]) } };
}

function ownEntry<Value>(record: Readonly<Record<string, Value>> | undefined, name: string): Value | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
