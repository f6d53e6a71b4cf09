/** What a run asks of its model: which connector, which options, which messages, which tools. */

import { type Assistant, type Prompt, renderPrompts, resolveConnector } from "@mesh/assistants";
import type { AgentMessage } from "@mesh/agent";
import { type Clock, isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import {
  type Connector,
  type ConnectorModel,
  connectorModel,
  type ModelConfig,
  NO_USAGE,
  type PriceBook,
  textContent,
  withOptions,
} from "@mesh/llm";

import type { RunInput, RunPorts } from "./run-input.ts";

/** A run's model and what it is told before the input. */
export interface ModelCall {
  readonly target: ConnectorModel;
  readonly systemPrompt: string;
  /** Said before, as the prompts have it. */
  readonly examples: readonly AgentMessage[];
  /** Names of the built-in tools it may use. */
  readonly tools: readonly string[];
  /** Names of those that a person must approve. */
  readonly approve: readonly string[];
}

const MAX_TOOLS = 32;

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
export function prepareModelCall(
  input: RunInput,
  assistant: Assistant,
  { clock, prices }: Pick<RunPorts, "clock" | "prices">,
): ModelCall {
  if (input.input.trim() === "") {
    throw new MeshError("invalid_argument", "the input is empty; say what the assistant should do");
  }
  const options = { ...assistant.options, ...input.options };
  const target = targetOf(input, assistant, options, prices);
  const prompts = promptsOf(input, assistant, clock);
  const isSystem = (prompt: Prompt): boolean => prompt.role === "system";
  return {
    target,
    systemPrompt: prompts
      .filter(isSystem)
      .map((prompt) => prompt.content)
      .join("\n\n"),
    examples: prompts
      .filter((prompt) => !isSystem(prompt))
      .map((prompt) => exampleOf(prompt, target.model, clock.now())),
    tools: toolNames("tools", options["tools"]),
    // A call adds to what its assistant has approved by a person, and takes nothing away.
    approve: [assistant.options, input.options].flatMap((given) => toolNames("approve", given["approve"])),
  };
}

/** The model that `options` name, or the assistant's, with what they ask of it. */
export function targetOf(
  input: RunInput,
  assistant: Assistant,
  options: JsonObject,
  prices: PriceBook | undefined,
): ConnectorModel {
  return connectorModel(withOptions(connectorOf(input, assistant), options), prices);
}

/** Names of tools in an option of that name. */
export function toolNames(option: string, value: Json | undefined): readonly string[] {
  if (value === undefined || value === null) return [];
  const names = Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
  if (Array.isArray(value) && names.length === value.length && names.length <= MAX_TOOLS) return names;
  throw new MeshError(
    "invalid_argument",
    `the option "${option}" must be a list of at most ${MAX_TOOLS} names of built-in tools, such as ["bash"]`,
  );
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

function exampleOf({ role, content }: Prompt, model: ModelConfig, timestamp: number): AgentMessage {
  const said = { content: [textContent(content)], timestamp };
  if (role !== "assistant") return { role: "user", ...said };
  return { role, ...said, stopReason: "stop", model: model.id, provider: model.provider, usage: NO_USAGE };
}

function deviceTimezone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
