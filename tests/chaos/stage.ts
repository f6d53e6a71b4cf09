/**
 * The mesh that scenarios play on: two coordinators, three devices (`gamma` behind a line that can be cut), and a line in
 * front of the gateway for the clients. One stage serves many scenarios while it is healthy.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { systemClock, until } from "@mesh/kernel";
import { openStore, type Store } from "@mesh/store";

import { TestMesh } from "../harness/test-mesh.ts";
import { processesMarked, type ProcessRow } from "./process-table.ts";
import { TcpProxy } from "./tcp-proxy.ts";

/** Devices that live as long as the stage. */
export const NODES = ["alpha", "beta", "gamma"] as const;

const SLOTS = 4;

/** See the head of this file. */
export class Stage {
  readonly mesh: TestMesh;
  /** The line of the device gamma. */
  readonly far: TcpProxy;
  /** A line between clients and the gateway. */
  readonly front: TcpProxy;
  readonly #tmp: string;
  #store: Store | undefined;

  private constructor(mesh: TestMesh, lines: { readonly far: TcpProxy; readonly front: TcpProxy }, tmp: string) {
    this.mesh = mesh;
    this.far = lines.far;
    this.front = lines.front;
    this.#tmp = tmp;
  }

  /** Boots everything. */
  static async open(): Promise<Stage> {
    // Every process below inherits this, so that none can hide.
    const tmp = mkdtempSync(join(tmpdir(), "yao-chaos-"));
    const env = { TMPDIR: tmp };
    const mesh = await TestMesh.start({ coordinators: 2, env: { ...env, YAO_LEASE_GRACE: "1s" }, nodeEnv: env });
    const gateway = (): URL => new URL(mesh.api.url);
    const [far, front] = [await TcpProxy.listen(gateway), await TcpProxy.listen(gateway)];
    const stage = new Stage(mesh, { far, front }, tmp);
    try {
      await mesh.pushApp("demo", demoAppDirectory);
      await mesh.addNode({ name: "alpha", labels: { zone: "near" }, slots: SLOTS });
      await mesh.addNode({ name: "beta", labels: { zone: "near" }, slots: SLOTS });
      await mesh.addNode({ name: "gamma", labels: { zone: "far" }, slots: SLOTS, url: far.url });
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  /** A pool to the database as it is now; the same one while the database is the same. */
  get store(): Store {
    this.#store ??= openStore({ url: this.mesh.postgres.url, maxConnections: 2, statementTimeoutMs: 5000 });
    return this.#store;
  }

  /** Addresses of the replicas that run. */
  replicaUrls(): readonly string[] {
    return this.mesh.coordinators.flatMap((replica) => {
      const ready = replica.isRunning ? replica.messages.find((message) => message["kind"] === "ready") : undefined;
      return ready === undefined ? [] : [String(ready["httpUrl"])];
    });
  }

  /** Devices as the API shows them. */
  async nodes(): Promise<readonly { readonly id: string; readonly name: string; readonly status: string }[]> {
    const { nodes } = await this.mesh.api.call<{ nodes: { id: string; name: string; status: string }[] }>(
      "GET",
      "/v1/nodes",
    );
    return nodes.map(({ id, name, status }) => ({ id, name, status }));
  }

  /** Stops everything; returns the processes that did not go. */
  async close(): Promise<readonly ProcessRow[]> {
    await this.#store?.close();
    await this.mesh.stop();
    await Promise.all([this.far.close(), this.front.close()]);
    let left: readonly ProcessRow[] = [];
    const isEmpty = (): boolean => {
      left = [...processesMarked(this.#tmp), ...processesMarked(this.mesh.dir)];
      return left.length === 0;
    };
    await until(isEmpty, { timeoutMs: 10_000, everyMs: 200 }).catch(() => undefined);
    rmSync(this.#tmp, { recursive: true, force: true });
    return left;
  }
}

/** The clock of these tests. */
export const clock = systemClock;
