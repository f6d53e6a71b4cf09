/** What all agents of one run share: its input, its ports, the one stream, what it has spent. */

import { NO_STATS, addStats, type RunStats } from "@mesh/agent";

import { type CancelTimer, errorText, MeshError } from "@mesh/kernel";
import type { HostOps } from "@mesh/scripts";

import type { AgentContext } from "./agent-context.ts";
import type { AgentRequest, AgentResponse } from "./agent-request.ts";
import type { OutputMessage } from "./message.ts";
import type { OpCaller } from "./op/op-table.ts";
import type { RunInput, RunPorts } from "./run-input.ts";
import type { SteeringMessage } from "./steering.ts";

/** Where output goes. */
export interface RunStream {
  write(message: OutputMessage): void;
  /** Resolves when the reader has taken everything. */
  drained(): Promise<void>;
  /** References that a segment of the run before this one has numbered. */
  readonly citations?: number | undefined;
  /** What people said to it in such a segment. */
  readonly heard?: readonly string[] | undefined;
}

/** What agents and scripts of a run call of each other; given from outside, because each needs the other. */
export interface RunCalls {
  readonly callAgent: (request: AgentRequest, context: AgentContext) => Promise<AgentResponse>;
  readonly opsOf: (caller: OpCaller) => HostOps | Promise<HostOps>;
}

const MAX_LATER = 1_000;

/** See the file comment. */
export class RunShared {
  readonly input: RunInput;
  readonly ports: RunPorts;
  readonly callAgent: RunCalls["callAgent"];
  readonly opsOf: RunCalls["opsOf"];
  /** Attachments in words, for models that do not see or hear; see `content/describe.ts`. */
  readonly described: Map<string, Promise<string>> = new Map();
  readonly #write: (message: OutputMessage) => void;
  readonly #drained: () => Promise<void>;
  #stats: RunStats = NO_STATS;
  readonly #timers = new Set<CancelTimer>();
  /** Made with the first timer: most runs have none, and an abort costs more than all the rest of their end. */
  #over: AbortController | undefined;
  #citations: number;
  readonly #heard: string[];

  constructor(input: RunInput, ports: RunPorts, stream: RunStream & RunCalls) {
    this.input = input;
    this.ports = ports;
    this.callAgent = stream.callAgent;
    this.opsOf = stream.opsOf;
    this.#write = (message) => stream.write(message);
    this.#drained = () => stream.drained();
    this.#citations = stream.citations ?? 0;
    this.#heard = [...(stream.heard ?? [])];
  }

  /** What the run has spent until now, agents that it called included. */
  get stats(): RunStats {
    return this.#stats;
  }

  /** Writes into the run's stream. */
  write(message: OutputMessage): void {
    this.#write(message);
  }

  /** Resolves when the reader of the stream has taken everything. */
  drained(): Promise<void> {
    return this.#drained();
  }

  spend(stats: RunStats): void {
    this.#stats = this.#stats === NO_STATS ? stats : addStats(this.#stats, stats);
  }

  /** Does something after a while, if the run still lives; the end of the run ends it as well. */
  later(delayMs: number, work: (signal: AbortSignal) => Promise<unknown>): void {
    if (this.#timers.size >= MAX_LATER) {
      throw new MeshError("resource_exhausted", `${MAX_LATER} processes wait for their time already`);
    }
    this.#over ??= new AbortController();
    const { signal } = this.#over;
    const cancel = this.ports.clock.after(delayMs, () => {
      this.#timers.delete(cancel);
      work(signal).catch((error: unknown) => {
        if (!signal.aborted) this.ports.log?.("warn", "a delayed process failed", { err: errorText(error) });
      });
    });
    this.#timers.add(cancel);
  }

  /** Ends what came later than asked for, and lets go of what was to come. */
  close(): void {
    this.#over?.abort();
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  /** Texts of people that reached the run while it worked. */
  get heard(): readonly string[] {
    return this.#heard;
  }

  /** The model is about to be told this. */
  steered({ id, text }: SteeringMessage): void {
    this.#heard.push(text);
    this.write({ type: "steered", props: { message_id: id } });
  }

  /** How many references there are. */
  get citations(): number {
    return this.#citations;
  }

  /** The next number for a reference, unique in the run. */
  nextCitation(): number {
    return (this.#citations += 1);
  }
}
