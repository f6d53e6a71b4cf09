/**
 * One run while it executes here: prepares it, hands it to a runner, writes its events.
 *
 * E1  Exactly one terminal event, the last one, unless the run is dropped; then none. A run that waits for a person has ended
 *     here: its state lies before the end, and whoever goes on with it has a later epoch.
 * E2  Whatever the runner does or does not do, the run ends: at its time-out, five seconds after a cancel, at a crash.
 */

import {
  type CancelTimer,
  type Clock,
  errorText,
  isObject,
  type Json,
  type JsonObject,
  MeshError,
  rfc3339,
} from "@mesh/kernel";
import type { SecretsAnswer } from "@mesh/proto";
import type { OutputMessage, Resume } from "@mesh/runtime";

import type { Journal } from "../journal/journal.ts";
import { ASKED_KIND, STATE_KIND, TERMINAL_KIND } from "../journal/replay.ts";
import type { RunLog } from "../journal/run-log.ts";
import type { AgentLog } from "../log.ts";
import type {
  EvalEvent,
  EvalJob,
  Job,
  PermitQuestion,
  RunEnd,
  RunJob,
  StateQuestion,
  StateReply,
} from "../runner/protocol.ts";
import type { RunHandle, RunnerPool } from "../runner/runner-pool.ts";
import { endBody } from "./end-body.ts";
import { RunOutput } from "./run-output.ts";
import { readWorkData, type WorkData } from "./work-item.ts";

/** What a session needs; `bundlePath` and `secrets` keep trying until they have an answer or `signal` aborts. */
export interface SessionDeps {
  readonly journal: Pick<Journal, "append">;
  readonly runners: Pick<RunnerPool, "run">;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly env: Readonly<Record<string, string>>;
  readonly bundlePath: (digest: string, signal: AbortSignal) => Promise<string>;
  readonly secrets: (run: RunLog, signal: AbortSignal) => Promise<SecretsAnswer>;
  /** What a run that waited goes on from. */
  readonly savedState: (run: RunLog, signal: AbortSignal) => Promise<Resume>;
  /** Asks the coordinator about the state of the run's workspace. */
  readonly askState: (run: RunLog, question: StateQuestion, signal: AbortSignal) => Promise<Json | undefined>;
  /** What a run that is a batch of an eval executes. */
  readonly evalBatch: (run: RunLog, signal: AbortSignal) => Promise<string>;
  /** Asks the coordinator whether a batch may call a model. */
  readonly askPermit: (run: RunLog, question: PermitQuestion, signal: AbortSignal) => Promise<PermitAnswer>;
  /** Throws for an id that is none. */
  readonly workspaceDir: (workspaceId: string) => string;
  /** Where evals of a workspace keep files while they run; throws for an id that is none. */
  readonly scratchDir: (workspaceId: string) => string;
  /** Whether a run that was just given to this device is still its own without asking. */
  readonly isCertain: () => boolean;
  /** The coordinator says that another device has the run now. */
  readonly lost: (run: RunLog) => void;
  /** Called once, when the run has ended or was dropped. */
  readonly over: (session: RunSession) => void;
}

/** How many calls may be made; with none, when to ask again. */
export interface PermitAnswer {
  readonly granted: number;
  readonly waitMs: number;
}

// A batch of one event must fit into one message of the bus (1 MB).
const MAX_EVAL_EVENT_CHARS = 256 * 1024;

/** A run in progress; see above. */
export class RunSession {
  readonly run: RunLog;
  readonly #deps: SessionDeps;
  readonly #output: RunOutput;
  readonly #over = new AbortController();
  readonly #startedMs: number;
  #handle: RunHandle | undefined;
  #cancelTimeout: CancelTimer | undefined;
  #isCancelling = false;

  constructor(run: RunLog, deps: SessionDeps) {
    this.run = run;
    this.#deps = deps;
    this.#startedMs = deps.clock.monotonic();
    this.#output = new RunOutput({
      clock: deps.clock,
      append: (event) => void deps.journal.append(run, event),
      failed: (error) => this.#abort(failureOf(error)),
    });
  }

  /** Begins to execute; returns at once. */
  begin(): void {
    this.#prepare().catch((error: unknown) => {
      if (isNotOurs(error)) this.#deps.lost(this.run);
      else this.end(failureOf(error));
    });
  }

  /** Stops the run; it ends as cancelled. */
  cancel(why: string): void {
    if (this.#over.signal.aborted || this.#isCancelling) return;
    this.#isCancelling = true;
    this.#deps.log.info({ runId: this.run.runId, leaseEpoch: this.run.epoch, why }, "run cancelling");
    if (this.#handle === undefined) this.end({ state: "cancelled" });
    else this.#handle.cancel(() => this.end({ state: "cancelled" }));
  }

  /** Ends the run with a failure of ours and stops its execution. */
  abort(code: string, message: string): void {
    this.#abort({ state: "failed", error: { code, message } });
  }

  /** The run is not ours any more: stops it without a word. */
  drop(): void {
    if (this.#over.signal.aborted) return;
    this.#handle?.abandon();
    this.#close();
  }

  /** Writes the terminal event; only the first call counts. */
  end(end: RunEnd): void {
    if (this.#over.signal.aborted) return;
    const final = this.#flushed(this.#isCancelling && end.state === "waiting" ? { state: "cancelled" } : end);
    this.#deps.journal.append(this.run, {
      kind: final.state === "waiting" ? ASKED_KIND : TERMINAL_KIND,
      body: JSON.stringify(endBody(final, this.#deps.clock.monotonic() - this.#startedMs)),
      deltaOf: "",
      durable: true,
    });
    const failure = final.state === "failed" ? final.error : undefined;
    this.#deps.log.info(
      { runId: this.run.runId, leaseEpoch: this.run.epoch, state: final.state, failure },
      "run ended",
    );
    this.#close();
  }

  async #prepare(): Promise<void> {
    const { run } = this;
    const data = readWorkData(run.item);
    this.#cancelTimeout = this.#deps.clock.after(data.timeoutMs, () => {
      this.abort("timeout", `the run took longer than its time-out of ${Math.round(data.timeoutMs / 1000)} s`);
    });
    const { signal } = this.#over;
    const [bundlePath, secrets, resume, batch] = await Promise.all([
      this.#deps.bundlePath(run.item.bundle_digest, signal),
      // Asking for secrets is asking for the lease: only its holder is answered.
      run.item.needs_secrets || !this.#deps.isCertain() ? this.#deps.secrets(run, signal) : NO_SECRETS,
      run.item.resume ? this.#deps.savedState(run, signal) : undefined,
      run.item.eval ? this.#deps.evalBatch(run, signal) : undefined,
    ]);
    if (signal.aborted) return;
    const job = this.#job(data, bundlePath, secrets);
    this.#hand(batch === undefined ? { ...job, ...(resume !== undefined && { resume }) } : this.#evalJob(job, batch));
  }

  #hand(job: Job): void {
    this.#handle = this.#deps.runners.run(job, {
      started: () => this.#started(),
      message: (message) => this.#message(message),
      state: (piece) => this.#keepState(piece),
      asked: (question) => replied(this.#deps.askState(this.run, question, this.#over.signal)),
      permit: (question) =>
        replied(this.#deps.askPermit(this.run, question, this.#over.signal).then((permit) => ({ ...permit }))),
      event: (event) => this.#evalEvent(event),
      ended: (end) => this.end(end),
      crashed: (reason) => this.end(this.#isCancelling ? { state: "cancelled" } : crashed(reason)),
    });
  }

  #job(data: WorkData, bundlePath: string, secrets: SecretsAnswer): RunJob {
    const { item, runId, epoch } = this.run;
    return {
      runId,
      epoch,
      workspaceId: item.workspace_id,
      assistantId: item.assistant_id,
      userId: item.user_id,
      input: item.input,
      options: data.options,
      metadata: data.metadata,
      connectors: withKeys(data.connectors, secrets.keys),
      env: { ...this.#deps.env, ...secrets.env },
      bundleDigest: item.bundle_digest,
      bundlePath,
      workspaceDir: this.#deps.workspaceDir(item.workspace_id),
    };
  }

  #evalJob(job: RunJob, batch: string): EvalJob {
    const { runId, epoch, workspaceId, connectors, env, bundleDigest, bundlePath } = job;
    const scratchDir = this.#deps.scratchDir(workspaceId);
    return { runId, epoch, workspaceId, connectors, env, bundleDigest, bundlePath, batch, scratchDir };
  }

  #started(): void {
    if (this.#over.signal.aborted) return;
    const body = JSON.stringify({ at: rfc3339(this.#deps.clock.now()), attempt: this.run.item.attempt });
    this.#write(() => this.#deps.journal.append(this.run, { kind: "run.started", body, deltaOf: "", durable: false }));
  }

  #message(message: OutputMessage): void {
    if (!this.#over.signal.aborted) this.#write(() => this.#output.write(message));
  }

  // A result is there as soon as its unit has ended, whatever becomes of the rest of the batch.
  #evalEvent({ kind, body }: EvalEvent): void {
    if (this.#over.signal.aborted) return;
    this.#write(() => {
      if (body.length > MAX_EVAL_EVENT_CHARS) {
        throw new MeshError(
          "resource_exhausted",
          `an event of the eval is larger than ${MAX_EVAL_EVENT_CHARS} characters`,
        );
      }
      this.#deps.journal.append(this.run, { kind, body, deltaOf: "", durable: false });
    });
  }

  // Behind all that was said: the end of the epoch follows.
  #keepState(piece: string): void {
    if (this.#over.signal.aborted) return;
    this.#write(() => {
      this.#output.flush();
      this.#deps.journal.append(this.run, { kind: STATE_KIND, body: piece, deltaOf: "", durable: false });
    });
  }

  #write(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#abort(failureOf(error));
    }
  }

  #abort(end: RunEnd): void {
    if (this.#over.signal.aborted) return;
    this.#handle?.abandon();
    this.end(end);
  }

  // Held pieces belong before the end; when they do not fit any more, that is the reason of the end.
  #flushed(end: RunEnd): RunEnd {
    try {
      this.#output.flush();
      return end;
    } catch (error) {
      return end.state === "succeeded" || end.state === "waiting" ? failureOf(error) : end;
    }
  }

  #close(): void {
    this.#cancelTimeout?.();
    this.#over.abort();
    this.#deps.over(this);
  }
}

const NO_SECRETS: SecretsAnswer = { keys: {}, env: {} };

function withKeys(connectors: JsonObject, keys: Readonly<Record<string, string>>): JsonObject {
  const out: Record<string, Json> = { ...connectors };
  for (const [id, key] of Object.entries(keys)) {
    const config = Object.hasOwn(out, id) ? out[id] : {};
    if (isObject(config)) Object.defineProperty(out, id, { value: { ...config, key }, enumerable: true });
  }
  return out;
}

async function replied(asking: Promise<Json | undefined>): Promise<StateReply> {
  try {
    const result = await asking;
    return result === undefined ? {} : { result };
  } catch (thrown) {
    const { code, message } = MeshError.from(thrown);
    return { error: { code, message } };
  }
}

function crashed(reason: string): RunEnd {
  return {
    state: "failed",
    error: { code: "runner_crashed", message: `${reason}; start the run again with: yao runs retry` },
  };
}

// The answer of the secrets rpc to a device that does not hold the lease (any more).
function isNotOurs(thrown: unknown): boolean {
  return thrown instanceof MeshError && thrown.code === "failed_precondition" && thrown.details?.["code"] === undefined;
}

/** A thrown error as the end of a run; errors of this node carry their own code in the details. */
function failureOf(thrown: unknown): RunEnd {
  const error = MeshError.from(thrown);
  const code = error.details?.["code"];
  return { state: "failed", error: { code: typeof code === "string" ? code : error.code, message: errorText(error) } };
}
