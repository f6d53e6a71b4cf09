/**
 * A whole mesh in real processes: PostgreSQL, nats-server, coordinators and node agents, each of which a test can kill,
 * pause and start again. Runs what `npm run build` made, as production does.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { bundleApp, readAppDirectory } from "@mesh/assistants";
import { createTrust, findNatsServer, type NatsServer, type NatsTrust, startNatsServer } from "@mesh/bus";
import { systemClock, until } from "@mesh/kernel";
import { SMALL_HEAP_FLAGS } from "@mesh/node-agent/heap-flags";
import { joinNode } from "@mesh/node-agent";
import { silentLogger } from "@mesh/observability";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "@mesh/store";

import { ApiClient, ApiProblem } from "./api-client.ts";
import { ManagedProcess } from "./managed-process.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const TERMINAL: readonly string[] = ["succeeded", "failed", "cancelled", "lost"];

/** A run as the API shows it. */
export interface RunView {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  readonly input: string;
  readonly node?: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly started_at?: string;
  readonly finished_at?: string;
  readonly retry_of?: string;
  readonly last_seq: number;
  readonly output: string;
  readonly error?: { readonly code: string; readonly message: string };
  readonly placement?: {
    readonly summary: string;
    readonly candidates: readonly { node: string; eligible: boolean; reason: string }[];
  };
  readonly cancel_requested: boolean;
  readonly pending: readonly { id: string; kind: string; tool: string; arguments: unknown; text: string }[];
}

/** What a run asks for. */
export interface RunWish {
  readonly assistant: string;
  readonly input: string;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly workspace?: string;
  readonly [more: string]: unknown;
}

/** One device. */
export interface TestNode {
  readonly name: string;
  readonly dataDir: string;
  readonly process: ManagedProcess;
}

/** How the mesh is made. */
export interface TestMeshOptions {
  readonly coordinators?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly nodes?: readonly NodeWish[];
  readonly nodeEnv?: Readonly<Record<string, string>>;
  /** How tests send requests, when the certificate is one that this process does not know. */
  readonly fetch?: typeof fetch;
}

/** One device to add. */
export interface NodeWish {
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly slots?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The coordinator as this device reaches it, such as through a proxy; the first replica when absent. */
  readonly url?: string;
}

/** See the head of this file. */
export class TestMesh implements AsyncDisposable {
  readonly dir: string;
  readonly trust: NatsTrust;
  readonly coordinators: ManagedProcess[] = [];
  readonly nodes = new Map<string, TestNode>();
  readonly #options: TestMeshOptions;
  postgres!: EmbeddedPostgres;
  nats!: NatsServer;
  api!: ApiClient;
  grpcAddress = "";

  private constructor(options: TestMeshOptions) {
    this.#options = options;
    this.dir = mkdtempSync(join(tmpdir(), "yao-mesh-"));
    this.trust = createTrust(join(this.dir, "trust"), systemClock);
  }

  /** Boots everything and waits until it works. */
  static async start(options: TestMeshOptions = {}): Promise<TestMesh> {
    const mesh = new TestMesh(options);
    try {
      await Promise.all([mesh.startPostgres(), mesh.startNats()]);
      for (let i = 0; i < (options.coordinators ?? 1); i += 1) await mesh.addCoordinator();
      for (const wish of options.nodes ?? []) await mesh.addNode(wish);
      return mesh;
    } catch (error) {
      await mesh.stop();
      throw error;
    }
  }

  async startPostgres(): Promise<void> {
    this.postgres = await startEmbeddedPostgres({
      dataDir: join(this.dir, "postgres"),
      clock: systemClock,
      log: silentLogger,
    });
  }

  async startNats(): Promise<void> {
    this.nats = await startNatsServer({
      dataDir: join(this.dir, "nats"),
      trust: this.trust,
      port: this.nats === undefined ? 0 : Number(new URL(this.nats.url).port),
      websocketPort: this.nats === undefined ? 0 : Number(new URL(this.nats.websocketUrl).port),
      binary: findNatsServer(process.env["PATH"] ?? "", homedir()),
      clock: systemClock,
      log: () => undefined,
    });
  }

  /** Starts a further replica. */
  async addCoordinator(): Promise<ManagedProcess> {
    const replica = new ManagedProcess({
      name: `coordinator ${this.coordinators.length + 1}`,
      entry: join(ROOT, "coordinator/dist/main.js"),
      env: {
        YAO_DATABASE_URL: this.postgres.url,
        YAO_NATS_URL: this.nats.url,
        YAO_NATS_TRUST_DIR: join(this.dir, "trust"),
        YAO_NATS_WS: new URL(this.nats.websocketUrl).host,
        YAO_DATA: join(this.dir, "coordinator"),
        YAO_HTTP_PORT: "0",
        YAO_GRPC_PORT: "0",
        YAO_LOG_LEVEL: "warn",
        YAO_RATE_LIMIT: "0",
        ...this.#options.env,
      },
    });
    this.coordinators.push(replica);
    const ready = await replica.start();
    if (this.api === undefined) {
      this.api = new ApiClient(String(ready["httpUrl"]), String(ready["adminToken"]), this.#options.fetch);
      this.grpcAddress = String(ready["grpcAddress"]);
    }
    return replica;
  }

  /** The same caller at another replica. */
  apiAt(index: number): ApiClient {
    const ready = this.coordinators[index]?.messages.find((message) => message["kind"] === "ready");
    if (ready === undefined) throw new Error(`coordinator ${index} has not started`);
    return new ApiClient(String(ready["httpUrl"]), this.api.token, this.#options.fetch);
  }

  /** Starts a killed replica again on its ports. */
  async restartCoordinator(index = 0): Promise<void> {
    const url = new URL(this.api.url);
    const ports =
      index === 0 ? { YAO_HTTP_PORT: url.port, YAO_GRPC_PORT: this.grpcAddress.split(":").at(-1) ?? "0" } : {};
    await this.coordinators[index]?.start(ports);
  }

  /** Makes a token, joins a device by the gateway's URL alone, and starts its agent. */
  async addNode(wish: NodeWish): Promise<TestNode> {
    const { token } = await this.api.call<{ token: string }>("POST", "/v1/node-tokens", { labels: wish.labels ?? {} });
    const dataDir = join(this.dir, `node-${wish.name}`);
    const slots = wish.slots === undefined ? {} : { slots: wish.slots };
    await joinNode({
      url: wish.url ?? this.api.url,
      token,
      name: wish.name,
      labels: {},
      dataDir,
      log: silentLogger,
      ...slots,
    });
    const node: TestNode = {
      name: wish.name,
      dataDir,
      process: new ManagedProcess({
        name: `node ${wish.name}`,
        entry: join(ROOT, "node-agent/dist/main.js"),
        execArgv: [...SMALL_HEAP_FLAGS, "--enable-source-maps"],
        env: { YAO_NODE_DATA: dataDir, YAO_NODE_LOG_LEVEL: "warn", ...this.#options.nodeEnv, ...wish.env },
      }),
    };
    this.nodes.set(wish.name, node);
    await node.process.start();
    return node;
  }

  node(name: string): TestNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`no node ${name}`);
    return node;
  }

  /** Pushes a directory as an app of the default workspace. */
  async pushApp(name: string, dir: string, workspace = "default"): Promise<void> {
    const bundle = bundleApp(await readAppDirectory(dir));
    await this.api.call("POST", `/v1/workspaces/${workspace}/apps/${name}/versions`, bundle.bytes);
  }

  async createRun(wish: RunWish, headers: Record<string, string> = {}): Promise<RunView> {
    const { node, labels, workspace = "default", ...rest } = wish;
    const body = { ...rest, requirements: { node: node ?? "", labels: labels ?? {} } };
    return (await this.api.call<{ run: RunView }>("POST", `/v1/workspaces/${workspace}/runs`, body, headers)).run;
  }

  async run(runId: string): Promise<RunView> {
    return (await this.api.call<{ run: RunView }>("GET", `/v1/runs/${runId}`)).run;
  }

  /** Waits until a run has ended. */
  async ended(runId: string, timeoutMs?: number): Promise<RunView> {
    return this.until(runId, ({ state }) => TERMINAL.includes(state), timeoutMs);
  }

  /** Waits until a run satisfies `test`, whatever happens to the coordinator meanwhile. */
  async until(runId: string, test: (run: RunView) => boolean, timeoutMs = 60_000): Promise<RunView> {
    let last: RunView | undefined;
    try {
      return await until(
        async () => {
          try {
            last = await this.run(runId);
          } catch (error) {
            if (error instanceof ApiProblem && error.status < 500) throw error;
            return undefined;
          }
          return test(last) ? last : undefined;
        },
        { timeoutMs, everyMs: 50, what: `run ${runId}` },
      );
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}; last seen: ${JSON.stringify(last)}`, {
        cause: error,
      });
    }
  }

  /** Waits for a node's status. */
  async untilNode(name: string, status: string, timeoutMs = 40_000): Promise<void> {
    await until(
      async () => {
        const { nodes } = await this.api.call<{ nodes: { name: string; status: string }[] }>("GET", "/v1/nodes");
        return nodes.find((node) => node.name === name)?.status === status;
      },
      { timeoutMs, everyMs: 100, what: `node ${name} to be ${status}` },
    );
  }

  /** Stops all processes and removes all files. */
  async stop(): Promise<void> {
    const nodes = [...this.nodes.values()].map((node) => node.process);
    await Promise.allSettled(nodes.map((process) => process.stop()));
    await Promise.allSettled(this.coordinators.map((process) => process.stop()));
    await Promise.allSettled([this.nats?.stop(), this.postgres?.stop()]);
    rmSync(this.dir, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
