/** The reads that every request about a run makes, shared between the requests of one moment. */

import type { Sql } from "@mesh/store";

import { SharedRead } from "../shared-read.ts";
import { type AssistantSource, findAssistants } from "./run-api-store.ts";
import { findRuns, type RunRow } from "./run-row.ts";

/** Shared reads over one pool. */
export class RunReads {
  readonly #runs: SharedRead<string, RunRow>;
  readonly #assistants: SharedRead<{ readonly workspaceId: string; readonly id: string }, AssistantSource>;

  constructor(sql: Sql) {
    this.#runs = new SharedRead(
      (id) => id,
      async (ids) => new Map((await findRuns(sql, ids)).map((row) => [row.id, row])),
    );
    this.#assistants = new SharedRead(
      ({ workspaceId, id }) => `${workspaceId} ${id}`,
      async (keys) => new Map((await findAssistants(sql, keys)).map((row) => [`${row.workspaceId} ${row.id}`, row])),
    );
  }

  /** One run by id. */
  run(id: string): Promise<RunRow | undefined> {
    return this.#runs.get(id);
  }

  /** The app version that serves an assistant now. */
  assistant(workspaceId: string, id: string): Promise<AssistantSource | undefined> {
    return this.#assistants.get({ workspaceId, id });
  }
}
