/** The private PostgreSQL and NATS servers of `yao up`, as parts of the supervisor. Loaded only when they are needed. */

import { homedir } from "node:os";
import { join } from "node:path";

import type { Clock } from "@mesh/kernel";

import type { Instance } from "./supervised.ts";

/** Structured log of the servers' owners. */
export interface ServerLog {
  debug(fields: object, phrase: string): void;
  info(fields: object, phrase: string): void;
  warn(fields: object, phrase: string): void;
  error(fields: object, phrase: string): void;
}

/** What both servers need. */
export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: ServerLog;
}

/** Where the database is. */
export interface PostgresReady {
  readonly url: string;
  readonly version: string;
}

/** Where NATS is, and who is trusted there. */
export interface NatsReady {
  readonly url: string;
  /** host:port of the WebSocket listener. */
  readonly websocket: string;
  readonly trustDir: string;
  readonly version: string;
}

/** Starts PostgreSQL in `<dataDir>/postgres`. */
export async function startPostgres(options: EmbeddedOptions): Promise<Instance<PostgresReady>> {
  const { startEmbeddedPostgres } = await import("@mesh/store");
  const { clock, log } = options;
  const server = await startEmbeddedPostgres({ dataDir: join(options.dataDir, "postgres"), clock, log });
  return {
    ready: { url: server.url, version: server.version },
    exited: server.exited,
    stop: () => server.stop(),
    // Immediate shutdown: the database recovers from its log at the next start.
    kill: () => signalProcess(server.pid, "SIGQUIT"),
  };
}

/** Ports of NATS, chosen before so that they stay the same when it is started again. */
export interface NatsOptions extends EmbeddedOptions {
  readonly port: number;
  readonly websocketPort: number;
  /** Path of nats-server; looked for when absent. */
  readonly binary: string | undefined;
  /** A PATH value. */
  readonly searchPath: string;
}

/** Starts nats-server in `<dataDir>/nats`, with the keys of this mesh in `<dataDir>/nats/trust`. */
export async function startNats(options: NatsOptions): Promise<Instance<NatsReady>> {
  const { createTrust, findNatsServer, startNatsServer } = await import("@mesh/bus");
  const { clock, log, port, websocketPort } = options;
  const dataDir = join(options.dataDir, "nats");
  const trustDir = join(dataDir, "trust");
  const trust = createTrust(trustDir, clock);
  const server = await startNatsServer({
    dataDir,
    trust,
    port,
    websocketPort,
    clock,
    log: (event, fields) => log.info(fields, event),
    binary: options.binary ?? findNatsServer(options.searchPath, homedir()),
  });
  return {
    ready: {
      url: server.url,
      websocket: new URL(server.websocketUrl).host,
      trustDir,
      version: server.version,
    },
    exited: server.exited.then(() => ({ code: null, signal: null })),
    stop: () => server.stop(),
    kill: () => signalProcess(server.pid, "SIGKILL"),
  };
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended already.
  }
}
