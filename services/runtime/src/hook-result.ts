/** What hooks return, read and checked: a wrong type is an error that names the field, an unknown field is left alone. */

import { type McpServerRef, mcpServerRefs } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { type ChatMessage, readChatMessages } from "./chat-message.ts";

/** Another agent to go on with. */
export interface Delegate {
  readonly agentId: string;
  readonly messages: readonly ChatMessage[];
  readonly options: JsonObject;
}

/** What a Create hook asks for. */
export interface CreateResult {
  readonly messages?: readonly ChatMessage[];
  /** Call options it overrides: connector, temperature, max_tokens, … */
  readonly options: JsonObject;
  readonly mcpServers?: readonly McpServerRef[];
  readonly promptPreset?: string;
  readonly disableGlobalPrompts?: boolean;
  readonly locale?: string;
  readonly theme?: string;
  readonly route?: string;
  readonly metadata?: JsonObject;
  readonly uses?: JsonObject;
  readonly forceUses?: boolean;
  readonly search?: Json;
  readonly delegate?: Delegate;
  /** As it was returned. */
  readonly raw: JsonObject;
}

/** What a Next hook asks for. */
export interface NextResult {
  readonly delegate?: Delegate;
  /** What becomes `next` of the response. */
  readonly next: Json;
}

/** Reads what Create returned; undefined for nothing. */
export function readCreate(value: Json | undefined): CreateResult | undefined {
  if (value === undefined || value === null) return undefined;
  const reader = new HookReader("Create", value);
  const messages = reader.messages("messages");
  const options = {
    ...reader.numbers("temperature", "max_tokens", "max_completion_tokens"),
    ...reader.texts("connector"),
    ...reader.objects("audio"),
  };
  const mcpServers = reader.servers("mcp_servers");
  const promptPreset = reader.text("prompt_preset");
  const disableGlobalPrompts = reader.flag("disable_global_prompts");
  const metadata = reader.object("metadata");
  const uses = reader.object("uses");
  const forceUses = reader.flag("force_uses");
  const search = reader.value("search");
  const delegate = reader.delegate();
  return {
    ...(messages && { messages }),
    options,
    ...(mcpServers && { mcpServers }),
    ...(promptPreset !== undefined && { promptPreset }),
    ...(disableGlobalPrompts !== undefined && { disableGlobalPrompts }),
    ...reader.texts("locale", "theme", "route"),
    ...(metadata && { metadata }),
    ...(uses && { uses }),
    ...(forceUses !== undefined && { forceUses }),
    ...(search !== undefined && { search }),
    ...(delegate && { delegate }),
    raw: reader.source,
  };
}

/** Reads what Next returned; undefined for nothing, which means the standard response. */
export function readNext(value: Json | undefined): NextResult | undefined {
  if (value === undefined || value === null) return undefined;
  const reader = new HookReader("Next", value);
  const delegate = reader.delegate();
  const data = reader.value("data");
  return { ...(delegate && { delegate }), next: data ?? reader.source };
}

/** Reads fields of what one hook returned. */
class HookReader {
  readonly source: JsonObject;
  readonly #hook: string;

  constructor(hook: string, value: Json) {
    if (!isObject(value)) throw wrong(`what ${hook} returns`, "an object or null");
    this.#hook = hook;
    this.source = value;
  }

  value(key: string): Json | undefined {
    const value = this.source[key];
    return value === null ? undefined : value;
  }

  text(key: string): string | undefined {
    const value = this.value(key);
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string") throw this.#wrong(key, "a text");
    return value;
  }

  flag(key: string): boolean | undefined {
    const value = this.value(key);
    if (value === undefined || typeof value === "boolean") return value;
    throw this.#wrong(key, "true or false");
  }

  object(key: string): JsonObject | undefined {
    const value = this.value(key);
    if (value === undefined) return undefined;
    if (!isObject(value)) throw this.#wrong(key, "an object");
    return value;
  }

  texts<Key extends string>(...keys: readonly Key[]): { readonly [K in Key]?: string } {
    return this.#present(keys, (key) => this.text(key));
  }

  objects<Key extends string>(...keys: readonly Key[]): { readonly [K in Key]?: JsonObject } {
    return this.#present(keys, (key) => this.object(key));
  }

  numbers<Key extends string>(...keys: readonly Key[]): { readonly [K in Key]?: number } {
    return this.#present(keys, (key) => {
      const value = this.value(key);
      if (value === undefined || typeof value === "number") return value;
      throw this.#wrong(key, "a number");
    });
  }

  messages(key: string): readonly ChatMessage[] | undefined {
    const value = this.value(key);
    return value === undefined ? undefined : readChatMessages(value, `${this.#hook}: ${key}`);
  }

  servers(key: string): readonly McpServerRef[] | undefined {
    const value = this.value(key);
    if (value !== undefined && !Array.isArray(value)) throw this.#wrong(key, "a list of servers");
    return value === undefined ? undefined : mcpServerRefs(value);
  }

  delegate(): Delegate | undefined {
    const given = this.object("delegate");
    if (given === undefined) return undefined;
    const { agent_id: agentId, options } = given;
    if (typeof agentId !== "string" || agentId === "") throw this.#wrong("delegate.agent_id", "the id of an agent");
    const messages = readChatMessages(given["messages"] ?? [], `${this.#hook}: delegate.messages`);
    return { agentId, messages, options: isObject(options) ? options : {} };
  }

  #present<Key extends string, Value>(
    keys: readonly Key[],
    read: (key: Key) => Value | undefined,
  ): { readonly [K in Key]?: Value } {
    const entries = keys.flatMap((key) => {
      const value = read(key);
      return value === undefined ? [] : [[key, value] as const];
    });
    return Object.fromEntries(entries) as { readonly [K in Key]?: Value };
  }

  #wrong(key: string, expected: string): MeshError {
    return wrong(`${this.#hook} returned "${key}", which`, expected);
  }
}

function wrong(what: string, expected: string): MeshError {
  return new MeshError("invalid_argument", `${what} must be ${expected}`);
}
