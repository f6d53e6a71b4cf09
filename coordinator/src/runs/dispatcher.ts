/**
 * Creates and places runs.
 *
 * D1  A run is inserted, placed, given its epoch and its first events in one transaction: after a crash it is either
 *     absent, or queued, or placed with a lease that the sweeper watches.
 * D2  Slots are never exceeded: placement is serialized by a lock in the database, whatever the number of replicas.
 * D3  Within equal demands, runs are placed by priority, then in order of creation.
 * D4  The row in state `placed` is its own outbox: what is not accepted soon is published again by the sweeper.
 *
 * Everything that waits at the moment a pass starts shares its transaction, so throughput grows under load.
 */

import { type Clock, errorText, MeshError, rfc3339, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store, Tx } from "@mesh/store";

import { loadCandidates, type PlacementNode } from "../membership/candidate-store.ts";
import { type Decision, place, type Requirements } from "../placement/placement.ts";
import {
  type Decided,
  type Dispatchable,
  explainWaiting,
  insertRuns,
  lockPlacement,
  pickQueued,
  placeQueued,
  queueGroups,
} from "./dispatch-store.ts";
import { claimIdempotencyKeys } from "./idempotency-store.ts";
import type { RunDraft } from "./run-draft.ts";
import type { StoredRequirements } from "./run-row.ts";
import type { WorkPublisher } from "./work-publisher.ts";

const MAX_DRAFTS_PER_PASS = 64;
const MAX_GROUPS_PER_PASS = 1000;
const MAX_WAITING_DRAFTS = 2000;

/** What the dispatcher uses. */
export interface DispatcherDeps {
  readonly store: Store;
  readonly work: WorkPublisher;
  readonly clock: Clock;
  readonly log: Logger;
  /** Nodes that lately did not accept work. */
  readonly penalized: (nodeId: string) => boolean;
  /** Called after commit with the ids of runs whose log grew. */
  readonly committed: (runIds: readonly string[]) => void;
}

interface PendingDraft {
  readonly draft: RunDraft;
  readonly resolve: (runId: string) => void;
  readonly reject: (error: unknown) => void;
}

interface Pass {
  readonly placed: readonly { readonly run: Dispatchable; readonly node: PlacementNode }[];
  readonly results: ReadonlyMap<string, string | MeshError>;
  readonly touched: readonly string[];
}

/** See the guarantees above. */
export class Dispatcher implements Service {
  readonly name = "dispatcher";
  readonly #deps: DispatcherDeps;
  #drafts: PendingDraft[] = [];
  #queueDirty = false;
  #wake: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Creates a run; resolves with its id (that of the earlier run when the idempotency key was used before) once it is stored. */
  create(draft: RunDraft): Promise<string> {
    if (this.#drafts.length >= MAX_WAITING_DRAFTS) {
      return Promise.reject(
        new MeshError("resource_exhausted", "too many runs are being created; try again in a moment"),
      );
    }
    return new Promise((resolve, reject) => {
      this.#drafts.push({ draft, resolve, reject });
      this.#wake();
    });
  }

  /** Looks at the queue soon: a slot became free, a node appeared or changed, time passed. */
  poke(): void {
    this.#queueDirty = true;
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#queueDirty = true;
    while (!signal.aborted) {
      if (this.#drafts.length === 0 && !this.#queueDirty) await this.#idle(signal);
      else await this.#passOnce(signal);
    }
    for (const pending of this.#drafts.splice(0)) {
      pending.reject(new MeshError("unavailable", "the coordinator is stopping; send the request again"));
    }
  }

  #idle(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        signal.removeEventListener("abort", done);
        this.#wake = () => undefined;
        resolve();
      };
      this.#wake = done;
      signal.addEventListener("abort", done, { once: true });
    });
  }

  async #passOnce(signal: AbortSignal): Promise<void> {
    const batch = this.#drafts.splice(0, MAX_DRAFTS_PER_PASS);
    this.#queueDirty = false;
    try {
      this.#finish(await this.#pass(batch.map((pending) => pending.draft)), batch);
    } catch (error) {
      await this.#recover(batch, error, signal);
    }
  }

  #finish(pass: Pass, batch: readonly PendingDraft[]): void {
    this.#deps.committed(pass.touched);
    this.#deps.work.publish(pass.placed);
    for (const { draft, resolve, reject } of batch) {
      const result = pass.results.get(draft.id);
      if (typeof result === "string") resolve(result);
      else reject(result ?? new MeshError("internal", `run ${draft.id} got no result`));
    }
  }

  // One bad draft must not take its neighbours down: they are tried again one by one.
  async #recover(batch: readonly PendingDraft[], error: unknown, signal: AbortSignal): Promise<void> {
    this.#deps.log.warn({ err: error, drafts: batch.length }, "placement pass failed");
    if (batch.length <= 1) {
      batch[0]?.reject(MeshError.from(error));
      if (batch.length === 0) {
        await this.#deps.clock.sleep(500, signal);
        this.#queueDirty = true;
      }
      return;
    }
    for (const pending of batch) {
      try {
        this.#finish(await this.#pass([pending.draft]), [pending]);
      } catch (single) {
        this.#deps.log.debug({ err: single, reason: errorText(single) }, "run refused by the database");
        pending.reject(MeshError.from(single));
      }
    }
  }

  #pass(drafts: readonly RunDraft[]): Promise<Pass> {
    return this.#deps.store.sql.begin<Pass>((tx) => this.#inTransaction(tx, drafts));
  }

  async #inTransaction(tx: Tx, drafts: readonly RunDraft[]): Promise<Pass> {
    await lockPlacement(tx);
    const at = rfc3339(this.#deps.clock.now());
    const [nodes, groups, claims] = await Promise.all([
      loadCandidates(tx, this.#deps.penalized),
      queueGroups(tx, MAX_GROUPS_PER_PASS),
      claimIdempotencyKeys(tx, drafts),
    ]);
    const touched: string[] = [];
    const open: string[] = [];
    for (const group of groups) {
      const decision = place(group.workspaceId, toDemands(group.requirements), nodes);
      if (decision.kind === "place") open.push(group.queueKey);
      else touched.push(...(await explainWaiting(tx, group, decision, at)));
    }
    const queued = open.length === 0 ? [] : await pickQueued(tx, open, freeSlots(nodes));
    const fresh = drafts.filter((draft) => claims.get(draft.id) === draft.id).map(fromDraft);
    const decided = decide([...queued, ...fresh], nodes);
    await insertRuns(tx, decided, at);
    await placeQueued(tx, decided, at);
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const placed = decided.flatMap(({ run, decision }) => {
      const node = decision.kind === "place" ? byId.get(decision.nodeId) : undefined;
      return node === undefined ? [] : [{ run: { ...run, epoch: run.epoch + 1, attempt: run.attempt + 1 }, node }];
    });
    touched.push(...fresh.map((run) => run.id), ...placed.map(({ run }) => run.id));
    return { placed, results: claims, touched: [...new Set(touched)] };
  }
}

// Slots are counted down while deciding, so that one pass never gives a slot twice.
function decide(runs: readonly Dispatchable[], nodes: readonly PlacementNode[]): Decided[] {
  const ordered = runs.toSorted((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
  const live = new Map(nodes.map((node) => [node.id, node]));
  return ordered.map((run) => {
    const decision: Decision = place(run.workspaceId, toDemands(run.requirements), [...live.values()]);
    if (decision.kind === "place") {
      const node = live.get(decision.nodeId);
      if (node !== undefined) live.set(node.id, { ...node, slotsUsed: node.slotsUsed + 1 });
    }
    return { run, decision };
  });
}

function freeSlots(nodes: readonly PlacementNode[]): number {
  return Math.max(
    1,
    nodes.reduce((sum, node) => sum + Math.max(0, node.slots - node.slotsUsed), 0),
  );
}

function toDemands(stored: StoredRequirements): Requirements {
  return { nodeId: stored.node_id, labels: stored.labels, os: stored.os, arch: stored.arch, tools: stored.tools };
}

function fromDraft(draft: RunDraft): Dispatchable {
  const {
    id,
    workspaceId,
    assistantId,
    bundleDigest,
    input,
    options,
    metadata,
    requirements,
    priority,
    timeoutMs,
    createdBy,
  } = draft;
  return {
    id,
    workspaceId,
    assistantId,
    bundleDigest,
    input,
    options,
    metadata,
    requirements,
    priority,
    timeoutMs,
    createdBy,
    attempt: 0,
    epoch: 0,
    draft,
  };
}
