/**
 * The directory of an embedded server: its layout, its making, and what is remembered beside it.
 *
 *   <dataDir>/cluster/       PostgreSQL's own directory
 *   <dataDir>/server.json    password and port, readable by the owner only
 *   <dataDir>/draft-*        a cluster being made; one found at start was interrupted and is removed
 *
 * C1  `cluster/` is complete or absent: it is made as a draft and renamed as the last step. It is never deleted.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { isObject, MeshError } from "@mesh/kernel";

import type { StoreLog } from "../log.ts";
import type { Binaries } from "./binary.ts";
import type { Identity } from "./identity.ts";

/** The one database user of an embedded server. */
export const SUPERUSER = "yao";

/** What is remembered between two starts. */
export interface ServerFile {
  readonly password: string;
  readonly port: number;
}

/** Where a cluster is and who runs it. */
export interface Cluster {
  readonly dataDir: string;
  readonly clusterDir: string;
  readonly identity: Identity | undefined;
  readonly binaries: Binaries;
  /** False only for tests: initdb then skips syncing its files to disk. */
  readonly durable: boolean;
}

/**
 * The `-D` argument for a process started in `dir`. The account the server is handed to may not be allowed to walk to
 * the directory (root's home is closed to others), but a process may always use the directory it was started in.
 */
export function dataArgument(dir: string, identity: Identity | undefined): string {
  return identity !== undefined && process.platform === "linux" ? "/proc/self/cwd" : dir;
}

/** Makes the cluster if there is none and returns its password and port. */
export async function ensureCluster(cluster: Cluster, log: StoreLog): Promise<ServerFile> {
  removeDrafts(cluster.dataDir);
  if (existsSync(cluster.clusterDir)) {
    refuseOtherVersion(cluster);
    adopt(cluster);
    return readServerFile(cluster.dataDir);
  }
  const server: ServerFile = { password: randomBytes(24).toString("base64url"), port: 0 };
  writeServerFile(cluster.dataDir, server);
  const draft = join(cluster.dataDir, `draft-${randomBytes(4).toString("hex")}`);
  mkdirSync(draft, { mode: 0o700 });
  giveTo(draft, cluster.identity);
  await initdb(cluster, draft, server.password, log);
  renameSync(draft, cluster.clusterDir);
  syncDir(cluster.dataDir);
  log.info({ version: cluster.binaries.version }, "database created");
  return server;
}

/** Replaces the remembered values in one step. */
export function writeServerFile(dataDir: string, server: ServerFile): void {
  const path = join(dataDir, "server.json");
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  const fd = openSync(draft, "wx", 0o600);
  writeFileSync(fd, `${JSON.stringify(server)}\n`);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(draft, path);
  syncDir(dataDir);
}

function readServerFile(dataDir: string): ServerFile {
  const path = join(dataDir, "server.json");
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isObject(parsed) && typeof parsed["password"] === "string" && typeof parsed["port"] === "number") {
      return { password: parsed["password"], port: parsed["port"] };
    }
  } catch {
    // Said below, with what to do.
  }
  throw new MeshError(
    "data_loss",
    `${path} is missing or damaged: it holds the password of the database beside it; restore it from a backup of ${dataDir}`,
  );
}

function refuseOtherVersion(cluster: Cluster): void {
  const found = readFileSync(join(cluster.clusterDir, "PG_VERSION"), "utf8").trim();
  const ours = cluster.binaries.version.split(".")[0] ?? "";
  if (found === ours) return;
  throw new MeshError(
    "failed_precondition",
    `the database in ${cluster.dataDir} was made by PostgreSQL ${found}, this program comes with ${ours}; start the release that made it and export with pg_dump, ` +
      `or run PostgreSQL ${found} on it yourself and set YAO_DATABASE_URL`,
    { details: { found, ours } },
  );
}

// A directory restored or copied by root belongs to root; the server's account must own all of it.
function adopt(cluster: Cluster): void {
  if (cluster.identity === undefined) return;
  if (statSync(join(cluster.clusterDir, "PG_VERSION")).uid === cluster.identity.uid) return;
  for (const entry of readdirSync(cluster.clusterDir, { recursive: true, encoding: "utf8" })) {
    giveTo(join(cluster.clusterDir, entry), cluster.identity);
  }
  giveTo(cluster.clusterDir, cluster.identity);
  chmodSync(cluster.clusterDir, 0o700);
}

function removeDrafts(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    // Retries: an initdb whose owner was killed may still be writing for a moment.
    if (name.startsWith("draft-")) rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function initdb(cluster: Cluster, draft: string, password: string, log: StoreLog): Promise<void> {
  const args = [
    ["-D", dataArgument(draft, cluster.identity), "-U", SUPERUSER, "-A", "scram-sha-256", "--pwfile=/dev/stdin"],
    // The built-in locale sorts the same on every machine and does not change with the system's libraries.
    ["-E", "UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"],
    cluster.durable ? [] : ["--no-sync"],
  ].flat();
  const passwordFd = openSecret(join(cluster.dataDir, "draft-password"), password, cluster.identity);
  let child: ChildProcess;
  try {
    child = spawn(cluster.binaries.initdb, args, {
      cwd: draft,
      env: { LC_ALL: "C" },
      stdio: [passwordFd, "pipe", "pipe"],
      ...cluster.identity,
    });
  } finally {
    closeSync(passwordFd);
  }
  await completed(child, log);
}

// Opened as a file because initdb opens /dev/stdin by name, which fails for the sockets Node uses as pipes.
function openSecret(path: string, secret: string, identity: Identity | undefined): number {
  rmSync(path, { force: true });
  writeFileSync(path, secret, { mode: 0o600, flag: "wx" });
  giveTo(path, identity);
  const fd = openSync(path, "r");
  rmSync(path);
  return fd;
}

async function completed(child: ChildProcess, log: StoreLog): Promise<void> {
  let output = "";
  const collect = (chunk: Buffer): void => {
    output = (output + chunk.toString("utf8")).slice(-4000);
  };
  child.stdout?.on("data", collect);
  child.stderr?.on("data", collect);
  const code = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal));
  });
  log.debug({ output }, "initdb ended");
  if (code === 0) return;
  const reason = output.trim().split("\n").slice(-3).join(" ");
  throw new MeshError("internal", `the database could not be created (initdb: ${String(code)}): ${reason}`);
}

function giveTo(path: string, identity: Identity | undefined): void {
  if (identity !== undefined) chownSync(path, identity.uid, identity.gid);
}

function syncDir(dir: string): void {
  const fd = openSync(dir, "r");
  fsyncSync(fd);
  closeSync(fd);
}
