/** The states of a run and the few facts derived from them. Pure. */

/** Every state, in the order of a run's life. */
export const RUN_STATES = [
  "queued",
  "placed",
  "accepted",
  "running",
  "waiting",
  "succeeded",
  "failed",
  "cancelled",
  "lost",
] as const;

/** One of {@link RUN_STATES}. */
export type RunState = (typeof RUN_STATES)[number];

/** States that never change again. */
export type TerminalState = Extract<RunState, "succeeded" | "failed" | "cancelled" | "lost">;

const TERMINAL: readonly RunState[] = ["succeeded", "failed", "cancelled", "lost"];

/** Whether a run in this state has ended. */
export function isTerminal(state: RunState): state is TerminalState {
  return TERMINAL.includes(state);
}

/** Narrows text of a query or a column. */
export function toRunState(text: string): RunState | undefined {
  return RUN_STATES.find((state) => state === text);
}

/** What happens to a run whose device is lost. */
export type OnLost = "hold" | "replace" | "fail";

/** Why a run ended badly. */
export interface RunFailure {
  readonly code: string;
  readonly message: string;
}

/** Names of the events the coordinator itself writes into a run's log. */
export const RUN_EVENT = {
  queued: "run.queued",
  waiting: "run.waiting",
  placed: "run.placed",
  requeued: "run.requeued",
  cancelling: "run.cancelling",
  unreachable: "run.unreachable",
  reachable: "run.reachable",
  accepted: "run.accepted",
  started: "run.started",
  /** The device gave the run up and it goes back to the queue. */
  handedBack: "run.handed_back",
  /** The run waits for a person; sent by the device as the last event of its epoch. */
  asked: "run.asked",
  answered: "run.answered",
  /** The run has read what a person said to it while it worked; `message_id` names it. */
  steered: "run.steered",
  /** The last event of every run. */
  finished: "run.finished",
} as const;

/** Kind of the events that carry the saved state of a run; they are no part of its log. */
export const STATE_KIND = "run.state";

/** Length of a lease; renewed by heartbeats. */
export const LEASE_MS = 60_000;

/** A placed run must be accepted within this time, else it is placed anew. */
export const ACCEPT_MS = 15_000;

/** How long a run is held for a device that went away. */
export const HOLD_MS: number = 24 * 3_600_000;

/** Placements that came to nothing before a run is given up. */
export const MAX_ATTEMPTS = 5;
