/** Drives the agent loop for one run and reads its end as the outcome of the run. */

import {
  DEFAULT_LIMITS,
  type ExecutionLimits,
  lastAssistant,
  type LoopConfig,
  messageText,
  type RunEnd,
  type RunResult,
  type RunStats,
  resumeRun,
  startRun,
  stopMarkerKind,
  totalSpend,
  userMessage,
} from "@mesh/agent";
import { MeshError } from "@mesh/kernel";
import type { AssistantMessage, StopReason, StreamConfig, StreamProvider, StreamSink } from "@mesh/llm";

import { LoopOutput } from "./loop-output.ts";
import type { RunOutcome, SuspendedRun, Usage } from "./message.ts";
import type { ModelCall } from "./model-call.ts";
import type { OutputQueue } from "./output-queue.ts";
import type { OutputStream } from "./output-stream.ts";
import { callAnswers, pendingItems } from "./pending.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import { type RunTools, runTools } from "./run-tools.ts";
import { type SavedRun, stashEntries, writeSavedRun } from "./saved-run.ts";

/** How a run ended; a failed or cancelled one may have cost something too. */
export type RunEnded =
  | { readonly outcome: RunOutcome; readonly note?: string }
  | { readonly suspended: SuspendedRun }
  | { readonly error: unknown; readonly usage?: Usage | undefined };

/** Where a run's output goes and what stops it. */
export interface LoopIo {
  readonly out: OutputStream;
  readonly queue: OutputQueue;
  readonly signal: AbortSignal;
  /** The run to go on with; undefined for a new one. */
  readonly saved: SavedRun | undefined;
}

// How long a run may take is the device's business: it ends the run at its time-out, in the middle of a turn if need be.
const LIMITS: ExecutionLimits = { ...DEFAULT_LIMITS, maxDurationMs: Number.POSITIVE_INFINITY };

const REASONS: Readonly<Partial<Record<StopReason, string>>> = {
  length: "length",
  toolUse: "tool_calls",
  refusal: "content_filter",
};

/** Runs the loop to its end, or until it waits for a person; rejects only for what is wrong before it begins. */
export async function runLoop(call: ModelCall, input: RunInput, ports: RunPorts, io: LoopIo): Promise<RunEnded> {
  const provider = new WatchedProvider(ports.providers.resolve(call.target.model.api));
  const tools = await runTools(call, ports, io.saved);
  const config = { ...configOf(call, input, ports), ...tools.settings, provider, ...pacedBy(io.queue) };
  const loopIo = { history: [...call.examples], sink: new LoopOutput(io.out).sink, signal: io.signal };
  const result =
    io.saved === undefined
      ? await startRun([userMessage(input.input, ports.clock.now())], config, loopIo)
      : await resumeRun(io.saved.agent, callAnswers(input.resume?.answers ?? []), config, loopIo);
  const usage = usageOf(result.stats);
  if (result.end.kind === "waiting") return suspended(result, tools, io.out).catch((error) => ({ error, usage }));
  const failed = failureOf(result, provider.failure);
  if (failed !== undefined) return { error: failed, usage };
  const last = lastAssistant(result.messages);
  const output = last === undefined ? "" : messageText(last);
  if (result.end.kind === "stopped") {
    return { outcome: { output, finish_reason: "stopped", usage }, note: result.end.reason };
  }
  const finish_reason = (last === undefined ? undefined : REASONS[last.stopReason]) ?? "stop";
  return { outcome: { output, finish_reason, usage } };
}

function configOf(call: ModelCall, input: RunInput, ports: RunPorts): Omit<LoopConfig, "provider"> {
  const { clock, random, log } = ports;
  const { model, defaults } = call.target;
  return {
    ...defaults,
    model,
    systemPrompt: call.systemPrompt,
    clock,
    runId: input.context.runId,
    label: input.assistantId,
    limits: LIMITS,
    ...(random === undefined ? {} : { random }),
    ...(log === undefined ? {} : { log }),
  };
}

// The model is not asked again before its reader has taken what was said.
function pacedBy(queue: OutputQueue): Pick<LoopConfig, "beforeTurn"> {
  return {
    beforeTurn: async () => {
      await queue.drained();
      return true;
    },
  };
}

async function suspended({ waiting, state }: RunResult, { stash }: RunTools, out: OutputStream): Promise<RunEnded> {
  const pending = pendingItems(waiting);
  const saved = { agent: state, output: out.position, stash: await stashEntries(stash) };
  return { suspended: { pending, state: writeSavedRun(saved) } };
}

/** What the run failed with: the provider's own error where there was one, for its code and its words. */
function failureOf({ end, messages }: RunResult, thrown: unknown): unknown {
  if (end.kind === "waiting") return undefined;
  if (end.kind === "failed") return thrown ?? new MeshError("internal", end.error);
  return reasonOf(end, messages);
}

function reasonOf(
  end: Exclude<RunEnd, { kind: "failed" | "waiting" }>,
  messages: RunResult["messages"],
): MeshError | undefined {
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
  }
}

function usageOf(stats: RunStats): Usage | undefined {
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
