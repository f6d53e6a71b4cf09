import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { openSql } from "../connection.ts";
import type { StoreLog } from "../log.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./embedded-postgres.ts";

const isRoot = process.getuid?.() === 0;
const silent: StoreLog = { debug() {}, info() {}, warn() {}, error() {} };
const packageDir = join(import.meta.dirname, "../..");
const started: EmbeddedPostgres[] = [];
const children: ChildProcess[] = [];
let home: string;
let dataDir: string;

// As root, mkdtemp's 0700 makes a home that no other account can walk into, like /root.
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "yao-embedded-"));
  dataDir = join(home, "postgres");
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await Promise.all(started.splice(0).map((server) => server.stop()));
  await until(() => serversOf(dataDir).length === 0, { timeoutMs: 20_000 });
  rmSync(home, { recursive: true, force: true });
});

async function start(): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ dataDir, log: silent, clock: systemClock });
  started.push(server);
  return server;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = openSql({ url, maxConnections: 1 });
  try {
    return [...(await sql.unsafe(text))];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Postmasters and initdb runs that work below a directory, by what the kernel says of them. */
function serversOf(dir: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(dir);
      } catch {
        return false;
      }
    });
}

interface Owner {
  readonly child: ChildProcess;
  readonly ready: Promise<{ readonly url: string; readonly pid: number; readonly uid: number }>;
}

/** A process of its own that owns the server, to be killed. */
function ownerProcess(identity: { uid?: number; gid?: number } = {}): Owner {
  const args = ["--conditions=@mesh/source", "--import", "tsx", "src/testing/embedded-owner.ts", dataDir];
  const child = spawn(process.execPath, args, { cwd: packageDir, stdio: ["pipe", "pipe", "inherit"], ...identity });
  children.push(child);
  const ready = new Promise<Awaited<Owner["ready"]>>((resolve) => {
    createInterface({ input: child.stdout }).once("line", (line) => resolve(JSON.parse(line) as never));
  });
  return { child, ready };
}

function kill(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("the first start makes a database, later ones keep its data and its port", async () => {
  const first = await start();
  expect(first.version).toMatch(/^\d+\.\d+$/);
  await query(first.url, "CREATE TABLE kept AS SELECT 42 AS answer");
  await Promise.all([first.stop(), first.stop()]);
  expect(await first.exited).toEqual({ code: 0, signal: null });
  const second = await start();
  expect(second.url).toBe(first.url);
  expect(await query(second.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
});

test("durability is on, and only loopback with the password gets in", async () => {
  const server = await start();
  const [row] = await query(
    server.url,
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit, current_setting('timezone') AS zone,
      current_setting('listen_addresses') AS listen, current_setting('unix_socket_directories') AS sockets`,
  );
  expect(row).toEqual({ fsync: "on", commit: "on", zone: "UTC", listen: "127.0.0.1", sockets: "" });
  const wrong = new URL(server.url);
  wrong.password = "guess";
  await expect(query(wrong.toString(), "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
  expect(statSync(join(dataDir, "server.json")).mode & 0o777).toBe(0o600);
  expect(statSync(join(dataDir, "cluster")).mode & 0o777).toBe(0o700);
  expect(readdirSync(dataDir).toSorted()).toEqual(["cluster", "server.json"]);
});

test("another port is taken when the one of last time is in use", async () => {
  const first = await start();
  const port = Number(new URL(first.url).port);
  await first.stop();
  const squatter = await new Promise<Server>((resolve) => {
    const server = createServer();
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
  const second = await start();
  expect(Number(new URL(second.url).port)).not.toBe(port);
  squatter.close();
});

test("stopping does not wait for open transactions", async () => {
  const server = await start();
  const sql = openSql({ url: server.url, maxConnections: 1 });
  const open = sql.begin(async (tx) => tx`SELECT pg_sleep(60)`).catch(() => undefined);
  await until(
    async () => (await query(server.url, "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).length > 0,
  );
  const before = systemClock.monotonic();
  await server.stop();
  expect(systemClock.monotonic() - before).toBeLessThan(8000);
  await open;
  await sql.end({ timeout: 0 });
});

test("P2: when the owner is killed the server ends by itself, with everything committed kept", async () => {
  const owner = ownerProcess();
  const { url, pid } = await owner.ready;
  await query(url, "CREATE TABLE kept AS SELECT 7 AS answer");
  await kill(owner.child);
  await until(() => !isRunning(pid), { timeoutMs: 20_000, what: "the guard to stop the server" });
  const server = await start();
  expect(await query(server.url, "SELECT answer FROM kept")).toEqual([{ answer: 7 }]);
});

test("P2: an owner that ends properly leaves neither a server nor a guard", async () => {
  const owner = ownerProcess();
  const { pid } = await owner.ready;
  owner.child.stdin?.end();
  await until(() => owner.child.exitCode === 0);
  expect(isRunning(pid)).toBe(false);
  await until(() => guardsOf(pid).length === 0);
});

test("P3: a server left running by a killed owner and a killed guard is stopped by the next start", async () => {
  const owner = ownerProcess();
  const { url, pid } = await owner.ready;
  await query(url, "CREATE TABLE kept AS SELECT 8 AS answer");
  for (const guard of guardsOf(pid)) process.kill(guard, "SIGKILL");
  await kill(owner.child);
  expect(isRunning(pid)).toBe(true);
  const server = await start();
  expect(isRunning(pid)).toBe(false);
  expect(server.pid).not.toBe(pid);
  expect(await query(server.url, "SELECT answer FROM kept")).toEqual([{ answer: 8 }]);
});

test("P3: a killed server is noticed, and the next start recovers what was committed", async () => {
  const server = await start();
  await query(server.url, "CREATE TABLE kept AS SELECT 9 AS answer");
  process.kill(server.pid, "SIGKILL");
  expect(await server.exited).toEqual({ code: null, signal: "SIGKILL" });
  await server.stop();
  const next = await start();
  expect(await query(next.url, "SELECT answer FROM kept")).toEqual([{ answer: 9 }]);
});

test("P3: a pid file that names a stranger does not prevent a start, and the stranger lives on", async () => {
  const first = await start();
  await first.stop();
  const owner = statSync(join(dataDir, "cluster"));
  const stranger = spawn("sleep", ["60"], { stdio: "ignore", cwd: "/", ...(isRoot ? { uid: owner.uid } : {}) });
  children.push(stranger);
  const pidFile = join(dataDir, "cluster/postmaster.pid");
  writeFileSync(pidFile, `${stranger.pid}\n${dataDir}/cluster\n1\n5432\n\n127.0.0.1\n0 0\nready\n`, { mode: 0o600 });
  if (isRoot) chownSync(pidFile, owner.uid, owner.gid);
  await start();
  expect(isRunning(Number(stranger.pid))).toBe(true);
});

test("P3: killed at any moment of the first start, the next start succeeds", async () => {
  // The moments are found by what is on disk, so that each stage of making the cluster is hit.
  const moments: (() => boolean)[] = [
    () => existsSync(dataDir),
    () => drafts().length > 0,
    () => drafts().some((name) => existsSync(join(dataDir, name, "global"))),
    () => drafts().some((name) => existsSync(join(dataDir, name, "base/4"))),
    () => existsSync(join(dataDir, "cluster")),
    () => existsSync(join(dataDir, "cluster/postmaster.pid")),
  ];
  for (const moment of moments) {
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
    const owner = ownerProcess();
    await until(moment, { everyMs: 1, timeoutMs: 20_000 });
    await kill(owner.child);
    const server = await start();
    expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await server.stop();
    expect(readdirSync(dataDir).toSorted()).toEqual(["cluster", "server.json"]);
    await until(() => serversOf(dataDir).length === 0, { timeoutMs: 20_000 });
  }
});

test("a database of another PostgreSQL version is refused with advice, untouched", async () => {
  const first = await start();
  await first.stop();
  const file = join(dataDir, "cluster/PG_VERSION");
  writeFileSync(file, "12\n");
  await expect(start()).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(/PostgreSQL 12.*pg_dump.*YAO_DATABASE_URL/s),
  });
  expect(readFileSync(file, "utf8")).toBe("12\n");
});

test("a lost password file is said, and the database is not made anew", async () => {
  const first = await start();
  await first.stop();
  rmSync(join(dataDir, "server.json"));
  await expect(start()).rejects.toMatchObject({ code: "data_loss", message: expect.stringContaining("server.json") });
  expect(existsSync(join(dataDir, "cluster/PG_VERSION"))).toBe(true);
});

test("a server that cannot start says why", async () => {
  const first = await start();
  await first.stop();
  rmSync(join(dataDir, "cluster/global/pg_control"));
  await expect(start()).rejects.toThrow(/does not start: could not find the database system/);
});

test.runIf(isRoot)("as root the server runs as another account, in a home that account cannot enter", async () => {
  expect(statSync(home).mode & 0o777).toBe(0o700);
  const server = await start();
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  const field = (name: string): string => new RegExp(`^${name}:[ \\t]*(.*)$`, "m").exec(status)?.[1]?.trim() ?? "?";
  const uids = field("Uid").split(/\s+/).map(Number);
  expect(uids).not.toContain(0);
  expect(field("Groups")).toBe("");
  expect(statSync(join(dataDir, "cluster")).uid).toBe(uids[0]);
});

test.runIf(isRoot)("as root a directory that was copied back from a backup is handed over again", async () => {
  const first = await start();
  await first.stop();
  execFileSync("chown", ["-R", "root:root", join(dataDir, "cluster")]);
  await start();
  expect(statSync(join(dataDir, "cluster/PG_VERSION")).uid).not.toBe(0);
});

test.runIf(isRoot)("an ordinary user runs the server as itself", async () => {
  mkdirSync(dataDir);
  chmodSync(home, 0o755);
  chownSync(dataDir, 65_534, 65_534);
  const owner = ownerProcess({ uid: 65_534, gid: 65_534 });
  const { url, pid, uid } = await owner.ready;
  expect(uid).toBe(65_534);
  expect(statSync(`/proc/${pid}`).uid).toBe(65_534);
  expect(await query(url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await kill(owner.child);
  await until(() => !isRunning(pid), { timeoutMs: 20_000 });
});

function drafts(): string[] {
  return existsSync(dataDir) ? readdirSync(dataDir).filter((name) => /^draft-[0-9a-f]+$/.test(name)) : [];
}

function guardsOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        const args = readFileSync(`/proc/${candidate}/cmdline`, "utf8").split("\0");
        return args.includes("yao-postgres-guard") && args.includes(String(pid));
      } catch {
        return false;
      }
    });
}
