/**
 * A run while it happens: its state, its events, and the only ways to change them.
 *
 * R1  Every message that enters the history goes through `append` and is told by a start and an end event.
 * R2  A turn that was opened is closed on every path, except that a waiting run leaves it open for its next segment.
 * R3  Once a run is cancelled, all callbacks of the application together may hold it for 10 ms; they go on unwatched.
 */

import type { Clock } from "@mesh/kernel";
import {
  type AssistantMessage,
  costUsd,
  NO_USAGE,
  type ToolResultMessage,
  type Usage,
  type UserMessage,
} from "@mesh/llm";

import { bounded, CallSignals, type Raced } from "./cancel.ts";
import type { CompactionReport, EventSink, AgentEvent } from "./event.ts";
import { type Delegation, ROOT_ANCESTRY } from "./delegation.ts";
import { ExtensionChain } from "./extension-chain.ts";
import { type Log, silentLog } from "./log.ts";
import type { Checkpoint, LoopConfig } from "./loop-config.ts";
import { LoopDetector } from "./loop-detector.ts";
import { type AgentMessage, userMessage } from "./message.ts";
import { type LivePendingCall, NO_COUNTERS, type RunCounters, type RunState } from "./run-state.ts";
import { addSpend, NO_STATS, type RunStats } from "./stats.ts";
import { type Span, startSpan } from "./telemetry.ts";
import { ContextTracker, countMessage, historyTokens } from "./token.ts";
import { type AgentTool, failureText } from "./tool.ts";
import { callIds, uniqueId } from "./transcript.ts";

/** What a run starts from. */
export interface LiveRunInit {
  readonly config: LoopConfig;
  readonly sink: EventSink;
  readonly signal: AbortSignal;
  /** Extended in place. */
  readonly history: AgentMessage[];
  readonly prompts: readonly string[];
  /** The saved run to continue; `produced` holds messages, no indexes. */
  readonly saved?: RunState;
}

const DEFAULT_LOOP_THRESHOLD = 3;
const CALLBACK_GRACE_MS = 10;
const NOTHING_TO_DO = Promise.resolve();
const NEW_RUN: Pick<
  RunState,
  "produced" | "inbox" | "pending" | "nudge" | "counters" | "stats" | "turn" | "isTurnOpen"
> = {
  produced: [],
  inbox: [],
  pending: [],
  counters: NO_COUNTERS,
  stats: NO_STATS,
  turn: -1,
  isTurnOpen: false,
};

/** See the file comment. */
export class LiveRun {
  readonly config: LoopConfig;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
  readonly history: AgentMessage[];
  readonly produced: AgentMessage[];
  readonly prompts: readonly string[];
  readonly chain: ExtensionChain;
  readonly detector: LoopDetector;
  readonly tracker: ContextTracker = new ContextTracker();
  readonly callSignals: CallSignals;
  /** What every call passes on to the runs that it starts, but for its own id and report. */
  readonly delegation: Omit<Delegation, "callId" | "report">;
  readonly span: Span;
  readonly isResumed: boolean;
  inbox: AgentMessage[];
  pending: LivePendingCall[];
  nudge: string | undefined;
  tools: readonly AgentTool[] = [];
  counters: RunCounters;
  stats: RunStats;
  turn: number;
  isTurnOpen: boolean;
  /** A failure of `onCheckpoint`; the run must not go on without being saved. */
  checkpointFailure: unknown;
  readonly #sink: EventSink;
  /** Apart from the other counters, because they move with every delta and every message. */
  #seq: number;
  #appendedTokens: number;
  /** Estimated tokens of the history; undefined until somebody asks. */
  #tokens: number | undefined;
  readonly #startedMs: number;
  readonly #callIds: Set<string>;
  #graceEndMs: number | undefined;
  #turnResults: ToolResultMessage[] = [];
  #turnMessage: AgentMessage | undefined;

  constructor(init: LiveRunInit) {
    const { config, saved } = init;
    this.config = config;
    this.signal = init.signal;
    this.clock = config.clock;
    this.log = config.log ?? silentLog;
    this.id = saved?.runId ?? config.runId ?? `run_${crypto.randomUUID().replaceAll("-", "")}`;
    this.history = init.history;
    this.isResumed = saved !== undefined;
    this.prompts = saved?.prompts ?? init.prompts;
    const from = saved ?? NEW_RUN;
    this.produced = from.produced.filter((each) => typeof each !== "number");
    this.inbox = [...from.inbox];
    this.pending = from.pending.map((each) => ({ ...each }));
    this.nudge = from.nudge;
    this.counters = from.counters;
    this.#seq = from.counters.seq;
    this.#appendedTokens = from.counters.appendedTokens;
    this.stats = from.stats;
    this.turn = from.turn;
    this.isTurnOpen = from.isTurnOpen;
    this.detector = new LoopDetector(config.loopThreshold ?? DEFAULT_LOOP_THRESHOLD, saved?.detector);
    this.#sink = init.sink;
    this.#startedMs = this.clock.monotonic();
    this.#callIds = callIds(init.history);
    this.callSignals = new CallSignals(init.signal);
    this.delegation = this.#delegation();
    if (this.isTurnOpen) this.#restoreTurn();
    this.span = startSpan(config.telemetry, "agent_loop", {
      model: config.model.id,
      run_id: this.id,
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.request.model": config.model.id,
    });
    this.chain = new ExtensionChain({ context: this.#context(), clock: this.clock, log: this.log });
  }

  #context(): ConstructorParameters<typeof ExtensionChain>[0]["context"] {
    const { depth, parentRunId, callId } = this.config.ancestry ?? ROOT_ANCESTRY;
    const { label } = this.config;
    return {
      runId: this.id,
      ...(label === undefined ? {} : { label }),
      prompts: this.prompts,
      depth,
      ...(parentRunId === undefined ? {} : { parentRunId }),
      ...(callId === undefined ? {} : { delegatedBy: callId }),
      isResumed: this.isResumed,
      signal: this.signal,
      stats: () => this.stats,
    };
  }

  #delegation(): LiveRun["delegation"] {
    const { label, ancestry = ROOT_ANCESTRY, treeExtensions = [] } = this.config;
    return {
      depth: ancestry.depth,
      parentRunId: this.id,
      ...(label === undefined ? {} : { label }),
      treeExtensions: [...ancestry.inherited, ...treeExtensions],
    };
  }

  /** The open turn of a saved run: its response and the results it has so far. */
  #restoreTurn(): void {
    const start = this.history.findLastIndex((message) => message.role === "assistant");
    this.#turnMessage = this.history[start];
    this.#turnResults = this.history.slice(start + 1).filter((message) => message.role === "toolResult");
  }

  emit(event: AgentEvent): void {
    const meta = { runId: this.id, seq: this.#seq, turn: Math.max(0, this.turn), atMs: this.clock.now() };
    this.#seq += 1;
    this.chain.notify(event, meta);
    try {
      this.#sink(event, meta);
    } catch (thrown) {
      this.log("error", "event sink failed", { err: failureText(thrown), type: event.type });
    }
  }

  /** Adds a finished message to the history. */
  append(message: AgentMessage): void {
    this.emit({ type: "messageStart", message });
    this.record(message);
  }

  /** Adds a message whose start was told already. */
  record(message: AgentMessage): void {
    this.history.push(message);
    this.produced.push(message);
    const tokens = countMessage(message);
    this.#appendedTokens += tokens;
    if (this.#tokens !== undefined) this.#tokens += tokens;
    if (message.role === "toolResult") this.#turnResults.push(message);
    else
      this.#turnMessage =
        message.role === "assistant" || this.#turnMessage?.role !== "assistant" ? message : this.#turnMessage;
    this.emit({ type: "messageEnd", message });
  }

  /** A message of the user's role that the loop writes itself. */
  say(text: string): UserMessage {
    const message = userMessage(text, this.clock.now());
    this.append(message);
    return message;
  }

  /** Adds an answer of the model: unique call ids, usage, cost. */
  recordAnswer(answer: AssistantMessage): AssistantMessage {
    const message = this.#withUniqueIds(answer);
    this.record(message);
    this.spent(message.usage);
    this.stats = { ...this.stats, turns: this.stats.turns + 1 };
    this.tracker.record(message.usage, this.history.length, this.tokens);
    return message;
  }

  /** Counts what the model was paid for, attempts that were repeated included. */
  spent(usage: Usage): void {
    const spend = { usage: { ...usage, totalTokens: 0 }, costUsd: costUsd(this.config.model.cost, usage) };
    this.stats = { ...this.stats, ...addSpend(this.stats, spend) };
  }

  // Some servers repeat one id for several calls, or across turns; results are paired by id.
  #withUniqueIds(message: AssistantMessage): AssistantMessage {
    let isChanged = false;
    const content = message.content.map((part) => {
      if (part.type !== "toolCall") return part;
      const id = uniqueId(part.id, this.#callIds);
      if (id === part.id) return part;
      isChanged = true;
      return { ...part, id };
    });
    return isChanged ? { ...message, content } : message;
  }

  openTurn(): void {
    if (this.isTurnOpen) return;
    this.turn += 1;
    this.isTurnOpen = true;
    this.#turnResults = [];
    this.#turnMessage = undefined;
    this.emit({ type: "turnStart" });
  }

  closeTurn(): void {
    if (!this.isTurnOpen) return;
    this.isTurnOpen = false;
    const message = this.#turnMessage ?? this.history.at(-1) ?? userMessage("", this.clock.now());
    this.emit({ type: "turnEnd", message, toolResults: this.#turnResults });
  }

  /** Calls `afterTurn` with the usage of the turn's response. */
  async afterTurn(): Promise<void> {
    const { afterTurn } = this.config;
    if (afterTurn === undefined) return;
    const usage = this.#turnMessage?.role === "assistant" ? this.#turnMessage.usage : NO_USAGE;
    const outcome = await this.#callback(() => afterTurn(this.history, usage));
    if (outcome.kind === "error") throw outcome.error;
  }

  /** A callback of the application's is always called, but cannot hold a cancelled run (R3). */
  async #callback(work: () => void | Promise<void>): Promise<Raced<void>> {
    const outcome = await bounded(work, this.signal, (done) => {
      this.#graceEndMs ??= this.clock.monotonic() + CALLBACK_GRACE_MS;
      return this.clock.sleep(Math.max(0, this.#graceEndMs - this.clock.monotonic()), done);
    });
    if (outcome.kind === "cancelled") this.log("warn", "a callback outlasted the cancelled run", { runId: this.id });
    return outcome;
  }

  /** Replaces the history after a compaction and tells it. */
  compacted(history: readonly AgentMessage[], report: CompactionReport): void {
    this.history.length = 0;
    for (const message of history) this.history.push(message);
    this.#tokens = undefined;
    this.tracker.reset();
    this.stats = { ...this.stats, compactions: this.stats.compactions + 1 };
    this.emit({ type: "contextCompacted", ...report });
  }

  /** Estimated tokens of the history: kept as a sum, so that a turn of a long run costs as much as one of a short run. */
  get tokens(): number {
    this.#tokens ??= historyTokens(this.history);
    return this.#tokens;
  }

  /** Estimated tokens that this run added to its history, per turn. */
  get tokensPerTurn(): number {
    return this.turn > 0 ? this.#appendedTokens / this.turn : 0;
  }

  elapsedMs(): number {
    return this.counters.elapsedMs + (this.clock.monotonic() - this.#startedMs);
  }

  /** Whether anybody saves it. */
  get isSaved(): boolean {
    return this.config.onCheckpoint !== undefined;
  }

  /** Lets the run's owner save it; a failure ends the run at the next boundary. */
  checkpoint(reason: Checkpoint["reason"]): Promise<void> {
    const { onCheckpoint } = this.config;
    return onCheckpoint === undefined ? NOTHING_TO_DO : this.#save(onCheckpoint, reason);
  }

  async #save(onCheckpoint: NonNullable<LoopConfig["onCheckpoint"]>, reason: Checkpoint["reason"]): Promise<void> {
    const outcome = await this.#callback(() => onCheckpoint({ reason, state: () => this.state(reason) }));
    if (outcome.kind !== "error") return;
    this.checkpointFailure ??= outcome.error;
    this.log("error", "run could not be saved", { runId: this.id, err: failureText(outcome.error) });
  }

  /** The run as data. */
  state(reason: Checkpoint["reason"]): RunState {
    const indexes = new Map(this.history.map((message, index) => [message, index]));
    return {
      version: 1,
      runId: this.id,
      status: reason === "waiting" ? "waiting" : reason === "end" ? "ended" : "running",
      history: [...this.history],
      produced: this.produced.map((message) => indexes.get(message) ?? message),
      prompts: this.prompts,
      turn: this.turn,
      isTurnOpen: this.isTurnOpen,
      inbox: [...this.inbox],
      pending: this.pending.map((each) => ({ ...each })),
      ...(this.nudge === undefined ? {} : { nudge: this.nudge }),
      counters: {
        ...this.counters,
        seq: this.#seq,
        appendedTokens: this.#appendedTokens,
        elapsedMs: this.elapsedMs(),
      },
      detector: this.detector.state(),
      stats: this.stats,
    };
  }
}
