/**
 * The last word of a talk whose turns are used up while the results of tools wait for an answer.
 *
 * E1  The user never gets an empty end: the agent that `uses.loop_fallback` names answers from what there is, else the model is
 *     asked once more, and may call nothing.
 * E2  Where that fails as well, the talk stands as it was.
 */

import {
  addStats,
  type AgentMessage,
  type AgentTool,
  lastAssistant,
  type LoopConfig,
  messageText,
  NUDGE_PREFIX,
  type RunIo,
  type RunResult,
  startRun,
  stopMarkerKind,
  toolFailed,
  userMessage,
} from "@mesh/agent";
import { errorText } from "@mesh/kernel";
import { type AssistantMessage, NO_USAGE, type StreamConfig, type StreamProvider, textContent } from "@mesh/llm";

/** A talk that was cut, and how to go on with it. */
export interface CutTalk {
  readonly result: RunResult;
  readonly config: LoopConfig;
  /** Its history is the whole talk. */
  readonly io: RunIo;
  /** Someone else who answers from the talk. */
  readonly fallback?: FallbackAnswer;
}

/** Answers from a talk; rejects when it cannot. */
export type FallbackAnswer = (talk: readonly AgentMessage[]) => Promise<string>;

const REQUEST =
  "You have used all the turns you have for tools; no further call is possible. Answer the user now with what you have found, " +
  "and say what is missing.";

/** Whether a talk ended at its limit of turns with nothing said about what its tools gave. */
export function isUnanswered({ messages, end, stats }: RunResult, maxTurns: number): boolean {
  if (end.kind !== "stopped" || stats.turns < maxTurns) return false;
  const spoken = messages.findLast((message) => message.role !== "extension" && stopKind(message) === undefined);
  return spoken?.role === "toolResult";
}

/** The talk with its last answer. */
export async function withLastAnswer({ result, config, io, fallback }: CutTalk): Promise<RunResult> {
  const talk = io.history.filter((message) => stopKind(message) === undefined);
  if (fallback !== undefined) {
    try {
      const text = await fallback(talk);
      return { ...result, messages: [...result.messages, saidBy(text, config)] };
    } catch (error) {
      if (io.signal.aborted) throw error;
      config.log?.("warn", "the fallback of a tool loop failed", { err: errorText(error) });
    }
  }
  const last = await startRun([userMessage(`${NUDGE_PREFIX}${REQUEST}`, config.clock.now())], lastConfig(config), {
    ...io,
    history: talk,
  });
  const spent = { ...result, stats: addStats(result.stats, last.stats) };
  if (last.end.kind === "cancelled") return { ...spent, end: last.end };
  const said = lastAssistant(last.messages);
  const isAnswered = last.end.kind === "completed" && said !== undefined && messageText(said).trim() !== "";
  return isAnswered ? { ...spent, messages: [...result.messages, ...last.messages] } : spent;
}

function stopKind(message: AgentMessage): ReturnType<typeof stopMarkerKind> {
  return message.role === "user" ? stopMarkerKind(messageText(message)) : undefined;
}

function saidBy(text: string, { model, clock }: LoopConfig): AssistantMessage {
  return {
    role: "assistant",
    content: [textContent(text)],
    stopReason: "stop",
    model: model.id,
    provider: model.provider,
    usage: NO_USAGE,
    timestamp: clock.now(),
  };
}

/** One turn. The tools stay declared, since some providers take no history with calls otherwise, but none may be called. */
function lastConfig({ tools = [], limits, provider, ...config }: LoopConfig): LoopConfig {
  return {
    ...config,
    tools: tools.map(refusing),
    provider: new SilentToolsProvider(provider),
    ...(limits === undefined || limits === null ? {} : { limits: { ...limits, maxTurns: 1 } }),
  };
}

// A model that does not obey `tool_choice` calls nothing either.
function refusing(tool: AgentTool): AgentTool {
  return {
    ...tool,
    execute: () => Promise.reject(toolFailed("no further call is possible; answer with what you have")),
  };
}

class SilentToolsProvider implements StreamProvider {
  readonly #inner: StreamProvider;

  constructor(inner: StreamProvider) {
    this.#inner = inner;
  }

  get protocol(): StreamProvider["protocol"] {
    return this.#inner.protocol;
  }

  stream(...[config, sink, signal]: Parameters<StreamProvider["stream"]>): Promise<AssistantMessage> {
    const tools: Pick<StreamConfig, "toolChoice"> = config.tools?.length ? { toolChoice: "none" } : {};
    return this.#inner.stream({ ...config, ...tools }, sink, signal);
  }
}
