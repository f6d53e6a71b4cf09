/**
 * Rebuilds in NATS what follows from the database: streams, consumers, revocations.
 *
 * R1  Runs at start and whenever the connection or a stream comes back, so a deleted JetStream directory heals by itself.
 * R2  Idempotent; replicas may run it at the same time.
 * R3  What could not be done at once (a node cut off while NATS was away) is done as soon as it can be.
 */

import { type Bus, type BusAdmin, type NatsTrust, pushRevocations } from "@mesh/bus";
import { Doorbell, Backoff, type Clock, errorText, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import { recentlyRemoved } from "./node-store.ts";

const REVOCATION_WINDOW_MS = 8 * 24 * 3_600_000;
/** Also without a sign of trouble, since a store can be changed behind the server's back. */
const PERIOD_MS = 60_000;
/** A node that finds its consumer missing says hello again, and must not be told that all is well. */
const FRESH_MS = 1000;

/** What reconciling uses. */
export interface ReconcilerDeps {
  readonly bus: Bus;
  readonly admin: BusAdmin;
  readonly system: Bus;
  readonly trust: NatsTrust;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See the guarantees above. */
export class Reconciler implements Service {
  readonly name = "reconciler";
  readonly #deps: ReconcilerDeps;
  readonly #bell: Doorbell;
  readonly #prepared = new Map<string, { readonly slots: number; readonly atMs: number }>();

  constructor(deps: ReconcilerDeps) {
    this.#deps = deps;
    this.#bell = new Doorbell(deps.clock);
  }

  /** One whole pass; throws when NATS or the database cannot be reached. */
  async reconcile(): Promise<void> {
    const { admin, store } = this.#deps;
    this.#prepared.clear();
    await admin.ensureStreams();
    await admin.ensureIngestConsumer();
    await this.pushRevocations();
    // Before the nodes are read: a device that joins meanwhile must not be taken for one that is gone.
    const existing = await admin.listWorkConsumers();
    const nodes = await store.sql<
      { digest: string; slots: number }[]
    >`SELECT digest, slots FROM nodes WHERE removed_at IS NULL`;
    const wanted = new Set(nodes.map((node) => node.digest));
    for (const node of nodes) await this.prepareNode(node.digest, node.slots);
    for (const digest of existing) if (!wanted.has(digest)) await admin.removeWorkConsumer(digest);
  }

  /** Soon: something was missing. */
  request(): void {
    this.#bell.ring();
  }

  /** Makes a node's work consumer, unless this replica did so a moment ago; when that fails, everything is looked at again. */
  async prepareNode(digest: string, slots: number): Promise<void> {
    const now = this.#deps.clock.monotonic();
    const before = this.#prepared.get(digest);
    if (before?.slots === slots && now - before.atMs < FRESH_MS) return;
    try {
      await this.#deps.admin.ensureWorkConsumer(digest, Math.max(1, slots));
    } catch (error) {
      this.request();
      throw error;
    }
    this.#prepared.set(digest, { slots, atMs: now });
  }

  /** Cuts a removed node off: now, or as soon as NATS can be reached. */
  async cutOff(digest: string): Promise<void> {
    this.#prepared.delete(digest);
    try {
      await this.pushRevocations();
      await this.#deps.admin.removeWorkConsumer(digest);
      await this.#deps.admin.purgeWork(digest);
    } catch (error) {
      this.#deps.log.warn({ reason: errorText(error) }, "a removed node could not be cut off yet");
      this.request();
    }
  }

  /** Tells the servers which keys are revoked. */
  async pushRevocations(): Promise<void> {
    const removed = await recentlyRemoved(this.#deps.store.sql, REVOCATION_WINDOW_MS);
    if (removed.size > 0) await pushRevocations(this.#deps.system, this.#deps.trust, Object.fromEntries(removed));
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.#deps.clock, { firstMs: 250, maxMs: 10_000 });
    const status = this.#deps.bus.onStatus((now) => {
      if (now.kind === "connected") this.request();
    });
    while (!signal.aborted) {
      await this.#bell.wait(signal, PERIOD_MS);
      if (signal.aborted) break;
      try {
        await this.reconcile();
        backoff.succeeded();
      } catch (error) {
        this.#deps.log.warn({ reason: errorText(error) }, "reconciling failed; tried again");
        this.#bell.ring();
        await backoff.wait(signal);
      }
    }
    status.stop();
  }
}
