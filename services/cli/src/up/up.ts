/**
 * The whole system on one device: PostgreSQL and NATS (private unless given), the coordinator, and a node agent.
 *
 * Y1  One owner per data directory; a second one is told who holds it.
 * Y2  Parts start in order of need and stop in reverse: node, coordinator, NATS, PostgreSQL.
 * Y3  A part that crashes is started again on the same ports; a part that cannot start at first ends the whole start with its reason.
 * Y4  Nothing outlives this process: children end with their channel, servers with their guard.
 */

import { join } from "node:path";

import { type Clock, MeshError, RunGroup, type Service, takeLock } from "@mesh/kernel";

import type { Environment } from "../config.ts";
import { nodeDirectory } from "../config.ts";
import { makeDataDirectory } from "../file-error.ts";
import { coordinatorEnvironment, nodeEnvironment } from "./child-environment.ts";
import { startChild } from "./child.ts";
import { type NatsReady, type PostgresReady, type ServerLog, startNats, startPostgres } from "./embedded.ts";
import { hasAdminToken, type JoinDevice, joinThisDevice, keepAdminToken, pushDemoApp } from "./local-setup.ts";
import { type LogFile, openLogFile } from "./log-file.ts";
import { choosePort } from "./port.ts";
import { mainOf, nodeAgentProgram, type NodeProgram } from "./program.ts";
import { serverLog } from "./server-log.ts";
import { Supervised } from "./supervised.ts";

/** What to start. */
export interface UpOptions {
  readonly dataDir: string;
  /** Address to listen on. */
  readonly host: string;
  /** 0 chooses a free one, for each of the ports. */
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly natsPort: number;
  /** Whether this device runs assistants too. */
  readonly hasNode: boolean;
  readonly clock: Clock;
  /** Environment of the processes it starts. */
  readonly env: Environment;
  /** Given servers; private ones are started when absent. */
  readonly databaseUrl?: string | undefined;
  readonly nats?: GivenNats | undefined;
  readonly natsBinary?: string | undefined;
  /** A token that may administrate, when the first one was made elsewhere. */
  readonly token?: string | undefined;
  /** Tells people what goes on, one line at a time. */
  readonly say: (line: string) => void;
  /** Programs and servers to use instead of ours. */
  readonly programs?: Partial<UpPrograms>;
}

/** A NATS server somebody else runs. */
export interface GivenNats {
  readonly url: string;
  readonly trustDir: string;
  readonly websocket: string;
}

/** What `startUp` starts; tests replace some. */
export interface UpPrograms {
  readonly coordinator: NodeProgram;
  readonly node: NodeProgram;
  readonly postgres: typeof startPostgres;
  readonly nats: typeof startNats;
  readonly join: JoinDevice;
  readonly pushDemo: typeof pushDemoApp;
}

/** A system that is up. */
export interface Running {
  readonly url: string;
  readonly grpcAddress: string;
  readonly dataDir: string;
  /** The first admin token; only at the very first start. */
  readonly adminToken: string | undefined;
  /** Opens the web page as the administrator, once; only at the very first start. */
  readonly loginUrl: string | undefined;
  readonly node: NodeReady | undefined;
  readonly hasPushedDemo: boolean;
  /** Resolves when all has ended; rejects with the reason when it ended by itself. */
  readonly ended: Promise<void>;
  /** Stops all in order. Calling it twice is harmless. */
  stop(): Promise<void>;
  /** Ends all at once. */
  kill(): void;
}

/** The node agent of this device. */
export interface NodeReady {
  readonly id: string;
  readonly name: string;
}

interface CoordinatorReady {
  readonly grpcAddress: string;
  readonly adminToken: string | undefined;
  readonly loginUrl: string | undefined;
}

const FINAL_EXITS: Readonly<Record<number, string>> = {
  77: "this device was removed from the mesh; to let it join again: yao down, yao node leave, yao up",
  78: "the node agent is too old for this coordinator; update it and start again",
};
const GRACE_MS = 15_000;

/** Starts everything and resolves when it can be used; rejects, with all stopped again, when it cannot. */
export async function startUp(options: UpOptions, signal?: AbortSignal): Promise<Running> {
  makeDataDirectory(options.dataDir);
  const lock = takeLock(lockPath(options.dataDir), "yao up");
  try {
    const system = new System(options, await choosePorts(options));
    return await system.start(() => lock.release(), signal);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** The lock that says who owns a data directory. */
export function lockPath(dataDir: string): string {
  return join(dataDir, "yao.lock");
}

interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly nats: number;
  readonly natsWebsocket: number;
}

class System {
  readonly #options: UpOptions;
  readonly #ports: Ports;
  readonly #programs: UpPrograms;
  readonly #logs: LogFile[] = [];
  readonly #serverLog: ServerLog;
  readonly #stop = new AbortController();
  readonly #postgres: Supervised<PostgresReady> | undefined;
  readonly #nats: Supervised<NatsReady> | undefined;
  readonly #coordinator: Supervised<CoordinatorReady>;
  readonly #node: Supervised<NodeReady> | undefined;
  #hasPushedDemo = false;

  constructor(options: UpOptions, ports: Ports) {
    this.#options = options;
    this.#ports = ports;
    this.#programs = { ...ourPrograms(), ...options.programs };
    this.#serverLog = serverLog(this.#log("servers.log"), options.clock);
    this.#postgres = options.databaseUrl === undefined ? this.#postgresPart() : undefined;
    this.#nats = options.nats === undefined ? this.#natsPart() : undefined;
    this.#coordinator = this.#coordinatorPart();
    this.#node = options.hasNode ? this.#nodePart() : undefined;
  }

  async start(release: () => void, signal: AbortSignal | undefined): Promise<Running> {
    const abort = (): void => this.#stop.abort();
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted === true) abort();
    const group = new RunGroup({ graceMs: GRACE_MS });
    for (const part of this.#parts()) group.add(part);
    const ended = group.run(this.#stop.signal).finally(() => {
      for (const log of this.#logs) log.close();
      release();
    });
    ended.catch(() => undefined);
    try {
      return await Promise.race([this.#ready(ended), endsEarly(ended)]);
    } catch (error) {
      this.#stop.abort();
      await ended.catch(() => undefined);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async #ready(ended: Promise<void>): Promise<Running> {
    const { grpcAddress, adminToken, loginUrl } = await this.#coordinator.first;
    const client = this.#client(adminToken);
    // Before the node joins: its first heartbeat then finds something to run.
    this.#hasPushedDemo = await this.#programs.pushDemo(client);
    const node = await this.#node?.first;
    return {
      url: this.#url(),
      grpcAddress,
      dataDir: this.#options.dataDir,
      adminToken,
      loginUrl,
      node,
      hasPushedDemo: this.#hasPushedDemo,
      ended,
      stop: async () => {
        this.#stop.abort();
        await ended.catch(() => undefined);
      },
      kill: () => {
        this.#stop.abort();
        for (const part of this.#parts().toReversed()) part.kill();
      },
    };
  }

  #parts(): readonly (Service & { kill(): void })[] {
    return [this.#postgres, this.#nats, this.#coordinator, this.#node].filter((part) => part !== undefined);
  }

  #postgresPart(): Supervised<PostgresReady> {
    const { dataDir, clock, say } = this.#options;
    return new Supervised(
      {
        name: "PostgreSQL",
        start: () => this.#programs.postgres({ dataDir, clock, log: this.#serverLog }),
        started: ({ url }, before) => {
          // It came back on another port, which the coordinator cannot know.
          if (before !== undefined && before.url !== url) void this.#coordinator.restart();
        },
      },
      { clock, say },
    );
  }

  #natsPart(): Supervised<NatsReady> {
    const { dataDir, clock, say, natsBinary: binary, env } = this.#options;
    const { nats: port, natsWebsocket: websocketPort } = this.#ports;
    const searchPath = env["PATH"] ?? "";
    const options = { dataDir, clock, log: this.#serverLog, port, websocketPort, binary, searchPath };
    return new Supervised({ name: "NATS", start: () => this.#programs.nats(options) }, { clock, say });
  }

  #coordinatorPart(): Supervised<CoordinatorReady> {
    const { clock, say } = this.#options;
    const log = this.#log("coordinator.log");
    const start = async (signal: AbortSignal) => {
      const env = await this.#coordinatorEnvironment();
      return await startChild(
        clock,
        {
          name: "the coordinator",
          ...this.#programs.coordinator,
          env,
          readReady: readCoordinator,
          log: (chunk) => log.write(chunk),
        },
        signal,
      );
    };
    return new Supervised<CoordinatorReady>({ name: "the coordinator", start }, { clock, say });
  }

  async #coordinatorEnvironment(): Promise<Environment> {
    const { env, databaseUrl, dataDir, host, token } = this.#options;
    await this.#postgres?.first;
    await this.#nats?.first;
    const nats = this.#nats?.ready ?? this.#options.nats;
    return coordinatorEnvironment(env, {
      YAO_DATABASE_URL: this.#postgres?.ready?.url ?? databaseUrl,
      YAO_NATS_URL: nats?.url,
      YAO_NATS_TRUST_DIR: nats?.trustDir,
      YAO_NATS_WS: nats?.websocket,
      YAO_DATA: dataDir,
      YAO_HOST: host,
      YAO_HTTP_PORT: String(this.#ports.http),
      YAO_GRPC_PORT: String(this.#ports.grpc),
      // A first start that was cut short may have made a token that nobody saw.
      ...(token === undefined && !hasAdminToken(dataDir) ? { YAO_ISSUE_ADMIN_TOKEN: "true" } : {}),
    });
  }

  #nodePart(): Supervised<NodeReady> {
    const { clock, say, dataDir, env } = this.#options;
    const log = this.#log("node.log");
    const nodeEnv = nodeEnvironment(env, { YAO_NODE_DATA: nodeDirectory(dataDir) });
    const start = async (signal: AbortSignal) => {
      const { adminToken } = await this.#coordinator.first;
      await joinThisDevice(this.#client(adminToken), dataDir, this.#programs.join);
      return await startChild(
        clock,
        {
          name: "the node agent",
          ...this.#programs.node,
          env: nodeEnv,
          readReady: readNode,
          log: (chunk) => log.write(chunk),
        },
        signal,
      );
    };
    return new Supervised<NodeReady>(
      {
        name: "the node agent",
        start,
        finalReason: ({ code }) => (code === null ? undefined : FINAL_EXITS[code]),
      },
      { clock, say },
    );
  }

  #client(adminToken: string | undefined): ReturnType<typeof keepAdminToken> {
    const { clock, dataDir, token } = this.#options;
    return keepAdminToken({ clock, dataDir, url: this.#url(), adminToken, givenToken: token });
  }

  #url(): string {
    const scheme = (this.#options.env["YAO_TLS_CERT"] ?? "") === "" ? "http" : "https";
    return `${scheme}://${dialHost(this.#options.host)}:${this.#ports.http}`;
  }

  #log(name: string): LogFile {
    const log = openLogFile(join(this.#options.dataDir, "log"), name);
    this.#logs.push(log);
    return log;
  }
}

async function choosePorts(options: UpOptions): Promise<Ports> {
  const { host } = options;
  const loopback = "127.0.0.1";
  const isPrivateNats = options.nats === undefined;
  return {
    http: await choosePort({ host, port: options.httpPort, use: "HTTP", flag: "--port" }),
    grpc: await choosePort({ host, port: options.grpcPort, use: "gRPC", flag: "--grpc-port" }),
    nats: isPrivateNats
      ? await choosePort({ host: loopback, port: options.natsPort, use: "NATS", flag: "--nats-port" })
      : 0,
    natsWebsocket: isPrivateNats ? await choosePort({ host: loopback, port: 0, use: "NATS", flag: "--nats-port" }) : 0,
  };
}

function ourPrograms(): UpPrograms {
  return {
    coordinator: mainOf("@mesh/coordinator"),
    node: nodeAgentProgram(),
    postgres: startPostgres,
    nats: startNats,
    join: async (request) => {
      const { joinNode } = await import("@mesh/node-agent/main");
      const quiet = (): void => undefined;
      await joinNode({ ...request, labels: {}, log: { debug: quiet, info: quiet, warn: quiet, error: quiet } });
    },
    pushDemo: pushDemoApp,
  };
}

function readCoordinator(message: Readonly<Record<string, unknown>>): CoordinatorReady | undefined {
  const { grpcAddress, adminToken, loginUrl } = message;
  if (typeof grpcAddress !== "string") return undefined;
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  return { grpcAddress, adminToken: text(adminToken), loginUrl: text(loginUrl) };
}

function readNode(message: Readonly<Record<string, unknown>>): NodeReady | undefined {
  const { nodeId, name } = message;
  return typeof nodeId === "string" && typeof name === "string" ? { id: nodeId, name } : undefined;
}

// A wildcard can be listened on but not dialled.
function dialHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}

async function endsEarly(ended: Promise<void>): Promise<never> {
  await ended;
  throw new MeshError("cancelled", "interrupted");
}
