/**
 * Keeps tasks in step with their runs. Works on the leader only; every step is one transaction that holds the task's row and notes
 * how far it got, so a step that was cut off is done again and one that was done is not.
 *
 * K1  What a run says becomes part of its task's conversation, each message once.
 * K2  Each change of a run's state has its effects once: activity, inbox, the move of the card, the retry.
 * K3  A task that was to start and is not blocked any more starts; a message that came during a run starts the next one.
 * K4  A schedule's due time starts its task at most once, whoever leads.
 */

import { type Clock, Doorbell, errorText, type Ids, MeshError, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store, Tx } from "@mesh/store";

import { notePush } from "../push/push-store.ts";
import { isTerminal, RUN_EVENT } from "../runs/run-state.ts";
import { SYSTEM } from "./actor.ts";
import { appendMessages, findMessage, textOfBody } from "./conversation-store.ts";
import {
  closeInbox,
  foldableEvents,
  insertInbox,
  type InboxNote,
  type KeptRun,
  movedRuns,
  type NoteSubject,
  type OpenRun,
  peopleOf,
  readKept,
  setLastLine,
  setRetry,
  setSeen,
  setStartError,
  setSummary,
  startableTasks,
} from "./keeper-store.ts";
import { foldEvents, messageKey } from "./run-fold.ts";
import { dropOldFirings } from "./schedule-store.ts";
import { fireSchedules } from "./scheduler.ts";
import { settleRead } from "./steer.ts";
import { lockTask, type StoredOutput, type TaskFields } from "./task-row.ts";
import { noteTaskEvent } from "./task-event.ts";
import { autoMove, startRun } from "./task-run.ts";
import { insertActivity, putOutputs } from "./task-store.ts";
import { lastLineOf, summaryOf } from "./task-text.ts";

/** What the keeper uses. */
export interface KeeperDeps {
  readonly store: Store;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  readonly pokeQueue: () => void;
  readonly recorded: () => void;
  /** Told when a run of a task has begun to work, after the commit. */
  readonly offer: (taskId: string) => void;
  /** Told when a run of a task has ended, after the commit; the place for what may take long or fail. */
  readonly ended: (taskId: string, runId: string) => void;
}

const LOOK_MS = 250;
const HOUSEKEEPING_MS = 3_600_000;
const BATCH = 100;
const MAX_EVENTS = 500;
const MAX_OUTPUTS = 100;
const FIRST_RETRY_MS = 10_000;
const MAX_RETRY_MS = 600_000;

const TOLD = { needs_input: "needs_input", failed: "failed", done: "succeeded" } as const;

/** See the guarantees above. */
export class Keeper implements Service {
  readonly name = "task-keeper";
  readonly #deps: KeeperDeps;
  readonly #bell: Doorbell;

  constructor(deps: KeeperDeps) {
    this.#deps = deps;
    this.#bell = new Doorbell(deps.clock);
  }

  /** A task or a run of one was just changed here. */
  poke(): void {
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    let cleanedMs = this.#deps.clock.monotonic();
    while (!signal.aborted) {
      if (this.#deps.clock.monotonic() - cleanedMs >= HOUSEKEEPING_MS && this.#deps.isLeader()) {
        cleanedMs = this.#deps.clock.monotonic();
        await this.#attempt(() => dropOldFirings(this.#deps.store.sql), undefined);
      }
      const worked = this.#deps.isLeader() ? await this.look() : 0;
      await this.#bell.wait(signal, worked > 0 ? 0 : LOOK_MS);
    }
  }

  /** One look at everything; how much there was to do. */
  async look(): Promise<number> {
    const now = new Date(this.#deps.clock.now());
    const folded = await this.#each(
      () => movedRuns(this.#deps.store.sql, BATCH),
      (run) => this.#keep(run),
    );
    const fired = await this.#attempt(() => fireSchedules(this.#deps, now), 0);
    const started = await this.#each(
      () => startableTasks(this.#deps.store.sql, now, BATCH),
      (id) => this.#start(id),
    );
    if (folded + fired + started > 0) this.#deps.recorded();
    if (fired + started > 0) this.#deps.pokeQueue();
    return folded + fired + started;
  }

  // One task that cannot be kept must not keep the others from it.
  async #each<T>(list: () => Promise<readonly T[]>, step: (item: T) => Promise<boolean>): Promise<number> {
    let done = 0;
    for (const item of await this.#attempt(list, [])) {
      if (await this.#attempt(() => step(item), false)) done += 1;
    }
    return done;
  }

  async #attempt<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, "a step of task keeping failed; tried again");
      return otherwise;
    }
  }

  async #keep({ run_id: runId, task_id: taskId }: OpenRun): Promise<boolean> {
    const came = await this.#deps.store.sql.begin(async (tx) => {
      const task = await lockTask(tx, taskId);
      const run = task === undefined ? undefined : await readKept(tx, runId);
      if (task === undefined || run === undefined) return undefined;
      const foldedSeq = await this.#fold(tx, task, run);
      const isFolded = foldedSeq >= run.last_seq;
      // Its effects come after its words.
      const isNew = isFolded && (run.state !== run.seen_state || run.lease_epoch !== run.seen_epoch);
      if (isNew) await this.#react(tx, task, run);
      const settled = isFolded && isTerminal(run.state);
      const { state, epoch } = isFolded
        ? { state: run.state, epoch: run.lease_epoch }
        : { state: run.seen_state, epoch: run.seen_epoch };
      await setSeen(tx, runId, { state, epoch, foldedSeq, settled });
      return settled ? "ended" : isNew && run.state === "running" ? "began" : "moved";
    });
    if (came === "ended") this.#deps.ended(taskId, runId);
    if (came === "began") this.#deps.offer(taskId);
    return came !== undefined;
  }

  // Returns the seq up to which the conversation has everything.
  async #fold(tx: Tx, task: TaskFields, run: KeptRun): Promise<number> {
    const events = await foldableEvents(tx, run, MAX_EVENTS);
    const known = new Map<string, Readonly<Record<string, unknown>>>();
    for (const key of new Set(events.flatMap((event) => messageKey(event) ?? []))) {
      const body = await findMessage(tx, run.id, key);
      if (body !== undefined) known.set(key, JSON.parse(body) as Record<string, unknown>);
    }
    if (events.some(({ kind }) => kind === RUN_EVENT.steered)) await settleRead(tx, task.id, run.id);
    const { messages, outputs } = foldEvents(events, known);
    await appendMessages(
      tx,
      task.id,
      messages.map(({ author = run.assistant_id, ...message }) => ({ ...message, author, runId: run.id })),
    );
    for (const { author } of messages.filter(({ role }) => role === "user")) {
      const actor = author === undefined || author === "" ? SYSTEM : `user:${author}`;
      await insertActivity(tx, {
        id: this.#deps.ids.next("act"),
        taskId: task.id,
        actor,
        action: "answered",
        detail: { run: run.id },
      });
    }
    const line = messages
      .filter(({ role, body }) => role === "assistant" && body["type"] === "text")
      .map(({ body }) => lastLineOf(textOfBody(body)))
      .findLast((text) => text !== "");
    if (line !== undefined) await setLastLine(tx, task.id, line);
    if (outputs.length > 0) await putOutputs(tx, task.id, mergedOutputs(task.outputs, outputs, run.node));
    return events.length === MAX_EVENTS ? (events.at(-1)?.seq ?? run.last_seq) : run.last_seq;
  }

  async #react(tx: Tx, task: TaskFields, run: KeptRun): Promise<void> {
    if (run.seen_state === "waiting" && run.state !== "waiting") await closeInbox(tx, run.id);
    if (run.state === "waiting") {
      await this.#note(tx, task, "asked", { run: run.id });
      await this.#tell(tx, task, ofRun(run), { kind: "needs_input", text: run.reason });
    }
    if (!isTerminal(run.state)) return;
    await this.#note(tx, task, "ended", { run: run.id, state: run.state });
    if (run.state === "succeeded") {
      await autoMove(this.#deps, tx, task, "in_review");
      if (run.output !== "") await setSummary(tx, task.id, summaryOf(run.output));
      await this.#tell(tx, task, ofRun(run), { kind: "done", text: lastLineOf(run.output) });
    } else if (run.state !== "cancelled") {
      await this.#fail(tx, task, run);
    }
  }

  async #fail(tx: Tx, task: TaskFields, run: KeptRun): Promise<void> {
    if (task.retries < task.max_retries && task.archived_at === null) {
      const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** task.retries);
      await setRetry(tx, task.id, new Date(this.#deps.clock.now() + delayMs));
      return;
    }
    await this.#tell(tx, task, ofRun(run), { kind: "failed", text: run.error?.message ?? `it ended as ${run.state}` });
  }

  async #note(tx: Tx, task: TaskFields, action: string, detail: Readonly<Record<string, string>>): Promise<void> {
    await insertActivity(tx, { id: this.#deps.ids.next("act"), taskId: task.id, actor: SYSTEM, action, detail });
  }

  async #tell(tx: Tx, task: TaskFields, of: NoteSubject, what: Pick<InboxNote, "kind" | "text">): Promise<void> {
    const { workspace_id: workspaceId } = task;
    const run = of.kind === "run" ? { runId: of.runId } : {};
    await noteTaskEvent(tx, { ...task, workspaceId }, TOLD[what.kind], { ...run, text: what.text });
    const people = await peopleOf(tx, task.id);
    if (people.length === 0) return;
    const entries = people.map((userId) => ({ id: this.#deps.ids.next("inbox"), userId }));
    const note = { ...what, of, taskId: task.id, workspaceId };
    await notePush(tx, what.kind, await insertInbox(tx, note, entries));
  }

  async #start(taskId: string): Promise<boolean> {
    const { sql } = this.#deps.store;
    try {
      return await sql.begin(async (tx) => {
        const task = await lockTask(tx, taskId);
        if (task === undefined || !isToStart(task)) return false;
        const isRetry = !task.wants_start;
        return (await startRun(this.#deps, tx, task, { actor: SYSTEM, isRetry })).kind === "started";
      });
    } catch (thrown) {
      const error = MeshError.from(thrown);
      if (error.code !== "failed_precondition" && error.code !== "not_found") throw error;
      return sql.begin((tx) => this.#failStart(tx, taskId, error.message));
    }
  }

  // Unless somebody has mended, started or archived it meanwhile, or another leader was first.
  async #failStart(tx: Tx, taskId: string, why: string): Promise<boolean> {
    const task = await lockTask(tx, taskId);
    if (task === undefined || !isToStart(task)) return false;
    await setStartError(tx, taskId, why);
    await this.#note(tx, task, "start_failed", { why });
    await this.#tell(tx, task, { kind: "start" }, { kind: "failed", text: why });
    return true;
  }
}

function isToStart({ archived_at: archivedAt, wants_start: wants, retry_at: retryAt }: TaskFields): boolean {
  return archivedAt === null && (wants || retryAt !== null);
}

function ofRun(run: KeptRun): NoteSubject {
  return { kind: "run", runId: run.id, epoch: run.saved_epoch ?? run.lease_epoch };
}

function mergedOutputs(
  before: readonly StoredOutput[],
  made: readonly StoredOutput[],
  node: string | null,
): readonly StoredOutput[] {
  const all = [...made.toReversed().map((output) => ({ ...output, ...(node === null ? {} : { node }) })), ...before];
  const byTarget = new Map<string, StoredOutput>();
  for (const output of all) {
    const key = `${output.kind} ${output.target}`;
    if (!byTarget.has(key)) byTarget.set(key, output);
  }
  return [...byTarget.values()].slice(0, MAX_OUTPUTS);
}
