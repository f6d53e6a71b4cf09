/** graphile-worker on the same PostgreSQL server: jobs added here, executed by a process of their own. */

import { Logger, makeWorkerUtils, type WorkerUtils } from "graphile-worker";

import type { JobNote } from "./graphile-process.ts";
import { LoadProcess } from "./load-process.ts";
import { nowMs } from "./sample.ts";

/** What one job took, from before it was added. */
export interface JobTimes {
  /** Its task has started. */
  readonly pickupMs: number;
  /** Its completion is committed. */
  readonly committedMs: number;
}

/** See the head of this file. */
export class GraphilePeer implements AsyncDisposable {
  readonly #worker: LoadProcess;
  readonly #utils: WorkerUtils;
  readonly #waiting = new Map<number, (job: JobNote) => void>();
  #nextKey = 1;

  private constructor(worker: LoadProcess, utils: WorkerUtils) {
    this.#worker = worker;
    this.#utils = utils;
    worker.onNote = (value) => {
      const job = value as JobNote;
      this.#waiting.get(job.key)?.(job);
      this.#waiting.delete(job.key);
    };
  }

  /** Makes its tables and starts its worker. */
  static async start(databaseUrl: string, concurrency: number): Promise<GraphilePeer> {
    const logger = new Logger(() => () => undefined);
    const utils = await makeWorkerUtils({ connectionString: databaseUrl, maxPoolSize: 16, logger });
    const worker = new LoadProcess("graphile-process.ts");
    try {
      await utils.migrate();
      await worker.call("start", { databaseUrl, concurrency });
      return new GraphilePeer(worker, utils);
    } catch (error) {
      await worker.stop();
      await utils.release();
      throw error;
    }
  }

  /** Adds one job and waits until its completion is committed. */
  async measureJob(): Promise<JobTimes> {
    const key = this.#nextKey;
    this.#nextKey += 1;
    const finished = new Promise<JobNote>((resolve) => this.#waiting.set(key, resolve));
    const startMs = nowMs();
    await this.#utils.addJob("noop", { key });
    const job = await finished;
    return { pickupMs: job.startedMs - startMs, committedMs: job.committedMs - startMs };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.call("stop").catch(() => undefined);
    await this.#worker.stop();
    await this.#utils.release();
  }
}
