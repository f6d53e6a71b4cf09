import { type Clock, systemClock } from "@mesh/kernel";
import { wireFaults } from "@mesh/llm/testing";

import type { AgentEvent } from "../event.ts";
import type { LoopConfig } from "../loop-config.ts";
import { type AgentMessage, modelMessages, userMessage } from "../message.ts";
import { type RunResult, resumeRun, startRun } from "../run.ts";
import { type CallAnswer, type RunState, waitingCalls } from "../run-state.ts";
import { type AgentTool, textOutput, type ToolOutput } from "../tool.ts";
import { checkTranscript } from "../transcript.ts";
import { type ScriptedProvider, scriptedModel } from "./scripted-provider.ts";

/** One scripted run and everything it told. */
export interface Bench {
  readonly config: LoopConfig;
  readonly events: AgentEvent[];
  readonly history: AgentMessage[];
  readonly stop: AbortController;
  start(text: string): Promise<RunResult>;
  resume(state: RunState, answers?: Record<string, CallAnswer>): Promise<RunResult>;
  /** Types of the events so far. */
  types(): string[];
}

/** Every history and provider that `assertSound` has to look at. */
const tracked: {
  readonly history: AgentMessage[];
  pending: ReadonlySet<string>;
  readonly provider: ScriptedProvider;
}[] = [];

/** Faults of every history since the last call; a test file runs this after each of its tests. */
export function transcriptFaults(): string[] {
  const faults = tracked.flatMap(({ history, pending, provider }) => [
    ...historyFaults(history, pending),
    ...provider.faults.map((fault) => `in a request: ${fault}`),
  ]);
  tracked.length = 0;
  return faults;
}

/** Faults of one history: its own form, and what every protocol makes of it for the next request. */
export function historyFaults(history: readonly AgentMessage[], pending: ReadonlySet<string> = new Set()): string[] {
  return [
    ...checkTranscript(history, pending).map((fault) => `${fault.rule} at ${fault.index}: ${fault.text}`),
    ...wireFaults(modelMessages(history)),
  ];
}

/** A bench for scripted runs. */
export function bench(provider: ScriptedProvider, change: Partial<LoopConfig> = {}): Bench {
  const clock: Clock = change.clock ?? systemClock;
  const config: LoopConfig = { model: scriptedModel(), provider, runId: "run_test", ...change, clock };
  const events: AgentEvent[] = [];
  const history: AgentMessage[] = [];
  const stop = new AbortController();
  const io = { history, sink: (event: AgentEvent) => void events.push(structuredClone(event)), signal: stop.signal };
  const entry: (typeof tracked)[number] = { history, pending: new Set(), provider };
  tracked.push(entry);
  const settle = async (running: Promise<RunResult>): Promise<RunResult> => {
    const result = await running;
    entry.pending = new Set(waitingCalls(result.state.pending).map((call) => call.toolCallId));
    if (result.end.kind === "waiting") {
      entry.pending = new Set(result.state.pending.map((pending) => pending.call.id));
    }
    return result;
  };
  return {
    config,
    events,
    history,
    stop,
    start: (text) => settle(startRun([userMessage(text, clock.now())], config, io)),
    resume: (state, answers = {}) => settle(resumeRun(state, answers, config, io)),
    types: () => events.map((event) => event.type),
  };
}

/** A tool for scripts; it takes any arguments. */
export function scriptedTool(
  name: string,
  run: (args: Record<string, unknown>, signal: AbortSignal) => string | ToolOutput | Promise<string | ToolOutput>,
  change: Partial<AgentTool> = {},
): AgentTool {
  return {
    name,
    description: `does ${name}`,
    parameters: { type: "object" },
    execute: async (args, context) => {
      const output = await run(args, context.signal);
      return typeof output === "string" ? textOutput(output) : output;
    },
    ...change,
  };
}

/**
 * Aborts a run and tells whether it settled before any timer, I/O or other task of the event loop: a promise of speed
 * that holds on a busy machine too, where milliseconds measured say more about the machine.
 */
export async function settlesAtOnce(stop: AbortController, running: Promise<unknown>): Promise<boolean> {
  stop.abort();
  const later = new Promise<boolean>((resolve) => setImmediate(() => resolve(false)));
  return Promise.race([running.then(() => true), later]);
}
