/** The one model call of a run: which connector, which options, which messages. */

import { type Assistant, type Prompt, renderPrompts, resolveConnector } from "@mesh/assistants";
import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { ChatMessage, ChatRequest, Connector } from "@mesh/llm";

import type { RunInput } from "./run-input.ts";

/** A model call, ready to be made. */
export interface ModelCall {
  readonly connector: Connector;
  readonly request: ChatRequest;
}

/**
 * Whether a run of this assistant calls a model. As the specification has it, an assistant without prompts and without
 * MCP servers calls none: such assistants live by their hooks.
 */
export function callsModel(assistant: Assistant, preset: string | undefined): boolean {
  const { mcp } = assistant.source;
  const servers = isObject(mcp) ? mcp["servers"] : undefined;
  return preset !== undefined || assistant.prompts.length > 0 || (Array.isArray(servers) && servers.length > 0);
}

/** Prepares the call; throws what the user must fix. */
export function prepareModelCall(input: RunInput, assistant: Assistant, clock: Clock): ModelCall {
  if (input.input.trim() === "") {
    throw new MeshError("invalid_argument", "the input is empty; say what the assistant should do");
  }
  const connector = connectorOf(input, assistant);
  const messages = promptsOf(input, assistant, clock).map(toMessage);
  return {
    connector,
    request: {
      messages: [...messages, { role: "user", content: input.input }],
      options: { ...assistant.options, ...input.options },
    },
  };
}

/** The preset that the caller's metadata chooses. */
export function presetOf(metadata: JsonObject): string | undefined {
  return textOf(metadata["__prompt_preset"]);
}

function connectorOf(input: RunInput, assistant: Assistant): Connector {
  const requested = textOf(input.options["connector"]);
  const found = resolveConnector({
    app: input.app,
    workspaceConnectors: input.connectors,
    assistant,
    ...(requested === undefined ? {} : { requested }),
    env: input.env,
  });
  const model = textOf(input.options["model"]);
  return model === undefined ? found : { ...found, model };
}

function promptsOf(input: RunInput, assistant: Assistant, clock: Clock): readonly Prompt[] {
  const { context, metadata } = input;
  const preset = presetOf(metadata);
  const disableGlobal = metadata["__disable_global_prompts"];
  return renderPrompts({
    app: input.app,
    assistant,
    ...(preset === undefined ? {} : { preset }),
    ...(typeof disableGlobal === "boolean" ? { disableGlobal } : {}),
    sys: { now: new Date(clock.now()), timezone: context.timezone ?? deviceTimezone() },
    env: input.env,
    ctx: contextVariables(input),
    ...(context.locale === undefined ? {} : { locale: context.locale }),
  });
}

// Who the caller is comes last: metadata is the caller's data and must not pass for it.
function contextVariables({ context, metadata }: RunInput): Readonly<Record<string, string>> {
  const given = Object.entries(metadata).map(([name, value]) => [name, plainText(value)] as const);
  const described = Object.entries({
    LOCALE: context.locale,
    THEME: context.theme,
    ROUTE: context.route,
    REFERER: context.referer,
  }).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries([
    ...given,
    ...described,
    ["WORKSPACE_ID", context.workspaceId],
    ["USER_ID", context.userId],
    ["CHAT_ID", context.chatId ?? ""],
    ["TEAM_ID", ""],
    ["TENANT_ID", ""],
  ]);
}

function plainText(value: Json): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toMessage(prompt: Prompt): ChatMessage {
  return {
    role: prompt.role,
    content: prompt.content,
    ...(prompt.name === undefined ? {} : { name: prompt.name }),
  };
}

function deviceTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
