/**
 * Executes batches of evals inside a runner. Loaded with the first of them: runners without evals do not pay for it.
 *
 * A batch reaches nothing of its workspace but the connectors and secrets it was given: memory, chats and files of cases are their
 * own, and end with them.
 */

import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { type Clock, isObject, type Json, MeshError } from "@mesh/kernel";
import { type AskPermit, EvalHosts, executeBatch, type HostRecipe, PermitDesk, readBatch } from "@mesh/eval/node";

import { AGENT_VERSION } from "../version.ts";
import type { EvalEvent, EvalJob, PermitQuestion, RunEnd } from "./protocol.ts";
import { commandEnv, connectorsOf, endOf } from "./run-job.ts";

/** What the batches of a runner share. */
export interface EvalJobDeps {
  readonly clock: Clock;
  /** The runner's own environment; commands get a part of it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Variables by which what a batch started is found again. */
  readonly mark: Readonly<Record<string, string>>;
  readonly pid: number;
  readonly stuck: () => void;
  readonly log: (text: string) => void;
}

/** What one batch brings. */
export interface BatchPorts {
  readonly emit: (event: EvalEvent) => void;
  /** The app is there and the batch begins. */
  readonly started: () => void;
  readonly permit: (question: PermitQuestion, signal: AbortSignal) => Promise<Json | undefined>;
}

/** See the file comment. */
export class EvalJobs implements AsyncDisposable {
  readonly #deps: EvalJobDeps;
  readonly #permits: PermitDesk;
  #hosts: EvalHosts | undefined;

  constructor(deps: EvalJobDeps) {
    this.#deps = deps;
    this.#permits = new PermitDesk(deps.clock);
  }

  /** Runs a batch to its end; never rejects. */
  async run(job: EvalJob, ports: BatchPorts, signal: AbortSignal): Promise<RunEnd> {
    const over = new AbortController();
    const ended = AbortSignal.any([signal, over.signal]);
    setMaxListeners(0, ended);
    try {
      const batch = readBatch(job.batch);
      this.#hosts ??= this.#openHosts(job.scratchDir);
      const { host, baseDir, release } = await this.#hosts.lease(this.#recipe(job, batch.evalId));
      try {
        signal.throwIfAborted();
        ports.started();
        const ask: AskPermit = async (question, asking) => permitOf(await ports.permit(question, asking));
        const gate = this.#permits.gateOf({ ask, isRated: batch.settings.isRated, signal: ended });
        const { clock } = this.#deps;
        await executeBatch(batch, { host: host.gated(gate), clock, baseDir, emit: ports.emit }, signal);
      } finally {
        await release(signal.aborted || batch.phase === "after");
      }
      return signal.aborted ? { state: "cancelled" } : { state: "succeeded", output: "" };
    } catch (thrown) {
      return endOf(thrown, signal);
    } finally {
      over.abort();
    }
  }

  /** Ends what was started, at once. */
  kill(): void {
    this.#hosts?.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hosts?.[Symbol.asyncDispose]();
  }

  #openHosts(scratchDir: string): EvalHosts {
    const { clock, pid, log } = this.#deps;
    removeOrphans(scratchDir);
    return new EvalHosts({ clock, dir: join(scratchDir, String(pid)), log });
  }

  #recipe(job: EvalJob, evalId: string): HostRecipe {
    const { env, mark, stuck } = this.#deps;
    const given = JSON.stringify([evalId, job.bundleDigest, job.connectors, job.env]);
    return {
      key: createHash("sha256").update(given).digest("hex"),
      bundle: () => readFile(job.bundlePath),
      // What a case may read is what a run of the workspace may read, not what this process has.
      env: {},
      variables: job.env,
      version: AGENT_VERSION,
      connectors: connectorsOf(job.connectors),
      device: { commandEnv: commandEnv(job.env, env), serverEnv: env, mark, stuck },
      models: () => Promise.reject(new MeshError("failed_precondition", NO_MODELS)),
    };
  }
}

const NO_MODELS =
  "data models need a database, which an eval on a device has not; run this case on your own machine, without --nodes";

function permitOf(answer: Json | undefined): { readonly granted: number; readonly waitMs: number } {
  const { granted, waitMs } = isObject(answer) ? answer : {};
  if (typeof granted === "number" && typeof waitMs === "number") return { granted, waitMs };
  throw new MeshError("data_loss", "the answer about a permit cannot be read");
}

/** Removes what runners have left that were killed: their folders have the numbers of their processes. */
function removeOrphans(scratchDir: string): void {
  for (const name of namesIn(scratchDir)) {
    if (/^\d+$/.test(name) && !isAlive(Number(name))) rmSync(join(scratchDir, name), { recursive: true, force: true });
  }
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
