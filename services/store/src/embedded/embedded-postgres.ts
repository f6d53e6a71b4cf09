/**
 * A private PostgreSQL server in a directory of this device, for when none was given.
 *
 * P1  Only whoever reads `server.json` (mode 0600) can connect: loopback, scram, a random password.
 * P2  It does not outlive its owner, even one that is killed; see `guard.ts`.
 * P3  A start after any kind of kill succeeds: half-made clusters, live leftovers and stale pid files are dealt with.
 *
 * The caller holds a lock on the data directory (`takeLock`), so that there is one owner at a time.
 */

import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

import { type Clock, errorText, MeshError } from "@mesh/kernel";

import { openSql } from "../connection.ts";
import type { StoreLog } from "../log.ts";
import { findBinaries } from "./binary.ts";
import { type Cluster, ensureCluster, type ServerFile, SUPERUSER, writeServerFile } from "./cluster.ts";
import { serverIdentity } from "./identity.ts";
import { clearLeftover } from "./leftover.ts";
import { type ProcessExit, ServerProcess } from "./server-process.ts";

/** What a private server needs. */
export interface EmbeddedPostgresOptions {
  /** A directory for this server alone; made if missing. */
  readonly dataDir: string;
  readonly log: StoreLog;
  readonly clock: Clock;
  /** False only for tests: data may then be lost in a crash of the machine. */
  readonly durable?: boolean;
}

/** A running private server. */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Superuser URL of the database `yao`. */
  readonly url: string;
  readonly pid: number;
  /** Such as `18.4`. */
  readonly version: string;
  /** Resolves when the server ends, whether asked to or not. */
  readonly exited: Promise<ProcessExit>;
  /** Resolves when it has ended. Calling it twice is harmless. */
  stop(): Promise<void>;
}

const DATABASE = "yao";
const LAUNCHES = 10;
const RELAUNCH_MS = 500;
// A port somebody took between our look and the server's, or server processes that are still ending. A server that had only just
// been started when its owner was killed writes its lock file after our look for leftovers.
const PASSING =
  /Address already in use|could not create any TCP\/IP sockets|pre-existing shared memory block|lock file "postmaster.pid" already exists/;
const SYSTEM_COPY_DIR = "/var/cache/yao";

/** Starts the server in `dataDir`, making its database first if there is none. */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log, clock } = options;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const clusterDir = join(dataDir, "cluster");
  await clearLeftover(clusterDir, { clock, log });
  const identity = serverIdentity(clusterDir);
  const copyInto = [dataDir, ...(identity === undefined ? [] : [SYSTEM_COPY_DIR])];
  const binaries = await findBinaries({ identity, copyInto });
  const cluster: Cluster = { dataDir, clusterDir, identity, binaries, durable: options.durable ?? true };
  const file = await ensureCluster(cluster, log);
  const { server, port } = await launch(cluster, file, { clock, log });
  const url = urlOf(file.password, port, DATABASE);
  try {
    await ensureDatabase(urlOf(file.password, port, "postgres"), dataDir);
  } catch (error) {
    await server.stop();
    throw error;
  }
  log.info({ pid: server.pid, port, version: binaries.version }, "database server started");
  const stop = (): Promise<void> => server.stop();
  const { pid, exited } = server;
  return { url, pid, version: binaries.version, exited, stop, [Symbol.asyncDispose]: stop };
}

async function launch(
  cluster: Cluster,
  file: ServerFile,
  deps: { readonly clock: Clock; readonly log: StoreLog },
): Promise<{ server: ServerProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(file.port);
    if (port !== file.port) writeServerFile(cluster.dataDir, { ...file, port });
    const server = new ServerProcess(cluster, port, deps);
    const outcome = await server.launched();
    if (outcome.kind === "ready") return { server, port };
    const text = outcome.lines.join("\n");
    if (attempt === LAUNCHES || !PASSING.test(text)) {
      throw new MeshError(
        "failed_precondition",
        `the database in ${cluster.dataDir} does not start: ${reasonIn(outcome.lines)}`,
        { details: { lines: outcome.lines } },
      );
    }
    deps.log.info({ attempt, reason: reasonIn(outcome.lines) }, "starting the database server again");
    await deps.clock.sleep(RELAUNCH_MS);
    await clearLeftover(cluster.clusterDir, deps);
  }
}

function reasonIn(lines: readonly string[]): string {
  const line = lines.findLast((candidate) => /^(FATAL|PANIC|postgres): /.test(candidate)) ?? lines.at(-1);
  return line?.replace(/^\w+: +/, "") ?? "it gave no reason";
}

// The port of last time if it is free, so that what people configured (a SQL client) keeps working.
async function choosePort(preferred: number): Promise<number> {
  return (await tryPort(preferred)) ?? (await tryPort(0)) ?? preferred;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(undefined));
    probe.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : undefined));
    });
  });
}

async function ensureDatabase(url: string, dataDir: string): Promise<void> {
  const sql = openSql({ url, maxConnections: 1, applicationName: "yao start" });
  try {
    const found = await sql`SELECT 1 FROM pg_database WHERE datname = ${DATABASE}`;
    if (found.length === 0) await sql.unsafe(`CREATE DATABASE ${DATABASE}`);
  } catch (error) {
    throw new MeshError(
      "failed_precondition",
      `the database in ${dataDir} runs but does not let us in (${errorText(error)}); if files of ${dataDir} were restored, restore all of them from the same backup`,
      { cause: error },
    );
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function urlOf(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`;
}
