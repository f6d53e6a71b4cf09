/**
 * Takes work from the stream and executes it within the node's slots.
 *
 * X1  A (run, epoch) is started at most once, whatever is delivered however often; it is acknowledged once its start is durable.
 * X2  Never more runs than slots; a draining or stopping node takes none.
 * X3  A newer epoch of a run ends the older one here, silently.
 */

import type { StreamMessage } from "@mesh/bus";
import { errorText, rfc3339 } from "@mesh/kernel";
import type { WorkItem } from "@mesh/proto";
import type { SteeringMessage } from "@mesh/runtime";

import type { Journal } from "../journal/journal.ts";
import type { RunKey } from "../journal/record.ts";
import { TERMINAL_KIND } from "../journal/replay.ts";
import { keyOf, type RunLog } from "../journal/run-log.ts";
import type { RunnerPool } from "../runner/runner-pool.ts";
import { RunSession, type SessionDeps } from "./run-session.ts";
import { decodeWorkItem } from "./work-item.ts";

/** What an executor needs. */
export interface ExecutorDeps extends Omit<SessionDeps, "journal" | "runners" | "over" | "lost"> {
  readonly journal: Journal;
  readonly runners: Pick<RunnerPool, "run" | "warm" | "stop">;
  /** Called when runs, slots or draining changed. */
  readonly changed: () => void;
  /** A run begins to work in its workspace. */
  readonly began: (workspaceId: string, runId: string) => void;
  /** It works there no more. */
  readonly ended: (workspaceId: string, runId: string) => void;
}

const BUSY_MS = 500;
const RETRY_MS = 5_000;
const MAX_EARLY_CANCELS = 256;

/** The runs of this node. */
export class Executor {
  readonly #deps: ExecutorDeps;
  readonly #sessions = new Map<string, RunSession>();
  readonly #starting = new Set<string>();
  /** Cancels that came before their work item. */
  readonly #earlyCancels = new Set<string>();
  #slots: number;
  #isDraining = false;
  #isStopping = false;
  #idle: () => void = () => undefined;

  constructor(deps: ExecutorDeps, slots: number) {
    this.#deps = deps;
    this.#slots = slots;
  }

  get slots(): number {
    return this.#slots;
  }

  get slotsUsed(): number {
    return this.#sessions.size + this.#starting.size;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Ends what a crash of this agent left unfinished. */
  recover(): void {
    for (const run of this.#deps.journal.runs()) {
      if (run.terminalN > 0) continue;
      this.#failWithout(
        run,
        "node_restarted",
        "the node agent restarted while the run was in progress; run it again with: yao runs retry",
      );
    }
  }

  /** What the coordinator decided about this node. */
  setPolicy(policy: { readonly slots: number; readonly isDraining: boolean }): void {
    const slots = policy.slots > 0 ? policy.slots : this.#slots;
    if (slots === this.#slots && policy.isDraining === this.#isDraining) return;
    this.#slots = slots;
    this.#isDraining = policy.isDraining;
    this.#deps.log.info({ slots, draining: this.#isDraining }, "node policy changed");
    this.#deps.changed();
  }

  /** Admits delivered work; resolves when each message is answered. */
  async accept(messages: readonly StreamMessage[]): Promise<void> {
    await Promise.all(messages.map((message) => this.#admit(message)));
  }

  /** Cancels a run; false when nothing is known of it. */
  cancel(key: RunKey, why: string): boolean {
    const session = this.#sessions.get(keyOf(key));
    if (session !== undefined) session.cancel(why);
    else if (this.#deps.journal.admission(key) === "new" || this.#starting.has(keyOf(key))) {
      this.#earlyCancels.add(keyOf(key));
      for (const oldest of this.#earlyCancels) {
        if (this.#earlyCancels.size <= MAX_EARLY_CANCELS) break;
        this.#earlyCancels.delete(oldest);
      }
      return false;
    }
    return true;
  }

  /** Says something to a run at work; false when it is not here or hears nothing more. */
  steer(key: RunKey, message: SteeringMessage): boolean {
    return this.#sessions.get(keyOf(key))?.steer(message) ?? false;
  }

  /** Stops a run that is not this node's any more, and forgets it. */
  drop(key: RunKey): void {
    const run = this.#deps.journal.run(key);
    if (run === undefined || this.#starting.has(run.key)) return;
    this.#deps.log.info({ runId: run.runId, leaseEpoch: run.epoch }, "run dropped");
    this.#sessions.get(run.key)?.drop();
    this.#deps.journal.forget(run);
    this.#deps.changed();
  }

  /** Gives every run back: the coordinator decides whether they go on elsewhere. */
  handBack(): void {
    for (const session of this.#sessions.values()) {
      session.abort(
        "handed_back",
        "the device was drained before the run had finished; run it again with: yao runs retry",
      );
    }
  }

  /** Takes no more work, lets runs finish for `graceMs` (or until `now` aborts), then fails what is left. */
  async stop(graceMs: number, now: AbortSignal): Promise<void> {
    this.#isStopping = true;
    const done = new AbortController();
    this.#idle = () => {
      if (this.slotsUsed === 0) done.abort();
    };
    this.#idle();
    await this.#deps.clock.sleep(graceMs, AbortSignal.any([done.signal, now]));
    for (const session of this.#sessions.values()) {
      session.abort(
        "node_stopped",
        "the node agent was stopped while the run was in progress; run it again with: yao runs retry",
      );
    }
    await this.#deps.runners.stop();
  }

  async #admit(message: StreamMessage): Promise<void> {
    const item = decodeWorkItem(message.data);
    if (item === undefined) {
      this.#deps.log.warn({ bytes: message.data.length }, "unreadable work item refused");
      message.term();
      return;
    }
    const key = { runId: item.run_id, epoch: item.epoch };
    const admission = this.#deps.journal.admission(key);
    if (admission === "stale") message.term();
    else if (this.#starting.has(keyOf(key))) message.nak(RETRY_MS);
    else if (admission === "held") message.ack();
    else if (this.#isStopping || this.#isDraining || this.slotsUsed >= this.#slots) message.nak(BUSY_MS);
    else await this.#start(item, message);
  }

  async #start(item: WorkItem, message: StreamMessage): Promise<void> {
    const key = keyOf({ runId: item.run_id, epoch: item.epoch });
    this.#starting.add(key);
    try {
      this.#supersede(item);
      // The process starts while the disk writes.
      this.#deps.runners.warm(item.workspace_id);
      const body = JSON.stringify({ at: rfc3339(this.#deps.clock.now()), attempt: item.attempt });
      const accepted = { kind: "run.accepted", body, deltaOf: "", durable: true };
      const run = await this.#deps.journal.start(item, accepted);
      message.ack();
      this.#begin(run);
    } catch (error) {
      this.#deps.log.error({ runId: item.run_id, reason: errorText(error) }, "work not accepted");
      message.nak(RETRY_MS);
    } finally {
      this.#starting.delete(key);
      this.#deps.changed();
    }
  }

  #begin(run: RunLog): void {
    const { log, began, ended, changed: _changed, ...deps } = this.#deps;
    const lost = (other: RunLog): void => this.drop(other);
    const over = (): void => {
      this.#sessions.delete(run.key);
      if (!run.item.eval) ended(run.item.workspace_id, run.runId);
      this.#idle();
      this.#deps.changed();
    };
    const session = new RunSession(run, { ...deps, log, lost, over });
    this.#sessions.set(run.key, session);
    // An eval leaves the workspace's files alone.
    if (!run.item.eval) began(run.item.workspace_id, run.runId);
    log.info({ runId: run.runId, leaseEpoch: run.epoch, assistant: run.item.assistant_id }, "run accepted");
    if (this.#earlyCancels.delete(run.key)) session.cancel("cancelled before it arrived");
    else session.begin();
  }

  #supersede(item: WorkItem): void {
    for (const run of this.#deps.journal.runs()) {
      if (run.runId === item.run_id && run.epoch < item.epoch) this.drop(run);
    }
  }

  #failWithout(run: RunLog, code: string, message: string): void {
    const body = JSON.stringify({ state: "failed", error: { code, message }, output: "" });
    this.#deps.journal.append(run, { kind: TERMINAL_KIND, body, deltaOf: "", durable: true });
    this.#deps.log.warn({ runId: run.runId, leaseEpoch: run.epoch, code }, "run ended");
  }
}
