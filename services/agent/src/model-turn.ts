/**
 * One response of the model: fit the history, ask, recover once from an overflow, and always end with a message.
 *
 * M1  A failure is a message with `stopReason: "error"` that keeps what was said; it is never a throw.
 * M2  Cancellation settles at once, whatever the provider does.
 * M3  An overflow compacts once and asks once more; a history that did not shrink is not sent again.
 */

import { errorText } from "@mesh/kernel";
import {
  type AssistantMessage,
  costUsd,
  type Message,
  type StreamConfig,
  textContent,
  type ToolDefinition,
} from "@mesh/llm";

import { AttemptView, withoutCalls } from "./attempt-view.ts";
import { raced, type Raced } from "./cancel.ts";
import {
  calibrated,
  compactHistory,
  contextBudget,
  type ContextConfig,
  contextFor,
  withHeadroom,
} from "./compaction.ts";
import { tieredCompaction } from "./compaction-strategy.ts";
import type { ExtensionFailure } from "./extension-chain.ts";
import type { LiveRun } from "./live-run.ts";
import type { LoopConfig } from "./loop-config.ts";
import { modelMessages } from "./message.ts";
import { callModel } from "./model-call.ts";
import { addCompaction } from "./stats.ts";
import { startSpan } from "./telemetry.ts";
import { historyTokens } from "./token.ts";
import type { AgentTool } from "./tool.ts";
import { neverRuns, repairTranscript } from "./transcript.ts";

/** How a turn's request went. */
export type TurnResponse =
  | { readonly kind: "message"; readonly message: AssistantMessage }
  | { readonly kind: "stop"; readonly reason: string }
  | ({ readonly kind: "fail" } & ExtensionFailure);

const DEFAULT_OVERFLOW_RECOVERIES = 3;
/** An overflow means that the estimate was wrong; aim well below it. */
const OVERFLOW_RATIO = 0.6;

/** Asks the model and records its answer. */
export async function respond(run: LiveRun): Promise<TurnResponse> {
  const config = contextConfig(run);
  // The tiers would find out as well that everything fits, by adding up all messages.
  const fits = run.config.compaction === undefined && config !== undefined && run.tokens <= contextBudget(config);
  if (config !== undefined && !fits) fit(run, config);
  const verdict = await run.chain.beforeModel({ turn: run.turn, messages: run.history });
  if (verdict.kind !== "pass") return verdict;
  return { kind: "message", message: await ask(run, verdict.notes) };
}

function contextConfig(run: LiveRun): ContextConfig | undefined {
  const { context, model } = run.config;
  if (context === null) return undefined;
  const base = context ?? contextFor(model.contextWindow);
  return withHeadroom(calibrated(base, run.tracker.overhead(run.history)), run.tokensPerTurn);
}

function fit(run: LiveRun, config: ContextConfig): void {
  const strategy = run.config.compaction ?? tieredCompaction;
  let fitted: readonly LiveRun["history"][number][];
  let method = "tiered";
  let summary: ReturnType<NonNullable<typeof strategy.takeSummary>>;
  try {
    const compacted = strategy.compact(run.history, config);
    // A strategy of the application's own may part calls from their results.
    fitted = compacted === run.history ? compacted : repairTranscript(compacted, run.clock.now());
    method = strategy.method ?? "custom";
    summary = strategy.takeSummary?.();
    const spend = strategy.takeSpend?.();
    if (spend !== undefined) run.stats = { ...run.stats, compaction: addCompaction(run.stats.compaction, spend) };
  } catch (thrown) {
    run.log("error", "compaction failed", { err: errorText(thrown) });
    fitted = compactHistory(run.history, config);
  }
  if (fitted === run.history) return;
  const messagesBefore = run.history.length;
  const tokensBefore = historyTokens(run.history);
  const tokensAfter = historyTokens(fitted);
  if (fitted.length === 0 && messagesBefore > 0) return;
  if (fitted.length === messagesBefore && tokensAfter === tokensBefore) return;
  run.compacted([...fitted], {
    method,
    messagesBefore,
    messagesAfter: fitted.length,
    tokensBefore,
    tokensAfter,
    ...(summary === undefined ? {} : { summary }),
  });
}

async function ask(run: LiveRun, notes: readonly string[]): Promise<AssistantMessage> {
  const view = new AttemptView(run);
  for (let isRecovered = false; ; isRecovered = true) {
    const outcome = await attempt(run, view, notes);
    const answer = outcome.kind === "value" ? outcome.value : undefined;
    if (!isRecovered && answer?.errorClass === "overflow" && recover(run, view, answer)) continue;
    view.detach();
    const message = answer === undefined ? unanswered(view, outcome) : complete(answer);
    if (!view.isOpen) run.emit({ type: "messageStart", message: { ...message, content: [] } });
    return run.recordAnswer(message);
  }
}

/** The message of a call that was cancelled, or whose request could not be built. */
function unanswered(view: AttemptView, outcome: Raced<AssistantMessage>): AssistantMessage {
  if (outcome.kind === "error") return view.partial("error", errorText(outcome.error));
  return view.partial("aborted", "The run was cancelled.");
}

async function attempt(run: LiveRun, view: AttemptView, notes: readonly string[]): Promise<Raced<AssistantMessage>> {
  const { model } = run.config;
  const span = startSpan(
    run.config.telemetry,
    "llm_stream",
    {
      turn: run.turn,
      model: model.id,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": model.id,
      "gen_ai.provider.name": model.provider,
    },
    run.span,
  );
  const outcome = await raced(async () => {
    const request = await buildRequest(run, notes);
    return callModel(run.config, request, run.signal, view.sink);
  }, run.signal);
  if (outcome.kind === "value") {
    const { usage } = outcome.value;
    span.setAttribute("tokens_in", usage.input);
    span.setAttribute("tokens_out", usage.output);
    span.setAttribute("tokens_cached", usage.cacheRead);
    span.setAttribute("gen_ai.usage.input_tokens", usage.input + usage.cacheRead + usage.cacheWrite);
    span.setAttribute("gen_ai.usage.output_tokens", usage.output);
    const cost = costUsd(model.cost, usage);
    if (cost !== null) span.setAttribute("cost_usd", cost);
  } else {
    span.setAttribute("error", outcome.kind === "error" ? errorText(outcome.error) : "cancelled");
  }
  span.end();
  return outcome;
}

async function buildRequest(run: LiveRun, notes: readonly string[]): Promise<StreamConfig> {
  const { config } = run;
  const transformed =
    config.transformContext === undefined ? run.history : await config.transformContext([...run.history]);
  const messages = withNotes((config.convertToLlm ?? modelMessages)(transformed), notes, run.clock.now());
  return {
    model: config.model,
    systemPrompt: config.systemPrompt ?? "",
    messages,
    ...(run.tools.length === 0 ? {} : { tools: definitionsOf(run.tools) }),
    ...settingsOf(config),
  };
}

type Settings = Omit<StreamConfig, "model" | "systemPrompt" | "messages" | "tools">;

const settings = new WeakMap<LoopConfig, Settings>();

/** What a run sends with every request, without what it does not set. */
function settingsOf(config: LoopConfig): Settings {
  const known = settings.get(config);
  if (known !== undefined) return known;
  const { thinking, maxTokens, temperature, cache, timeouts, retry, extraBody, responseFormat, toolChoice } = config;
  const all = { thinking, maxTokens, temperature, cache, timeouts, retry, extraBody, responseFormat, toolChoice };
  const made = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Settings;
  settings.set(config, made);
  return made;
}

// One array per tool list, so that a provider can keep the JSON it made of it.
const definitions = new WeakMap<readonly AgentTool[], readonly ToolDefinition[]>();

function definitionsOf(tools: readonly AgentTool[]): readonly ToolDefinition[] {
  const known = definitions.get(tools);
  if (known !== undefined) return known;
  const made = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  definitions.set(tools, made);
  return made;
}

/** Notes go at the end of what is sent, so that nothing before them changes from turn to turn. */
function withNotes(messages: readonly Message[], notes: readonly string[], timestamp: number): readonly Message[] {
  if (notes.length === 0) return messages;
  const note = textContent(notes.join("\n"));
  const last = messages.at(-1);
  if (last?.role !== "user") return [...messages, { role: "user", content: [note], timestamp }];
  return [...messages.slice(0, -1), { ...last, content: [...last.content, note] }];
}

function complete(message: AssistantMessage): AssistantMessage {
  return neverRuns(message) ? withoutCalls(message) : message;
}

/** Compacts after an overflow; false when there is nothing to gain or the run has done it too often. */
function recover(run: LiveRun, view: AttemptView, answer: AssistantMessage): boolean {
  const config = contextConfig(run);
  const { overflowRecoveries } = run.counters;
  const limit = run.config.maxOverflowRecoveries ?? DEFAULT_OVERFLOW_RECOVERIES;
  if (config === undefined || overflowRecoveries >= limit || run.signal.aborted) return false;
  const messagesBefore = run.history.length;
  const tokensBefore = historyTokens(run.history);
  const target = Math.floor(Math.min(tokensBefore, config.maxTokens) * OVERFLOW_RATIO);
  const fitted = compactHistory(run.history, { ...config, maxTokens: target, reserveTokens: 0, targetRatio: 1 });
  const tokensAfter = historyTokens(fitted);
  if (tokensAfter >= tokensBefore) return false;
  run.counters = { ...run.counters, overflowRecoveries: overflowRecoveries + 1 };
  view.retry({
    attempt: 1,
    maxAttempts: 2,
    delayMs: 0,
    errorClass: "overflow",
    errorMessage: answer.errorMessage ?? "the prompt does not fit the model",
    usage: answer.usage,
  });
  run.compacted([...fitted], {
    method: "overflow",
    messagesBefore,
    messagesAfter: fitted.length,
    tokensBefore,
    tokensAfter,
  });
  return true;
}
