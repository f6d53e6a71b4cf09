/** Messages between the agent and a runner process. Every one names its run and epoch; JSON over the fork channel. */

import { isObject, type Json, type JsonObject } from "@mesh/kernel";
import type { OutputMessage, PendingItem, Resume, StateService, Usage } from "@mesh/runtime";

/** What a runner needs to execute one run. */
export interface RunJob {
  readonly runId: string;
  readonly epoch: number;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly userId: string;
  readonly input: string;
  readonly options: JsonObject;
  readonly metadata: JsonObject;
  /** The workspace's own connectors by id, keys included. */
  readonly connectors: JsonObject;
  /** Values of `$ENV.NAME` this run may read. */
  readonly env: Readonly<Record<string, string>>;
  readonly bundleDigest: string;
  readonly bundlePath: string;
  /** Where its tools work; made when one is used. */
  readonly workspaceDir: string;
  /** Present when the run goes on from where it waited. */
  readonly resume?: Resume;
}

/** What a runner needs to execute a batch of an eval. */
export interface EvalJob extends Pick<
  RunJob,
  "runId" | "epoch" | "workspaceId" | "connectors" | "env" | "bundleDigest" | "bundlePath"
> {
  /** The batch as it came, a JSON text. */
  readonly batch: string;
  /** Folder for the files of the workspace's evals; each runner makes its own in it. */
  readonly scratchDir: string;
}

/** What a runner executes. */
export type Job = RunJob | EvalJob;

/** A failure as data. */
export interface RunFailure {
  readonly code: string;
  readonly message: string;
}

/** How a run ended here. */
export type RunEnd =
  | { readonly state: "succeeded"; readonly output: string; readonly usage?: Usage }
  | { readonly state: "failed"; readonly error: RunFailure }
  | { readonly state: "cancelled" }
  /** It goes on when a person has answered; the pieces of its state came before. */
  | { readonly state: "waiting"; readonly pending: readonly PendingItem[] };

/** What a run asks about the state of its workspace. */
export interface StateQuestion {
  readonly service: StateService;
  readonly method: string;
  readonly args: readonly Json[];
}

/** The answer: a result (absent: none), or why there is none. */
export type StateReply = { readonly result?: Json } | { readonly error: RunFailure };

/** What a batch of an eval asks before it calls a model. */
export interface PermitQuestion {
  /** Host that serves the model. */
  readonly provider: string;
  /** How many calls; 0 only tells. */
  readonly calls: number;
  /** The provider has said to wait this long; 0 when it has not. */
  readonly slowDownMs: number;
}

/** An event that a batch of an eval gives. */
export interface EvalEvent {
  readonly kind: "eval.result" | "eval.before" | "eval.after";
  /** JSON object text. */
  readonly body: string;
}

/** Agent to runner. */
export type ToRunner =
  | { readonly kind: "run"; readonly job: Job }
  | {
      readonly kind: "answer";
      readonly runId: string;
      readonly epoch: number;
      readonly question: number;
      readonly reply: StateReply;
    }
  | { readonly kind: "cancel"; readonly runId: string; readonly epoch: number }
  | { readonly kind: "ping" };

/** Runner to agent. */
export type FromRunner =
  | { readonly kind: "ready" }
  | { readonly kind: "pong" }
  /** A script cannot be ended: give this runner no more runs. */
  | { readonly kind: "stuck" }
  /** The app is loaded and the assistant is about to run. */
  | { readonly kind: "started"; readonly runId: string; readonly epoch: number }
  | { readonly kind: "message"; readonly runId: string; readonly epoch: number; readonly message: OutputMessage }
  /** The next piece of the state of a run that is about to wait. */
  | { readonly kind: "state"; readonly runId: string; readonly epoch: number; readonly piece: string }
  | {
      readonly kind: "ask";
      readonly runId: string;
      readonly epoch: number;
      /** Unique in the runner. */
      readonly question: number;
      readonly asked: StateQuestion;
    }
  | {
      readonly kind: "permit";
      readonly runId: string;
      readonly epoch: number;
      /** Of the same numbers as `ask`; its answer is a reply whose result is {granted, waitMs}. */
      readonly question: number;
      readonly asked: PermitQuestion;
    }
  | { readonly kind: "event"; readonly runId: string; readonly epoch: number; readonly event: EvalEvent }
  | { readonly kind: "end"; readonly runId: string; readonly epoch: number; readonly end: RunEnd };

/** What a runner says of one of its runs. */
export type FromRun = Extract<FromRunner, { readonly runId: string }>;

/** Narrows what came over the channel; the other end is our own program, so its kind decides. */
export function isFromRunner(value: unknown): value is FromRunner {
  return isObject(value) && typeof value["kind"] === "string";
}

/** See {@link isFromRunner}. */
export function isToRunner(value: unknown): value is ToRunner {
  return isObject(value) && typeof value["kind"] === "string";
}
