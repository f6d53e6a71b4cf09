/**
 * What one agent of a run has around it: who asks, where its output goes, what its hooks remember.
 *
 * A1  A delegate goes on in the context of the agent that handed over; an agent that is called gets a context of its own
 *     (thread, memory) and shares the ids of the run, so that no two messages of a run have the same id.
 * A2  Calls nest at most `MAX_DEPTH` deep: agents that call each other in a circle end with an error, not with the device.
 */

import { type JsonObject, MeshError } from "@mesh/kernel";
import { ContextMemory } from "@mesh/scripts";

import { HookOutput } from "./hook-output.ts";
import type { OutputMessage } from "./message.ts";
import { OutputStream } from "./output-stream.ts";
import type { RunShared } from "./run-shared.ts";
import { Trace } from "./trace.ts";

const MAX_DEPTH = 16;

/** How an agent is called by another one. */
export interface ForkOptions {
  /** Nothing of its output reaches the run's stream. */
  readonly isSilent: boolean;
  readonly skipTrace: boolean;
  readonly metadata: JsonObject;
  /** Sees every message of the agent. */
  readonly tap?: (message: OutputMessage) => void;
  readonly signal: AbortSignal;
  /** How many calls of scripts are around it; those around the caller when absent. */
  readonly scripts?: number | undefined;
}

interface Parts {
  readonly shared: RunShared;
  readonly out: OutputStream;
  readonly trace: Trace;
  readonly signal: AbortSignal;
  readonly depth: number;
  readonly scripts?: number;
  readonly threadId?: string;
}

/** See the file comment. */
export class AgentContext {
  readonly shared: RunShared;
  readonly out: OutputStream;
  readonly hookOutput: HookOutput;
  readonly trace: Trace;
  /** Aborts with the run, or when the one call that this context serves is stopped. */
  readonly signal: AbortSignal;
  readonly depth: number;
  /** How many calls of scripts are around this agent. */
  readonly scripts: number;
  readonly threadId: string | undefined;
  /** `client` for the run itself, `agent` after a delegation, `agent_fork` for a call. */
  referer: string;
  locale: string;
  theme: string;
  route: string;
  metadata: JsonObject;
  /** `ctx.memory.context` and `ctx.space`, from hook to hook. */
  readonly contextMemory: ContextMemory;
  #delegations = 0;

  constructor({ shared, out, trace, signal, depth, scripts = 0, threadId }: Parts) {
    const { context, metadata } = shared.input;
    this.shared = shared;
    this.out = out;
    this.contextMemory = new ContextMemory(() => shared.ports.clock.now());
    this.hookOutput = new HookOutput(out, shared.ports.clock);
    this.trace = trace;
    this.signal = signal;
    this.depth = depth;
    this.scripts = scripts;
    this.threadId = threadId;
    this.referer = context.referer ?? "client";
    this.locale = context.locale ?? "en-us";
    this.theme = context.theme ?? "";
    this.route = context.route ?? "";
    this.metadata = metadata;
  }

  /** The chat of the run; none for agents that were called, whose talk is no part of it. */
  get chatId(): string | undefined {
    return this.depth === 0 ? this.shared.input.context.chatId : undefined;
  }

  /** Goes on as the agent that this one hands over to. */
  enterDelegate(): void {
    this.#delegations += 1;
    if (this.#delegations > MAX_DEPTH) {
      throw new MeshError(
        "failed_precondition",
        `agents handed over ${MAX_DEPTH} times already; one of them must answer itself`,
      );
    }
    this.referer = "agent";
  }

  /** The context of an agent that this one calls. */
  fork(options: ForkOptions): AgentContext {
    const { shared } = this;
    if (this.depth + 1 > MAX_DEPTH) {
      throw new MeshError(
        "failed_precondition",
        `agents call each other ${MAX_DEPTH} deep already; one of them must answer itself`,
      );
    }
    const threadId = this.out.ids.thread();
    const out = new OutputStream(
      shared.ports.clock,
      (message) => {
        options.tap?.(message);
        if (!options.isSilent) shared.write(message);
      },
      { ids: this.out.ids, threadId },
    );
    const trace = options.skipTrace ? new Trace("", shared.ports.clock, () => undefined) : this.trace;
    const { signal, scripts = this.scripts } = options;
    const forked = new AgentContext({ shared, out, trace, signal, depth: this.depth + 1, scripts, threadId });
    forked.referer = "agent_fork";
    forked.locale = this.locale;
    forked.theme = this.theme;
    forked.route = this.route;
    forked.metadata = { ...this.metadata, ...options.metadata };
    return forked;
  }
}
