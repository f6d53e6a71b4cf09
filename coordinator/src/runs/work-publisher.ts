/** Puts work in the stream from which nodes pull it. */

import { type Bus, subjects } from "@mesh/bus";
import { errorText, ulidOf } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { WorkItem } from "@mesh/proto";
import type { Store } from "@mesh/store";

import { LEASE_MS } from "./run-state.ts";

/** The facts of a run that its node needs. */
export interface Work {
  readonly id: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly bundleDigest: string;
  readonly input: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  readonly createdBy: string;
  /** It goes on from its saved state. */
  readonly resume: boolean;
  /** Set when it is a batch of that eval. */
  readonly evalId: string | null;
}

/** A run and the node that holds its lease. */
export interface Assignment {
  readonly run: Work;
  readonly node: { readonly digest: string };
}

interface WorkspaceConnectors {
  readonly json: string;
  readonly hasKeys: boolean;
}

/** Publishes work items; a failure is left to the sweeper, which publishes again what is not accepted. */
export class WorkPublisher {
  readonly #bus: Bus;
  readonly #store: Store;
  readonly #log: Logger;

  constructor(deps: { readonly bus: Bus; readonly store: Store; readonly log: Logger }) {
    this.#bus = deps.bus;
    this.#store = deps.store;
    this.#log = deps.log;
  }

  /**
   * Publishes in the background. `round` tells repeated publications of one epoch apart, for a stream that would
   * otherwise drop them as duplicates; the node starts an epoch once, however often it is told.
   */
  publish(assignments: readonly Assignment[], round = 0): void {
    if (assignments.length === 0) return;
    this.#publishAll(assignments, round).catch((error: unknown) => {
      this.#log.warn({ reason: errorText(error), runs: assignments.length }, "work not published; will be repeated");
    });
  }

  async #publishAll(assignments: readonly Assignment[], round: number): Promise<void> {
    const connectors = await this.#connectorsOf([...new Set(assignments.map(({ run }) => run.workspaceId))]);
    await Promise.all(
      assignments.map(({ run, node }) => {
        const data = WorkItem.encode(toItem(run, connectors.get(run.workspaceId))).finish();
        const msgId = `${ulidOf(run.id)}:${run.epoch}${round === 0 ? "" : `:${round}`}`;
        return this.#bus.publishStream(subjects.work(node.digest), data, { msgId });
      }),
    );
  }

  async #connectorsOf(workspaceIds: readonly string[]): Promise<Map<string, WorkspaceConnectors>> {
    const rows = await this.#store.sql<{ workspace_id: string; id: string; config: unknown; has_key: boolean }[]>`
      SELECT workspace_id, id, config, sealed_key IS NOT NULL AS has_key FROM connectors
      WHERE workspace_id = ANY (${[...workspaceIds]})
      UNION ALL SELECT DISTINCT workspace_id, '', NULL::jsonb, true FROM workspace_secrets
      WHERE workspace_id = ANY (${[...workspaceIds]})`;
    const grouped = new Map<string, { configs: Record<string, unknown>; hasKeys: boolean }>();
    for (const row of rows) {
      const entry = grouped.get(row.workspace_id) ?? { configs: {}, hasKeys: false };
      // Variables are no connector, but secrets to ask for all the same.
      if (row.id !== "") entry.configs[row.id] = row.config;
      entry.hasKeys ||= row.has_key;
      grouped.set(row.workspace_id, entry);
    }
    return new Map(
      [...grouped].map(([id, entry]) => [id, { json: JSON.stringify(entry.configs), hasKeys: entry.hasKeys }]),
    );
  }
}

function toItem(run: Work, connectors: WorkspaceConnectors | undefined): WorkItem {
  return {
    run_id: run.id,
    epoch: run.epoch,
    workspace_id: run.workspaceId,
    assistant_id: run.assistantId,
    bundle_digest: run.bundleDigest,
    input: run.input,
    options_json: JSON.stringify(run.options),
    metadata_json: JSON.stringify(run.metadata),
    connectors_json: connectors?.json ?? "{}",
    needs_secrets: connectors?.hasKeys ?? false,
    timeout_ms: run.timeoutMs,
    lease_ms: LEASE_MS,
    user_id: run.createdBy,
    attempt: run.attempt,
    resume: run.resume,
    eval: run.evalId !== null,
  };
}
