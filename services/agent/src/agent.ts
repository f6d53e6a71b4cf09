/**
 * A conversation with an agent: the stateful wrapper around the loop.
 *
 * A1  One run at a time; a second prompt is refused with an error that says what to do instead.
 * A2  Leaving a run's events early cancels it; the history is valid then, and the next prompt works.
 * A3  `close` cancels, and still every event up to `agentEnd` is told.
 */

import { type JsonObject, MeshError } from "@mesh/kernel";
import { costUsd, envKey, type ModelConfig, type ProviderRegistry, type StreamProvider } from "@mesh/llm";

import type { AgentEvent, EventSink, WaitingCall } from "./event.ts";
import { EventStream } from "./event-stream.ts";
import type { LoopConfig } from "./loop-config.ts";
import { type AgentMessage, loadHistory, saveHistory, userMessage } from "./message.ts";
import { MessageQueue, type QueueMode } from "./queue.ts";
import { continueRun, resumeRun, type RunIo, type RunResult, startRun } from "./run.ts";
import { type CallAnswer, type RunState, waitingCalls } from "./run-state.ts";
import { SHARED_STATE_TOOL, type SharedState, sharedStateTool } from "./shared-state.ts";
import { joinPrompt, type Skill, skillIndex } from "./skill.ts";
import { addStats, NO_STATS, type RunStats, totalSpend } from "./stats.ts";
import { structuredOutput, StructuredOutputError } from "./structured.ts";

/** What an agent is; everything of a loop but what the wrapper owns itself. */
export interface AgentOptions extends Omit<
  LoopConfig,
  "pollSteering" | "pollFollowUps" | "requeue" | "ancestry" | "runId"
> {
  /** An earlier conversation to go on with. */
  readonly messages?: readonly AgentMessage[];
  readonly steeringMode?: QueueMode;
  readonly followUpMode?: QueueMode;
  readonly skills?: readonly Skill[];
  /** Adds the shared_state tool and keeps the full text of capped results there. */
  readonly sharedState?: SharedState;
}

/** What builds an agent from a model alone. */
export interface AgentFromModel extends Omit<AgentOptions, "provider" | "model"> {
  readonly registry: ProviderRegistry;
  /** Where a key is looked up when none is given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A run that goes on: its events, its end, and the means to stop it. */
export interface RunHandle extends AsyncIterable<AgentEvent> {
  /** Resolves when the run ended; never rejects for what happened inside it. */
  readonly result: Promise<RunResult>;
  abort(): void;
}

type Segment = (io: RunIo) => Promise<RunResult>;

interface RunningRun {
  readonly stop: AbortController;
  readonly result: Promise<RunResult>;
}

/** See the file comment. */
export class Agent implements AsyncDisposable {
  readonly steering: MessageQueue;
  readonly followUps: MessageQueue;
  readonly #options: AgentOptions;
  readonly #resolve: AgentFromModel | undefined;
  #model: ModelConfig;
  #provider: StreamProvider;
  #apiKey: string | undefined;
  #history: AgentMessage[];
  #running: RunningRun | undefined;
  #waiting: RunState | undefined;
  #stats: RunStats = NO_STATS;

  constructor(options: AgentOptions, resolve?: AgentFromModel) {
    this.#options = options;
    this.#resolve = resolve;
    this.#model = options.model;
    this.#provider = options.provider;
    this.#apiKey = options.apiKey;
    this.#history = [...(options.messages ?? [])];
    this.steering = new MessageQueue(options.steeringMode);
    this.followUps = new MessageQueue(options.followUpMode);
  }

  /** An agent whose provider and key follow from the model; throws when no provider speaks its protocol. */
  static fromModel(model: ModelConfig, options: AgentFromModel): Agent {
    const provider = options.registry.resolve(model.api);
    const apiKey = options.apiKey ?? keyFor(model, options);
    return new Agent({ ...options, model, provider, ...(apiKey === undefined ? {} : { apiKey }) }, options);
  }

  get messages(): readonly AgentMessage[] {
    return this.#history;
  }

  get model(): ModelConfig {
    return this.#model;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** The calls that need answers before the conversation can go on. */
  get waiting(): readonly WaitingCall[] {
    return this.#waiting === undefined ? [] : waitingCalls(this.#waiting.pending);
  }

  /** Sum of all runs since construction or reset, whatever became of the history. */
  get stats(): RunStats {
    return this.#stats;
  }

  /** What all runs cost, sub-agents and summaries included; null when a price is not known or nothing was spent. */
  totalCostUsd(): number | null {
    return totalSpend(this.#stats).costUsd;
  }

  /** What the answers in the history cost at this model's rates. */
  sessionCostUsd(): number | null {
    let sum: number | null = null;
    for (const message of this.#history) {
      if (message.role !== "assistant") continue;
      const cost = costUsd(this.#model.cost, message.usage);
      if (cost === null) return null;
      sum = (sum ?? 0) + cost;
    }
    return sum;
  }

  /** Starts a run; read its events or await its result. */
  prompt(input: string | readonly AgentMessage[]): RunHandle {
    const prompts = this.#prompts(input);
    return this.#handle((io) => startRun(prompts, this.#config(), io));
  }

  /** Starts a run whose events go to `sink`; resolves when it ended. */
  promptInto(input: string | readonly AgentMessage[], sink: EventSink): Promise<RunResult> {
    const prompts = this.#prompts(input);
    return this.#begin((io) => startRun(prompts, this.#config(), io), sink).result;
  }

  /** Goes on from the history as it is. */
  continue(): RunHandle {
    this.#assertNotWaiting();
    return this.#handle((io) => continueRun(this.#config(), io));
  }

  /** Like `continue`, with the events going to `sink`. */
  continueInto(sink: EventSink): Promise<RunResult> {
    this.#assertNotWaiting();
    return this.#begin((io) => continueRun(this.#config(), io), sink).result;
  }

  /** Answers waiting calls, all or some, and goes on with the run. */
  resume(answers: Readonly<Record<string, CallAnswer>> = {}): RunHandle {
    const state = this.#waiting;
    if (state === undefined) throw new MeshError("failed_precondition", "no run waits for an answer");
    const handle = this.#handle(async (io) => {
      try {
        return await resumeRun(state, answers, this.#config(), io);
      } catch (error) {
        // Misuse, before anything happened: the calls still wait.
        this.#waiting = state;
        throw error;
      }
    });
    this.#waiting = undefined;
    return handle;
  }

  /** Gives up a waiting run: its calls get a cancelled result, and the conversation can go on. */
  async cancelWaiting(): Promise<void> {
    const state = this.#waiting;
    if (state === undefined) return;
    const { stop, result } = this.#begin(
      (io) => resumeRun(state, {}, this.#config(), io),
      () => undefined,
    );
    stop.abort();
    await result;
  }

  /** A run whose answer has the shape of `schema`; throws a `StructuredOutputError`. */
  async promptStructured(
    input: string,
    shape: { readonly name: string; readonly schema: JsonObject; readonly repairTurns?: number },
  ): Promise<unknown> {
    const { name, schema, repairTurns = 0 } = shape;
    let prompts = this.#prompts(input);
    for (let attempt = 0; ; attempt += 1) {
      const config = { ...this.#config(), responseFormat: { name, schema } };
      const { messages } = await this.#begin(
        (io) => startRun(prompts, config, io),
        () => undefined,
      ).result;
      try {
        return structuredOutput(messages, schema);
      } catch (thrown) {
        const isParse = thrown instanceof StructuredOutputError && thrown.reason === "parse";
        if (!isParse || attempt >= repairTurns) throw thrown;
        prompts = this.#prompts(`Your answer could not be used: ${thrown.message}. Answer again, as JSON only.`);
      }
    }
  }

  /** Waits for the current run, if any. */
  async finish(): Promise<RunResult | undefined> {
    return this.#running?.result;
  }

  /** Cancels the current run; it settles by itself. */
  abort(): void {
    this.#running?.stop.abort();
  }

  /** Adds a message that the current run reads at its next opportunity, or the next run at its start. */
  steer(input: string | AgentMessage): void {
    this.#enqueue(this.steering, [this.#message(input)]);
  }

  /** Adds a message that the current run goes on with when it would end. */
  followUp(input: string | AgentMessage): void {
    this.#enqueue(this.followUps, [this.#message(input)]);
  }

  /** Adds several steering messages, next to one another. */
  steerAll(inputs: readonly (string | AgentMessage)[]): void {
    this.#enqueue(
      this.steering,
      inputs.map((input) => this.#message(input)),
    );
  }

  /** Adds several follow-ups, next to one another. */
  followUpAll(inputs: readonly (string | AgentMessage)[]): void {
    this.#enqueue(
      this.followUps,
      inputs.map((input) => this.#message(input)),
    );
  }

  /** Changes the model between runs. A provider or key given explicitly stays. */
  setModel(model: ModelConfig): void {
    this.#assertIdle();
    const resolve = this.#resolve;
    if (resolve !== undefined) {
      this.#provider = resolve.registry.resolve(model.api);
      if (resolve.apiKey === undefined) this.#apiKey = keyFor(model, resolve);
    }
    this.#model = model;
  }

  /** The history as JSON; queues are not part of it. */
  save(): string {
    return saveHistory(this.#history);
  }

  /** Replaces the history by a saved one. */
  restore(json: string): void {
    this.#assertIdle();
    this.#history = loadHistory(json);
    this.#waiting = undefined;
  }

  /** The waiting run with both queues, to be loaded in another process. */
  saveRun(): RunState {
    if (this.#waiting === undefined) throw new MeshError("failed_precondition", "no run waits; use save() instead");
    const queues = { steering: this.steering.snapshot(), followUps: this.followUps.snapshot() };
    return { ...this.#waiting, queues };
  }

  /** Takes over a saved run, waiting or interrupted; go on with `resume`. */
  loadRun(state: RunState): void {
    this.#assertIdle();
    if (state.status === "ended") throw new MeshError("failed_precondition", `run ${state.runId} has ended`);
    this.#waiting = state;
    this.#history = [...state.history];
    this.#enqueue(this.steering, state.queues?.steering ?? []);
    this.#enqueue(this.followUps, state.queues?.followUps ?? []);
  }

  /** Cancels, waits, and forgets everything but the configuration. */
  async reset(): Promise<void> {
    this.abort();
    await this.finish();
    this.#history = [];
    this.#waiting = undefined;
    this.#stats = NO_STATS;
    this.steering.clear();
    this.followUps.clear();
  }

  /** Cancels the current run and waits until it has told its end. */
  async close(): Promise<void> {
    this.abort();
    await this.finish();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #handle(segment: Segment): RunHandle {
    const events: EventStream = new EventStream(() => running.stop.abort());
    const running = this.#begin(segment, events.push);
    void running.result.then(
      () => events.end(),
      () => events.end(),
    );
    return {
      result: running.result,
      abort: () => running.stop.abort(),
      [Symbol.asyncIterator]: () => events,
    };
  }

  #begin(segment: Segment, sink: EventSink): RunningRun {
    this.#assertIdle();
    const stop = new AbortController();
    const running: RunningRun = { stop, result: this.#track(segment, sink, stop.signal) };
    this.#running = running;
    // Who reads only the events must not be killed by a rejection that nobody awaits.
    running.result.catch(() => undefined);
    return running;
  }

  async #track(segment: Segment, sink: EventSink, signal: AbortSignal): Promise<RunResult> {
    try {
      // Lets `#begin` return first: a prompt gives its handle at once.
      await Promise.resolve();
      const result = await segment({ history: this.#history, sink, signal });
      this.#waiting = result.end.kind === "waiting" ? result.state : undefined;
      // A resumed run's stats begin with what its earlier segments already added here.
      this.#stats = result.end.kind === "waiting" ? this.#stats : addStats(this.#stats, result.stats);
      return result;
    } finally {
      this.#running = undefined;
    }
  }

  #config(): LoopConfig {
    const { skills = [], sharedState, messages: _messages, ...options } = this.#options;
    const tools = options.tools ?? [];
    const injects = sharedState !== undefined && !tools.some((tool) => tool.name === SHARED_STATE_TOOL);
    return {
      ...options,
      model: this.#model,
      provider: this.#provider,
      ...(this.#apiKey === undefined ? {} : { apiKey: this.#apiKey }),
      systemPrompt: joinPrompt(options.systemPrompt ?? "", skillIndex(skills)),
      tools: injects ? [...tools, sharedStateTool(sharedState)] : tools,
      ...(sharedState === undefined ? {} : { outputStash: sharedState }),
      pollSteering: () => this.steering.poll(),
      pollFollowUps: () => this.followUps.poll(),
      requeue: (messages) => this.steering.putBack(messages),
    };
  }

  #prompts(input: string | readonly AgentMessage[]): readonly AgentMessage[] {
    this.#assertNotWaiting();
    return typeof input === "string" ? [userMessage(input, this.#options.clock.now())] : input;
  }

  #message(input: string | AgentMessage): AgentMessage {
    return typeof input === "string" ? userMessage(input, this.#options.clock.now()) : input;
  }

  #enqueue(queue: MessageQueue, messages: readonly AgentMessage[]): void {
    if (queue.push(...messages)) return;
    throw new MeshError("resource_exhausted", "too many messages wait for this agent; let it read some first");
  }

  #assertIdle(): void {
    if (this.#running === undefined) return;
    throw new MeshError(
      "failed_precondition",
      "the agent is running; use steer() or followUp() to reach it, or await finish() first",
    );
  }

  #assertNotWaiting(): void {
    this.#assertIdle();
    if (this.#waiting === undefined) return;
    throw new MeshError(
      "failed_precondition",
      `a run waits for ${this.waiting.length} answer(s); use resume() to answer or cancelWaiting() to give it up`,
    );
  }
}

function keyFor(model: ModelConfig, options: AgentFromModel): string | undefined {
  const key = envKey(model.provider, model.api, options.env ?? {});
  const needsKey = model.api !== "demo" && model.api !== "bedrock-converse-stream" && model.baseUrl === undefined;
  if (key === undefined && needsKey) options.log?.("warn", "no key for the provider", { provider: model.provider });
  return key;
}
