/**
 * One agent at work: history, Create, delegation or model and tools, Next, delegation, response.
 *
 * G1  The order is always the same, whichever parts an assistant has; an assistant without prompts and without MCP servers
 *     asks no model, and its hooks run all the same.
 * G2  A model that failed is Next's business first: what Next returns then is the answer; nothing or no Next, and the failure
 *     is the agent's.
 * G3  `next` of the response is what Next returned as `data`, else all it returned; who delegates answers as the delegate does.
 * G4  Precedence of options: the assistant's, then the caller's, then what Create returned.
 */

import { DEFAULT_LIMITS } from "@mesh/agent";
import type { Assistant, McpServerRef } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { AgentContext } from "./agent-context.ts";
import { type AgentRequest, type AgentResponse, assistantOf } from "./agent-request.ts";
import { callerFunctions, responseFormatOf, toolChoiceOf } from "./caller-function.ts";
import { type ChatMessage, chatText, toLoop } from "./chat-message.ts";
import { withReferences } from "./content/auto-search.ts";
import { loopFallback } from "./content/loop-fallback.ts";
import { resolveContent } from "./content/resolve-content.ts";
import { effectiveUses, forcesUses } from "./content/uses.ts";
import { type CreateResult, type Delegate, readCreate, readNext } from "./hook-result.ts";
import { callsModel, prepareModelCall } from "./model-call.ts";
import { askModel, type ModelAnswer, type ResumedTalk, type Rounds, type SuspendedTalk } from "./model-run.ts";
import { toolsOf } from "./mcp-tool.ts";
import type { ItemAnswer } from "./pending.ts";
import type { RunInput } from "./run-input.ts";
import type { SavedCall, SavedRun } from "./saved-run.ts";
import { callHook, hasHook } from "./script-call.ts";
import { skips } from "./skip.ts";
import { toldError } from "./told-error.ts";

/** Runs one agent to its response; throws what it failed with. */
export async function callAgent(request: AgentRequest, context: AgentContext): Promise<AgentResponse> {
  try {
    return await beginAgent(request, context);
  } finally {
    // Tools send as well, and nobody but the agent knows when the last of them has.
    context.hookOutput.endAll();
  }
}

async function beginAgent(request: AgentRequest, context: AgentContext): Promise<AgentResponse> {
  context.signal.throwIfAborted();
  const assistant = assistantOf(request.assistantId, context.shared.input);
  const messages = await withHistory(request, context);
  const call = { assistant, options: request.options, context };
  const create = await runCreate(call, messages);
  if (create?.delegate !== undefined) return delegated(create.delegate, context, messages);
  const prepared = { create, said: create?.messages ?? messages, ...call };
  const said = asksModel(prepared) ? await withReferences(prepared.said, prepared) : prepared.said;
  return finish({ ...prepared, said }, undefined);
}

/** Goes on with an agent that waited for a person. */
export async function resumeAgent(
  { call: saved, ...talk }: SavedRun & { readonly call: SavedCall },
  answers: readonly ItemAnswer[],
  context: AgentContext,
): Promise<AgentResponse> {
  context.signal.throwIfAborted();
  const { assistantId, options, messages, locale, theme, route, referer, metadata } = saved;
  Object.assign(context, { locale, theme, route, referer, metadata });
  const memory = { cleared: true, set: saved.memory ?? [], deleted: [], added: [], pushed: [] };
  context.contextMemory.apply(JSON.stringify(memory));
  const assistant = assistantOf(assistantId, context.shared.input);
  const call = { assistant, options, context, create: readCreate(saved.create), said: messages };
  try {
    return await finish(call, { saved: talk, answers });
  } finally {
    context.hookOutput.endAll();
  }
}

/** The model, its tools, Next, the response. */
async function finish(call: PreparedCall, resume: ResumedTalk | undefined): Promise<AgentResponse> {
  const { assistant, context, create, said, options } = call;
  const answer = await answerOf(call, resume);
  if (answer?.suspended !== undefined) throw suspensionOf(call, answer.suspended);
  if (answer?.error !== undefined && context.signal.aborted) throw answer.error;
  const next = readNext(await callHook("Next", [payloadOf(said, answer, context), options], call));
  if (next?.delegate !== undefined) return delegated(next.delegate, context, said);
  if (answer?.error !== undefined && next === undefined) throw answer.error;
  return responseOf({ assistant, context, create, next: next?.next, answer });
}

/** What a Next hook is told. */
function payloadOf(
  said: readonly ChatMessage[],
  answer: ModelAnswer | undefined,
  { shared }: AgentContext,
): JsonObject {
  const { completion, tools = [], error } = answer ?? {};
  return {
    messages: said as unknown as Json,
    ...(completion === undefined ? {} : { completion: completion as unknown as Json }),
    ...(tools.length === 0 ? {} : { tools: tools as unknown as Json }),
    ...(error === undefined ? {} : { error: toldError(error, shared).message }),
  };
}

interface AgentCall {
  readonly assistant: Assistant;
  readonly options: JsonObject;
  readonly context: AgentContext;
}

/** A call whose Create hook has run. */
interface PreparedCall extends AgentCall {
  readonly create: CreateResult | undefined;
  /** What the model is told. */
  readonly said: readonly ChatMessage[];
}

/** Thrown where an agent must wait for a person; whoever runs the agent saves it and goes on later. */
export class Suspension extends Error {
  readonly waiting: SuspendedTalk["waiting"];
  readonly saved: Omit<SavedRun, "output">;

  constructor(waiting: SuspendedTalk["waiting"], saved: Omit<SavedRun, "output">) {
    super("the agent waits for a person");
    this.waiting = waiting;
    this.saved = saved;
  }
}

function suspensionOf({ assistant, options, context, create, said }: PreparedCall, talk: SuspendedTalk): Error {
  if (context.depth > 0) {
    return new MeshError(
      "failed_precondition",
      `${assistant.id} must ask a person, which an agent that another one called cannot do; let the run itself ask`,
    );
  }
  const { locale, theme, route, referer, metadata } = context;
  const call: SavedCall = {
    assistantId: assistant.id,
    options,
    messages: said,
    create: create?.raw ?? null,
    locale,
    theme,
    route,
    referer,
    metadata,
    memory: JSON.parse(context.contextMemory.snapshot()) as Json,
  };
  return new Suspension(talk.waiting, { ...talk.saved, call });
}

async function withHistory(request: AgentRequest, context: AgentContext): Promise<readonly ChatMessage[]> {
  const { chatId, shared, signal } = context;
  const { state } = shared.ports;
  if (chatId === undefined || state === undefined || skips(request.options, "history")) return request.messages;
  const stored = await state.call("chat", "History", [], signal);
  const history = Array.isArray(stored) ? (stored as unknown as readonly ChatMessage[]) : [];
  return [...history.slice(0, history.length - overlap(history, request.messages)), ...request.messages];
}

/** How many messages at the end of the history the caller has sent again. */
function overlap(history: readonly ChatMessage[], messages: readonly ChatMessage[]): number {
  const same = (a: ChatMessage | undefined, b: ChatMessage | undefined): boolean =>
    a !== undefined && b !== undefined && a.role === b.role && chatText(a) === chatText(b);
  for (let length = Math.min(history.length, messages.length - 1); length > 0; length -= 1) {
    const from = history.length - length;
    if (messages.slice(0, length).every((message, index) => same(history[from + index], message))) return length;
  }
  return 0;
}

async function runCreate(call: AgentCall, messages: readonly ChatMessage[]): Promise<CreateResult | undefined> {
  const { options, context } = call;
  const create = readCreate(await callHook("Create", [messages as unknown as Json, options], call));
  if (create === undefined) return undefined;
  // What Create says about the request holds for all that follows in it.
  context.locale = create.locale ?? context.locale;
  context.theme = create.theme ?? context.theme;
  context.route = create.route ?? context.route;
  context.metadata = { ...context.metadata, ...create.metadata };
  return create;
}

async function delegated(
  { agentId, messages, options }: Delegate,
  context: AgentContext,
  said: readonly ChatMessage[],
): Promise<AgentResponse> {
  context.enterDelegate();
  const { metadata } = options;
  if (isObject(metadata)) context.metadata = { ...context.metadata, ...metadata };
  // The delegate goes on with this conversation: its history is in the messages already.
  const skip = { ...(isObject(options["skip"]) ? options["skip"] : {}), history: true };
  return callAgent(
    { assistantId: agentId, messages: messages.length === 0 ? said : messages, options: { ...options, skip } },
    context,
  );
}

async function answerOf(call: PreparedCall, resume: ResumedTalk | undefined): Promise<ModelAnswer | undefined> {
  if (!asksModel(call)) return undefined;
  const { assistant, create, context, said, options } = call;
  const input = effectiveInput(call);
  const servers = serversOf(call);
  const { clock } = context.shared.ports;
  const model = prepareModelCall(input, assistant, context.shared.ports);
  const { tools: names, approve } = model;
  const offered = await toolsOf({ names, approve, servers, assistant, context });
  const { guarded, samples } = offered;
  const asked = context.depth === 0 ? context.shared.input.options : {};
  const tools = [...offered.tools, ...callerFunctions(asked, offered.tools)];
  const responseFormat = responseFormatOf(asked);
  const toolChoice = toolChoiceOf(asked, tools);
  const uses = effectiveUses({ assistant, options, create, app: input.app });
  const fallback = loopFallback(uses, assistant, context);
  const content = { context, assistant, uses, isForced: forcesUses(call), sees: model.target.model.vision !== false };
  // A talk that goes on has its history already.
  const isReady = resume !== undefined || skips(options, "content_parsing");
  const loop = toLoop(isReady ? said : await resolveContent(said, content), clock.now());
  return askModel(
    {
      target: model.target,
      systemPrompt: [model.systemPrompt, samples, loop.system].filter((text) => text !== "").join("\n\n"),
      history: [...model.examples, ...loop.history],
      prompts: loop.prompts,
      tools,
      rounds: await roundsOf(assistant, context),
      guarded,
      isSteered: context.depth === 0,
      label: assistant.id,
      ...(resume === undefined ? {} : { resume }),
      ...(fallback === undefined ? {} : { fallback }),
      ...(responseFormat === undefined ? {} : { responseFormat }),
      ...(toolChoice === undefined ? {} : { toolChoice }),
    },
    context,
  );
}

/** Whether the agent asks a model at all; see `callsModel`. */
function asksModel(call: PreparedCall): boolean {
  return serversOf(call).length > 0 || callsModel(call.assistant, presetIn(call));
}

function serversOf({ assistant, create }: PreparedCall): readonly McpServerRef[] {
  return create?.mcpServers ?? assistant.mcp.servers;
}

/**
 * An assistant with a Next hook reads the results of its tools itself, unless it asks for the loop; the model is asked again
 * only to correct calls that failed. Without one, the results go back to the model until it has an answer.
 */
async function roundsOf(assistant: Assistant, context: AgentContext): Promise<Rounds> {
  const { hasToolLoop, maxTurns = DEFAULT_LIMITS.maxTurns } = assistant.mcp;
  const isLoop = hasToolLoop ?? !(await hasHook("Next", assistant, context));
  return isLoop ? { kind: "loop", maxTurns } : { kind: "once" };
}

/** The run's input as this agent sees it. */
function effectiveInput({ options, create, context, said }: PreparedCall): RunInput {
  const { input } = context.shared;
  const about = { locale: context.locale, theme: context.theme, route: context.route, referer: context.referer };
  const last = said.findLast((message) => message.role === "user");
  const disable = create?.disableGlobalPrompts ?? options["disable_global_prompts"];
  return {
    ...input,
    input: last === undefined ? "" : wordsOf(last),
    options: { ...options, ...create?.options },
    metadata: {
      ...context.metadata,
      ...(typeof disable === "boolean" ? { __disable_global_prompts: disable } : {}),
      ...(create?.promptPreset === undefined ? {} : { __prompt_preset: create.promptPreset }),
    },
    context: { ...input.context, ...about },
  };
}

/** What a message says; one that only shows something is not an empty one. */
function wordsOf(message: ChatMessage): string {
  const text = chatText(message);
  const isShown = Array.isArray(message.content) && message.content.length > 0;
  return text.trim() === "" && isShown ? "(see the attachments)" : text;
}

/** The preset of prompts that Create chose, else the caller. */
function presetIn({ create, context }: PreparedCall): string | undefined {
  const preset = create?.promptPreset ?? context.metadata["__prompt_preset"];
  return typeof preset === "string" && preset !== "" ? preset : undefined;
}

function responseOf(parts: {
  readonly assistant: Assistant;
  readonly context: AgentContext;
  readonly create: CreateResult | undefined;
  readonly next: Json | undefined;
  readonly answer: ModelAnswer | undefined;
}): AgentResponse {
  const { assistant, context, create, next, answer } = parts;
  const { runId } = context.shared.input.context;
  const note = answer === undefined ? "the assistant has no prompts, so no model was called" : answer.note;
  return {
    request_id: runId,
    context_id: runId,
    trace_id: context.trace.id,
    chat_id: context.chatId ?? "",
    assistant_id: assistant.id,
    ...(create === undefined ? {} : { create: create.raw }),
    ...(next === undefined ? {} : { next }),
    ...(answer?.completion === undefined ? {} : { completion: answer.completion }),
    ...(answer === undefined || answer.tools.length === 0 ? {} : { tools: answer.tools }),
    ...(note === undefined ? {} : { note }),
  };
}
