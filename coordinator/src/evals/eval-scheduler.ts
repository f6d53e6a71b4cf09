/**
 * Keeps evals going: folds what batches said, and gives units to devices. Works on the leader only; what it does for one eval at a
 * time is one transaction (`eval-step.ts`), so another leader may take over between any two.
 */

import { type Bus, runOfSubject, subjects } from "@mesh/bus";
import { type Clock, Doorbell, errorText, type Ids, rfc3339, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { Command } from "@mesh/proto";
import type { Store } from "@mesh/store";

import type { ToldToStop } from "./batch-store.ts";
import { evalsAtWork } from "./eval-row.ts";
import { stepEval } from "./eval-step.ts";

/** Between two looks that nobody rang for. */
const LOOK_MS = 250;
/** Between two looks in any case: news of many runs come together. */
const PAUSE_MS = 15;
/** Steps of one eval before the next one has its turn. */
const MAX_STEPS = 20;

/** What the scheduler uses. */
export interface EvalSchedulerDeps {
  readonly store: Pick<Store, "sql">;
  readonly bus: Bus;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  /** Runs were queued. */
  readonly pokeQueue: () => void;
  /** The log or the state of an eval changed. */
  readonly grown: (evalId: string) => void;
  /** These runs' logs grew. */
  readonly committed: (runIds: readonly string[]) => void;
}

/** See the file comment. */
export class EvalScheduler implements Service {
  readonly name = "eval-scheduler";
  readonly #deps: EvalSchedulerDeps;
  readonly #bell: Doorbell;
  /** Batches that had not ended at the last look: news of them are worth another one. */
  #open: ReadonlySet<string> = new Set();
  #turn = 0;

  constructor(deps: EvalSchedulerDeps) {
    this.#deps = deps;
    this.#bell = new Doorbell(deps.clock);
  }

  /** An eval was started, cancelled or gone on with here. */
  poke(): void {
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { bus, clock, isLeader } = this.#deps;
    const hints = bus.subscribe(subjects.anyTail, (_data, subject) => {
      if (this.#open.size > 0 && this.#open.has(`run_${runOfSubject(subject)}`)) this.#bell.ring();
    });
    try {
      while (!signal.aborted) {
        if (isLeader()) await this.look();
        else this.#open = new Set();
        await clock.sleep(PAUSE_MS, signal);
        await this.#bell.wait(signal, LOOK_MS);
      }
    } finally {
      hints.stop();
    }
  }

  /** One look at all evals; how many steps did something. */
  async look(): Promise<number> {
    const ids = await this.#attempt(() => evalsAtWork(this.#deps.store.sql), []);
    // Each look begins with another one, so that a large eval does not take every slot.
    this.#turn = ids.length === 0 ? 0 : (this.#turn + 1) % ids.length;
    const open = new Set<string>();
    let worked = 0;
    for (const evalId of [...ids.slice(this.#turn), ...ids.slice(0, this.#turn)])
      worked += await this.#stepAll(evalId, open);
    this.#open = open;
    return worked;
  }

  // Steps until there is nothing to do; returns how many did something, and adds the batches that have not ended.
  async #stepAll(evalId: string, open: Set<string>): Promise<number> {
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const outcome = await this.#attempt(() => this.#step(evalId), undefined);
      for (const runId of outcome?.open ?? []) open.add(runId);
      if (outcome?.hasMore !== true)
        return outcome?.isNews === true || (outcome?.queued.length ?? 0) > 0 ? steps + 1 : steps;
    }
    return MAX_STEPS;
  }

  async #step(evalId: string): Promise<Awaited<ReturnType<typeof stepEval>>> {
    const { store, ids, clock, pokeQueue, grown, committed } = this.#deps;
    const deps = { ids, at: rfc3339(clock.now()) };
    const outcome = await store.sql.begin((tx) => stepEval(tx, evalId, deps));
    if (outcome.queued.length > 0) pokeQueue();
    for (const run of outcome.stopped) this.#tellToStop(run);
    if (outcome.stopped.length > 0) committed(outcome.stopped.map(({ runId }) => runId));
    if (outcome.isNews) grown(evalId);
    return outcome;
  }

  #tellToStop({ runId, epoch, digest }: ToldToStop): void {
    const command: Command["command"] = { $case: "cancel", value: { run_id: runId, epoch, why: "user" } };
    this.#deps.bus.publish(subjects.command(digest), Command.encode({ command }).finish());
  }

  // One eval that cannot be kept going must not keep the others from it.
  async #attempt<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, "a step of an eval failed; tried again");
      return otherwise;
    }
  }
}
