/**
 * Keeps the node's JWT fresh: renewed at half its life, and at once when it has expired or was refused.
 *
 * R1  Only the device key is needed, so a device that slept for weeks comes back by itself.
 * R2  Only the coordinator's word "removed" ends it; everything else is tried again.
 */

import { Backoff, type Clock, errorText, MeshError, type Service } from "@mesh/kernel";

import { credentialFields, requestRenewal } from "../join/credentials.ts";
import { type NodeRecord, writeNodeFile } from "../join/node-file.ts";
import type { NodeKey } from "../join/node-key.ts";
import type { AgentLog } from "../log.ts";

/** What the keeper needs. */
export interface CredentialKeeperDeps {
  readonly dataDir: string;
  readonly key: NodeKey;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly renewed: (record: NodeRecord) => void;
}

/** The device is no part of the mesh any more. */
export class NodeRemovedError extends MeshError {
  override readonly name = "NodeRemovedError";
}

// Waits are cut into pieces: a timer does not count the time that a device sleeps.
const LOOK_MS = 30_000;

/** The keeper of one data directory. */
export class CredentialKeeper implements Service {
  readonly name = "credentials";
  readonly #deps: CredentialKeeperDeps;
  readonly #backoff: Backoff;
  #record: NodeRecord;
  #isWanted = false;
  #wake = new AbortController();

  constructor(record: NodeRecord, deps: CredentialKeeperDeps) {
    this.#record = record;
    this.#deps = deps;
    this.#backoff = new Backoff(deps.clock, { firstMs: 1_000, maxMs: 60_000 });
  }

  get record(): NodeRecord {
    return this.#record;
  }

  /** The current JWT was refused: a new one is needed now. */
  refused(jwt: string): void {
    if (jwt !== this.#record.jwt) return;
    this.#isWanted = true;
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#wake = new AbortController();
      if (this.#isWanted || this.#isDue()) await this.#renew(signal);
      else await this.#deps.clock.sleep(LOOK_MS, AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  #isDue(): boolean {
    const issuedMs = Date.parse(this.#record.issued_at);
    const halfMs = (issuedMs + Date.parse(this.#record.expires_at)) / 2;
    const now = this.#deps.clock.now();
    // A clock that was set back must not keep an old JWT for ever.
    return now >= halfMs || now < issuedMs - LOOK_MS;
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { key, clock, dataDir, log } = this.#deps;
    try {
      const { url, pin } = this.#record;
      const credentials = await requestRenewal({ url, pin }, key, clock.now());
      this.#record = { ...this.#record, ...credentialFields(credentials, clock.now()) };
      this.#isWanted = false;
      this.#backoff.succeeded();
      writeNodeFile(dataDir, this.#record);
      log.info({ expiresAt: credentials.expires_at }, "credentials renewed");
      this.#deps.renewed(this.#record);
    } catch (error) {
      const failure = MeshError.from(error);
      if (failure.code === "permission_denied") throw new NodeRemovedError("permission_denied", failure.message);
      const delayMs = this.#backoff.nextDelayMs();
      log[this.#backoff.failures > 3 ? "warn" : "debug"](
        { reason: errorText(error), delayMs },
        "credentials not renewed yet",
      );
      await clock.sleep(delayMs, signal);
    }
  }
}
