/** One agent's talk with its model: the loop is driven to its end, which is read as a completion and the results of its tools. */

import {
  type AgentMessage,
  type AgentTool,
  ALLOW,
  continueRun,
  DEFAULT_LIMITS,
  lastAssistant,
  type LoopConfig,
  messageText,
  resumeRun,
  type RunEnd,
  type RunIo,
  type RunResult,
  type RunStats,
  SharedState,
  sharedStateTool,
  startRun,
  stopMarkerKind,
  type ToolMiddleware,
  type ToolSettings,
  totalSpend,
  type WaitingCall,
} from "@mesh/agent";
import { type Json, MeshError } from "@mesh/kernel";
import {
  type AssistantMessage,
  type ConnectorModel,
  type ResponseFormat,
  type StopReason,
  type StreamConfig,
  type StreamProvider,
  type StreamSink,
  type ToolChoice,
  toolCallsOf,
} from "@mesh/llm";

import type { AgentContext } from "./agent-context.ts";
import { toWireCall } from "./chat-message.ts";
import { LoopOutput } from "./loop-output.ts";
import type { Completion, ToolResponse } from "./completion.ts";
import type { Usage } from "./message.ts";
import { type FallbackAnswer, isUnanswered, withLastAnswer } from "./content/last-answer.ts";
import { callAnswers, type ItemAnswer } from "./pending.ts";
import type { RunShared } from "./run-shared.ts";
import { type SavedRun, stashEntries } from "./saved-run.ts";
import { Steering } from "./steering.ts";
import { toldError } from "./told-error.ts";

/** How often the model may answer: until it calls no more tools, or until its tools have run without an error. */
export type Rounds = { readonly kind: "loop"; readonly maxTurns: number } | { readonly kind: "once" };

/** A tool and where it comes from, as hooks are told. */
export interface SourcedTool {
  readonly server: string;
  readonly name: string;
  readonly tool: AgentTool;
}

/** One talk. */
export interface ModelRequest {
  readonly target: ConnectorModel;
  readonly systemPrompt: string;
  readonly history: readonly AgentMessage[];
  readonly prompts: readonly AgentMessage[];
  readonly tools: readonly SourcedTool[];
  readonly rounds: Rounds;
  /** Names, as the model has them, of tools that a person must approve, call by call. */
  readonly guarded?: ReadonlySet<string>;
  /** Present when the talk goes on from where it waited for a person. */
  readonly resume?: ResumedTalk;
  /** The form the answer must have. */
  readonly responseFormat?: ResponseFormat;
  readonly toolChoice?: ToolChoice;
  /** Answers when the turns are used up, before the model itself is asked for a last word. */
  readonly fallback?: FallbackAnswer;
  /** It hears what people say to the run meanwhile. */
  readonly isSteered?: boolean;
  /** For logs. */
  readonly label: string;
}

/** A talk that waited, and what it was told. */
export interface ResumedTalk {
  readonly saved: Pick<SavedRun, "agent" | "stash" | "responses">;
  readonly answers: readonly ItemAnswer[];
}

/** A talk that waits for a person. */
export interface SuspendedTalk {
  readonly waiting: readonly WaitingCall[];
  readonly saved: Pick<SavedRun, "agent" | "stash" | "responses">;
}

/** How a talk ended. */
export interface ModelAnswer {
  readonly completion: Completion | undefined;
  readonly tools: readonly ToolResponse[];
  /** Why there is no usable answer; already a `MeshError` with words for users where it came from a provider. */
  readonly error?: unknown;
  /** Why the loop stopped before the model was done. */
  readonly note?: string;
  /** Present when a person must answer first. */
  readonly suspended?: SuspendedTalk;
}

/** Server of the functions that a script passes with a completion: it runs them itself. */
export const CALLER = "caller";

const MAX_TOOL_RETRIES = 2;

const REASONS: Readonly<Partial<Record<StopReason, string>>> = {
  length: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
};

/** Whose run it is, where the talk is shown, what stops it. */
export type ModelRunContext = Pick<AgentContext, "shared" | "out" | "signal">;

/** Talks to the model; rejects only for misuse. */
export async function askModel(request: ModelRequest, context: ModelRunContext): Promise<ModelAnswer> {
  const { shared, signal, out } = context;
  const { clock, random, log, providers } = shared.ports;
  const { model, defaults } = request.target;
  const provider = new WatchedProvider(providers.resolve(model.api));
  const responses = request.resume === undefined ? [] : responsesBefore(request.resume);
  const tools = request.tools.map((each) => recorded(each, responses, shared));
  const { resume } = request;
  const stash = new SharedState();
  for (const [key, value] of resume?.saved.stash ?? []) await stash.set(key, value);
  const maxTurns = request.rounds.kind === "loop" ? request.rounds.maxTurns : 1 + MAX_TOOL_RETRIES;
  const steering = steeringOf(request, shared);
  const config: LoopConfig = {
    model,
    provider,
    systemPrompt: request.systemPrompt,
    clock,
    runId: shared.input.context.runId,
    label: request.label,
    ...formOf(request),
    ...(request.toolChoice === undefined ? {} : { toolChoice: request.toolChoice }),
    // How long a run may take is the device's business: it ends the run at its time-out, in the middle of a turn if need be.
    limits: { ...DEFAULT_LIMITS, maxTurns, maxDurationMs: Number.POSITIVE_INFINITY },
    beforeTurn: async (messages, turn) => {
      // The model is not asked again before its reader has taken what was said.
      await shared.drained();
      const goesOn = turn === 0 || request.rounds.kind === "loop" || hasFailedTool(messages);
      if (goesOn) steering?.read();
      return goesOn;
    },
    ...(steering === undefined ? {} : { pollSteering: steering.poll }),
    ...(random === undefined ? {} : { random }),
    ...(log === undefined ? {} : { log }),
    ...defaults,
    ...toolSettings(tools, stash),
    ...gateOf(request),
  };
  const io = { history: [...request.history], sink: new LoopOutput(out).sink, signal };
  const result = await begun(request, config, io);
  if (result.end.kind === "waiting" && result.waiting.some((call) => !isOnlyCalled(call, request))) {
    const saved = { agent: result.state, stash: await stashEntries(stash), responses };
    return { completion: undefined, tools: responses, suspended: { waiting: result.waiting, saved } };
  }
  const { rounds, fallback } = request;
  const isCut = rounds.kind === "loop" && isUnanswered(result, rounds.maxTurns);
  const ended = isCut
    ? await withLastAnswer({ result, config, io, ...(fallback === undefined ? {} : { fallback }) })
    : result;
  shared.spend(ended.stats);
  const told = inOrder([...responses, ...refusedCalls(ended.messages, request.tools, responses)], ended.messages);
  return answerOf(ended, told, { thrown: provider.failure, rounds });
}

/** A conversation that ends with results of functions goes on from them; any other begins with what was said last. */
function begun({ resume, prompts, history }: ModelRequest, config: LoopConfig, io: RunIo): Promise<RunResult> {
  if (resume !== undefined) return resumeRun(resume.saved.agent, callAnswers(resume.answers), config, io);
  const goesOn = prompts.length === 0 && history.at(-1)?.role === "toolResult";
  return goesOn ? continueRun(config, io) : startRun(prompts, config, io);
}

function steeringOf({ isSteered, rounds, resume }: ModelRequest, shared: RunShared): Steering | undefined {
  if (isSteered !== true || rounds.kind !== "loop" || shared.ports.steering === undefined) return undefined;
  return new Steering(shared, { used: resume?.saved.agent.stats.turns ?? 0, most: rounds.maxTurns });
}

function formOf({ responseFormat, target }: ModelRequest): Pick<LoopConfig, "responseFormat" | "extraBody"> {
  if (responseFormat === undefined) return {};
  // Servers of this protocol take "any object" by another name, and refuse it as a schema.
  const isAnyObject = Object.keys(responseFormat.schema).length === 1 && responseFormat.schema["type"] === "object";
  if (!isAnyObject || target.model.api !== "openai-completions") return { responseFormat };
  return { extraBody: { response_format: { type: "json_object" } } };
}

/** What of a tool's output does not fit the history stays readable for the model while the run lasts. */
function toolSettings(tools: readonly AgentTool[], stash: SharedState): ToolSettings {
  if (tools.every((tool) => tool.execute === undefined)) return { tools };
  return { tools: [...tools, sharedStateTool(stash)], outputStash: stash };
}

function gateOf({ guarded }: ModelRequest): Pick<ToolSettings, "middleware"> {
  if (guarded === undefined || guarded.size === 0) return {};
  const beforeTool: ToolMiddleware["beforeTool"] = ({ name }) =>
    guarded.has(name) ? { kind: "ask", reason: `${name} needs your approval` } : ALLOW;
  return { middleware: [{ beforeTool }] };
}

/** Whether a call is of a function that the caller runs, such that the call itself is the answer. */
function isOnlyCalled({ need, toolName }: WaitingCall, { tools }: ModelRequest): boolean {
  return need === "external" && tools.some((each) => each.tool.name === toolName && each.server === CALLER);
}

/** What tools did before the talk goes on. What a person answers is the result of a tool that nothing runs. */
function responsesBefore({ saved, answers }: ResumedTalk): ToolResponse[] {
  const answered = saved.agent.pending.flatMap(({ call, args }): ToolResponse[] => {
    const answer = answers.find((each) => each.call_id === call.id && each.decision === "answer");
    if (answer === undefined) return [];
    return [{ toolcall_id: call.id, server: "", tool: call.name, arguments: args, result: answer.text ?? "" }];
  });
  return [...(saved.responses ?? []), ...answered];
}

/** A tool that also keeps what hooks are told about its calls. */
function recorded({ server, name, tool }: SourcedTool, responses: ToolResponse[], shared: RunShared): AgentTool {
  const execute = tool.execute?.bind(tool);
  if (execute === undefined) return tool;
  return {
    ...tool,
    execute: async (args, call) => {
      const head = { toolcall_id: call.callId, server, tool: name, arguments: args };
      try {
        const output = await execute(args, call);
        responses.push({ ...head, result: parsedResult(output.details, output.content) });
        return output;
      } catch (error) {
        responses.push({ ...head, error: toldError(error, shared).message });
        throw error;
      }
    },
  };
}

/** What a tool gave, as data: its own details where it has some, else its text, read as JSON where it is JSON. */
function parsedResult(
  details: Json | undefined,
  content: readonly { readonly type: string; readonly text?: string }[],
): Json {
  if (details !== undefined) return details;
  const text = content.map((part) => part.text ?? "").join("\n");
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

function hasFailedTool(messages: readonly AgentMessage[]): boolean {
  const lastAnswer = messages.findLastIndex((message) => message.role === "assistant");
  return messages.slice(lastAnswer + 1).some((message) => message.role === "toolResult" && message.isError);
}

/** Calls that never reached their tool, such as those whose arguments do not fit its schema. */
function refusedCalls(
  messages: readonly AgentMessage[],
  tools: readonly SourcedTool[],
  responses: readonly ToolResponse[],
): readonly ToolResponse[] {
  const known = new Set(responses.map((response) => response.toolcall_id));
  const asked = new Map(
    messages
      .flatMap((message) => (message.role === "assistant" ? toolCallsOf(message) : []))
      .map((call) => [call.id, call]),
  );
  return messages.flatMap((message): ToolResponse[] => {
    if (message.role !== "toolResult" || !message.isError || known.has(message.toolCallId)) return [];
    const tool = tools.find((each) => each.tool.name === message.toolName);
    return [
      {
        toolcall_id: message.toolCallId,
        server: tool?.server ?? "",
        tool: tool?.name ?? message.toolName,
        arguments: asked.get(message.toolCallId)?.arguments ?? {},
        error: messageText(message),
      },
    ];
  });
}

/** As the model was told of them; those of a history that was cut come first. */
function inOrder(responses: readonly ToolResponse[], messages: readonly AgentMessage[]): readonly ToolResponse[] {
  const places = new Map<string, number>();
  for (const [place, message] of messages.entries()) {
    if (message.role === "toolResult") places.set(message.toolCallId, place);
  }
  const placeOf = ({ toolcall_id: id }: ToolResponse): number => places.get(id) ?? -1;
  return responses.toSorted((a, b) => placeOf(a) - placeOf(b));
}

function answerOf(
  result: RunResult,
  tools: readonly ToolResponse[],
  { thrown, rounds }: { readonly thrown: unknown; readonly rounds: Rounds },
): ModelAnswer {
  const last = lastAssistant(result.messages);
  const completion = last === undefined ? undefined : completionOf(last, result);
  const error = failureOf(result, thrown);
  if (error !== undefined) return { completion, tools, error };
  // A talk of one round stops by itself once its tools have run.
  const isCut = result.end.kind === "stopped" && (rounds.kind === "loop" || hasFailedTool(result.messages));
  if (completion === undefined || result.end.kind !== "stopped" || !isCut) return { completion, tools };
  return { completion: { ...completion, finish_reason: "stopped" }, tools, note: result.end.reason };
}

function completionOf(last: AssistantMessage, { stats }: RunResult): Completion {
  const reasoning = last.content.map((part) => (part.type === "thinking" ? part.thinking : "")).join("");
  const calls = toolCallsOf(last).map(toWireCall);
  const usage = usageOf(stats);
  return {
    content: messageText(last),
    model: last.model,
    finish_reason: REASONS[last.stopReason] ?? "stop",
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** What a talk failed with: the provider's own error where there was one, for its code and its words. */
function failureOf(result: RunResult, thrown: unknown): unknown {
  const { end } = result;
  if (end.kind === "failed") return thrown ?? new MeshError("internal", end.error);
  return reasonOf(end, result);
}

function reasonOf(end: Exclude<RunEnd, { kind: "failed" }>, { messages }: RunResult): MeshError | undefined {
  const last = messages.at(-1);
  switch (end.kind) {
    case "completed":
      return undefined;
    case "stopped":
      // A limit leaves a partial success; a model that repeats itself does not get anywhere.
      if (last === undefined || stopMarkerKind(messageText(last)) !== "loop") return undefined;
      return new MeshError("aborted", `the run was stopped: ${end.reason}`);
    case "cancelled":
      return new MeshError("cancelled", "the run was cancelled");
    case "rejected":
      return new MeshError("invalid_argument", end.reason);
    case "waiting":
      // Functions that the caller runs: the calls are the answer.
      return undefined;
  }
}

/** Tokens and money as users' programs are told; undefined where no model was asked. */
export function usageOf(stats: RunStats): Usage | undefined {
  const { usage, costUsd } = totalSpend(stats);
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  if (prompt + usage.output === 0) return undefined;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    ...(costUsd === null ? {} : { cost_usd: costUsd }),
  };
}

/** Remembers what the last call failed with: the loop tells only its words. */
class WatchedProvider implements StreamProvider {
  readonly #inner: StreamProvider;
  failure: unknown;

  constructor(inner: StreamProvider) {
    this.#inner = inner;
  }

  get protocol(): StreamProvider["protocol"] {
    return this.#inner.protocol;
  }

  async stream(config: StreamConfig, sink: StreamSink, signal: AbortSignal): Promise<AssistantMessage> {
    this.failure = undefined;
    try {
      return await this.#inner.stream(config, sink, signal);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}
