/**
 * Creates and places runs.
 *
 * D1  A run is inserted, placed, given its epoch and its first events in one transaction: after a crash it is either
 *     absent, or queued, or placed with a lease that the sweeper watches.
 * D2  Slots are never exceeded: placement is serialized by a lock in the database, whatever the number of replicas.
 * D3  Within equal demands, runs are placed by priority, then in order of creation.
 * D4  The row in state `placed` is its own outbox: what is not accepted soon is published again by the sweeper.
 *
 * D5  A pass is bounded, however long the queue and large the fleet: a look at the whole queue is made of as many passes as it
 *     needs, and every group of equal demands has its turn in it.
 *
 * Creations that wait at the moment a pass starts share its transaction, so throughput grows under load.
 */

import { Doorbell, type Clock, MeshError, retryable, rfc3339, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { databaseError, type Store, type Tx } from "@mesh/store";

import { loadCandidates, type PlacementNode } from "../membership/candidate-store.ts";
import { capacityFor, type Decision, place, type Requirements } from "../placement/placement.ts";
import {
  type Decided,
  type Dispatchable,
  explainWaiting,
  type Fresh,
  fromDraft,
  insertRuns,
  lockPlacement,
  type OpenGroup,
  pickQueued,
  placeQueued,
  queueGroups,
  queueKeys,
} from "./dispatch-store.ts";
import { claimIdempotencyKeys } from "./idempotency-store.ts";
import type { RunDraft } from "./run-draft.ts";
import type { StoredRequirements } from "./run-row.ts";
import type { WorkPublisher } from "./work-publisher.ts";

const MAX_DRAFTS_PER_PASS = 64;
const MAX_GROUPS_PER_PASS = 500;
const MAX_PICKED_PER_PASS = 256;
const MAX_WAITING_DRAFTS = 2000;
const RECOVER_MS = 500;

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
  /** Where the look at the queue goes on; undefined when it came to its end. */
  readonly next: string | undefined;
  /** More runs could be placed than this pass may. */
  readonly isFull: boolean;
}

const STOPPING = "the coordinator is stopping; send the request again";
const ITS_TURN: Decision = { kind: "wait", reason: "waiting for its turn: earlier runs come first", verdicts: [] };

/** See the guarantees above. */
export class Dispatcher implements Service {
  readonly name = "dispatcher";
  readonly #deps: DispatcherDeps;
  #drafts: PendingDraft[] = [];
  #queueDirty = false;
  /** Queue key after which the look under way goes on; undefined when none is. */
  #cursor: string | undefined;
  #isStopped = false;
  readonly #bell = new Doorbell();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Creates a run; resolves with its id (that of the earlier run when the idempotency key was used before) once it is stored. */
  create(draft: RunDraft): Promise<string> {
    if (this.#isStopped) return Promise.reject(new MeshError("unavailable", STOPPING));
    if (this.#drafts.length >= MAX_WAITING_DRAFTS) {
      return Promise.reject(
        new MeshError("resource_exhausted", "too many runs are being created; try again in a moment"),
      );
    }
    return new Promise((resolve, reject) => {
      this.#drafts.push({ draft, resolve, reject });
      this.#bell.ring();
    });
  }

  /** Looks at the queue soon: a slot became free, a node appeared or changed, time passed. */
  poke(): void {
    this.#queueDirty = true;
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#queueDirty = true;
    while (!signal.aborted) {
      if (this.#drafts.length === 0 && !this.#queueDirty && this.#cursor === undefined) await this.#bell.wait(signal);
      else await this.#passOnce(signal);
    }
    this.#isStopped = true;
    for (const pending of this.#drafts.splice(0)) pending.reject(new MeshError("unavailable", STOPPING));
  }

  async #passOnce(signal: AbortSignal): Promise<void> {
    const batch = this.#drafts.splice(0, MAX_DRAFTS_PER_PASS);
    if (this.#cursor === undefined && this.#queueDirty) {
      this.#queueDirty = false;
      this.#cursor = "";
    }
    try {
      const pass = await this.#pass(
        batch.map((pending) => pending.draft),
        this.#cursor,
      );
      this.#cursor = pass.next;
      this.#queueDirty ||= pass.isFull;
      this.#finish(pass, batch);
    } catch (error) {
      if (this.#cursor !== undefined) this.#queueDirty = true;
      this.#cursor = undefined;
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

  // One bad draft must not take its neighbours down: they are tried again one by one, unless it was the database that failed.
  async #recover(batch: readonly PendingDraft[], error: unknown, signal: AbortSignal): Promise<void> {
    this.#deps.log.warn({ err: error, drafts: batch.length }, "placement pass failed");
    const failure = databaseError(error, "the run was not created");
    const isSystem = retryable(failure.code) && failure.code !== "aborted";
    if (batch.length <= 1 || isSystem) {
      for (const pending of batch) pending.reject(failure);
      if (batch.length === 0 || isSystem) await this.#deps.clock.sleep(RECOVER_MS, signal);
      return;
    }
    for (const pending of batch) {
      try {
        this.#finish(await this.#pass([pending.draft], undefined), [pending]);
      } catch (single) {
        this.#deps.log.debug({ err: single }, "run refused by the database");
        pending.reject(databaseError(single, "the run was not created"));
      }
    }
  }

  #pass(drafts: readonly RunDraft[], cursor: string | undefined): Promise<Pass> {
    return this.#deps.store.sql.begin<Pass>((tx) => this.#inTransaction(tx, drafts.map(fromDraft), cursor));
  }

  async #inTransaction(tx: Tx, drafts: readonly Fresh[], cursor: string | undefined): Promise<Pass> {
    const at = rfc3339(this.#deps.clock.now());
    // Sent together and run in this order: each read begins after the lock is held.
    const [, nodes, keys, claims] = await Promise.all([
      lockPlacement(tx),
      loadCandidates(tx, this.#deps.penalized),
      cursor === undefined ? [] : queueKeys(tx, cursor, MAX_GROUPS_PER_PASS),
      claimIdempotencyKeys(
        tx,
        drafts.map((fresh) => fresh.draft),
      ),
    ]);
    const fresh = drafts.filter((run) => claims.get(run.id) === run.id);
    const queue = await lookAtQueue(tx, [...new Set([...keys, ...fresh.map((run) => run.queueKey)])], nodes, at);
    // Nothing new overtakes what could not all be looked at.
    const isHeldBack = (run: Fresh): boolean => queue.isFull && queue.keys.has(run.queueKey);
    const decided = [
      ...decide([...queue.picked, ...fresh.filter((run) => !isHeldBack(run))], nodes),
      ...fresh.filter(isHeldBack).map((run) => ({ run, decision: ITS_TURN })),
    ];
    await Promise.all([insertRuns(tx, decided, at), placeQueued(tx, decided, at)]);
    const placed = placedOf(decided, nodes);
    const touched = new Set([...queue.told, ...fresh.map((run) => run.id), ...placed.map(({ run }) => run.id)]);
    const next = keys.length === MAX_GROUPS_PER_PASS ? keys.at(-1) : undefined;
    return { placed, results: claims, touched: [...touched], next, isFull: queue.isFull };
  }
}

interface Queue {
  /** Keys that have queued runs. */
  readonly keys: ReadonlySet<string>;
  readonly picked: readonly Dispatchable[];
  /** Ids of runs that were told why they wait. */
  readonly told: readonly string[];
  readonly isFull: boolean;
}

/** Decides once for each group of equal demands: whose runs can be placed, and what the others are told. */
async function lookAtQueue(
  tx: Tx,
  keys: readonly string[],
  nodes: readonly PlacementNode[],
  at: string,
): Promise<Queue> {
  const groups = await queueGroups(tx, keys);
  const told: string[] = [];
  const open: OpenGroup[] = [];
  for (const group of groups) {
    const demands = toDemands(group.requirements);
    const decision = place(group.workspaceId, demands, nodes);
    if (decision.kind === "wait") told.push(...(await explainWaiting(tx, group, decision, at)));
    else open.push({ queueKey: group.queueKey, capacity: capacityFor(group.workspaceId, demands, nodes) });
  }
  const picked = await pickQueued(tx, open, MAX_PICKED_PER_PASS);
  const isFull = picked.length === MAX_PICKED_PER_PASS;
  return { keys: new Set(groups.map((group) => group.queueKey)), picked, told, isFull };
}

function placedOf(decided: readonly Decided[], nodes: readonly PlacementNode[]): Pass["placed"] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  return decided.flatMap(({ run, decision }) => {
    const node = decision.kind === "place" ? byId.get(decision.nodeId) : undefined;
    return node === undefined ? [] : [{ run: { ...run, epoch: run.epoch + 1, attempt: run.attempt + 1 }, node }];
  });
}

// Slots are counted down while deciding, so that one pass never gives a slot twice.
function decide(runs: readonly Dispatchable[], nodes: readonly PlacementNode[]): Decided[] {
  const ordered = runs.toSorted((a, b) => b.priority - a.priority || (a.id < b.id ? -1 : 1));
  const live = nodes.map((node) => ({ ...node }));
  const byId = new Map(live.map((node) => [node.id, node]));
  return ordered.map((run) => {
    const decision = place(run.workspaceId, toDemands(run.requirements), live);
    const node = decision.kind === "place" ? byId.get(decision.nodeId) : undefined;
    if (node !== undefined) node.slotsUsed += 1;
    return { run, decision };
  });
}

function toDemands(stored: StoredRequirements): Requirements {
  const { node_id: nodeId, labels, os, arch, tools, home } = stored;
  const bare = { nodeId, labels, os, arch, tools };
  return home === undefined ? bare : { ...bare, home: { nodeId: home.node_id, isOnly: home.is_only } };
}
