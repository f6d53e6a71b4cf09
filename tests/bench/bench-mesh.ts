/** A mesh of real processes with simulated devices in a load process, ready to be measured. */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { createUserKey, signWithSeed } from "@mesh/bus";

import { TestMesh } from "../harness/test-mesh.ts";
import type { BenchOptions } from "./bench.ts";
import { LoadProcess } from "./load-process.ts";
import { RunClient } from "./run-client.ts";
import { closedLoop } from "./sample.ts";

const JOINING_AT_ONCE = 8;
const FLEET_CONNECTIONS = 4;

/** Selects simulated devices. */
export const SIMULATED: Readonly<Record<string, string>> = { bench: "simulated" };

/** Selects real agents. */
export const AGENTS: Readonly<Record<string, string>> = { bench: "agent" };

/** See the head of this file. */
export class BenchMesh implements AsyncDisposable {
  readonly mesh: TestMesh;
  readonly fleet: LoadProcess;
  readonly client: RunClient;

  private constructor(mesh: TestMesh, fleet: LoadProcess) {
    this.mesh = mesh;
    this.fleet = fleet;
    this.client = new RunClient(mesh.api.url, mesh.api.token);
  }

  /** Boots PostgreSQL, NATS and one coordinator, pushes the demo app, connects the fleet. */
  static async start({ profileDir }: Pick<BenchOptions, "profileDir">): Promise<BenchMesh> {
    const mesh = await TestMesh.start(profileDir === undefined ? {} : { env: profiling(profileDir) });
    const fleet = new LoadProcess("fleet-process.ts");
    try {
      await mesh.pushApp("demo", demoAppDirectory);
      const trustDir = join(mesh.dir, "trust");
      await fleet.call("open", { natsUrl: mesh.nats.url, trustDir, connections: FLEET_CONNECTIONS });
      return new BenchMesh(mesh, fleet);
    } catch (error) {
      await fleet.stop();
      await mesh.stop();
      throw error;
    }
  }

  /** Lets simulated devices join over HTTP, as real ones do; returns their subject tokens. */
  async join(count: number, slots: number): Promise<readonly string[]> {
    const wish = { uses: count, labels: SIMULATED };
    const { token } = await this.client.post<{ token: string }>("/v1/node-tokens", wish);
    const { results } = await closedLoop(JOINING_AT_ONCE, count, async (index) => {
      const key = createUserKey();
      const signature = Buffer.from(signWithSeed(key.seed, Buffer.from(`yao-join:${token}`))).toString("base64url");
      const name = `sim-${index}`;
      const body = { token, nkey: key.nkey, signature, name, slots, protocol: 1, version: "bench" };
      return (await this.client.post<{ digest: string }>("/v1/nodes/join", body)).digest;
    });
    return results;
  }

  /** Process id of the coordinator. */
  get coordinatorPid(): number {
    const pid = this.mesh.coordinators[0]?.pid;
    if (pid === undefined) throw new Error("no coordinator runs");
    return pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.fleet.stop();
    await this.mesh.stop();
  }
}

function profiling(dir: string): Readonly<Record<string, string>> {
  mkdirSync(dir, { recursive: true });
  return { NODE_OPTIONS: `--require ${join(import.meta.dirname, "profile.cjs")}`, BENCH_PROFILE_DIR: resolve(dir) };
}
