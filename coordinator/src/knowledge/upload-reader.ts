/**
 * Reads the text of uploaded documents, one at a time, each in a thread bounded in time and memory.
 *
 * U1  A document is read by one replica at a time; one that ends in the middle leaves it to the next after two minutes.
 * U2  A document that ended its readers three times is given up with a reason.
 */

import { extractInThread } from "@mesh/documents";
import { type Clock, Doorbell, errorText, MeshError, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import { keepRead, type ReadResult } from "./indexing.ts";
import { dropOldUploads, takeUploadTask, type UploadTask } from "./upload-store.ts";

/** What the reader uses. */
export interface UploadReaderDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called after a commit that recorded changes. */
  readonly recorded: () => void;
}

const LOOK_MS = 5_000;
const HOLD_MS = 120_000;
const MAX_ATTEMPTS = 3;
const HOUSEKEEPING_MS = 60_000;
const DROP_BATCH = 100;

/** See the file comment. */
export class UploadReader implements Service {
  readonly name = "upload-reader";
  readonly #deps: UploadReaderDeps;
  readonly #bell: Doorbell;

  constructor(deps: UploadReaderDeps) {
    this.#deps = deps;
    this.#bell = new Doorbell(deps.clock);
  }

  /** There is a document to read. */
  poke(): void {
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, store } = this.#deps;
    let cleanedMs = clock.monotonic();
    while (!signal.aborted) {
      try {
        if (clock.monotonic() - cleanedMs > HOUSEKEEPING_MS) {
          cleanedMs = clock.monotonic();
          await dropOldUploads(store.sql, DROP_BATCH);
        }
        const task = await takeUploadTask(store.sql, HOLD_MS);
        if (task !== undefined) {
          await this.#read(task, signal);
          continue;
        }
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ reason: errorText(error) }, "an upload could not be read; tried again");
      }
      await this.#bell.wait(signal, LOOK_MS);
    }
  }

  async #read(task: UploadTask, signal: AbortSignal): Promise<void> {
    const { id, hash, path, workspace_id: workspaceId } = task;
    const result = await this.#resultOf(task, signal);
    await this.#deps.store.sql.begin((tx) => keepRead(tx, { id, hash, path, workspaceId }, result));
    this.#deps.recorded();
  }

  async #resultOf({ bytes, path, attempts }: UploadTask, signal: AbortSignal): Promise<ReadResult> {
    if (attempts > MAX_ATTEMPTS) return { failure: "it could not be read; try again with: yao docs reindex" };
    try {
      return await extractInThread({ bytes, name: path }, { clock: this.#deps.clock, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      const error = MeshError.from(thrown);
      return { failure: error.code === "internal" ? "it could not be read" : error.message };
    }
  }
}
