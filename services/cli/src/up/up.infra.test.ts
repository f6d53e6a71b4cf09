import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { choosePort } from "./port.ts";
import { writeUpPrograms } from "../testing/up-program.ts";
import { ownEnvironment } from "../testing/yao-process.ts";

let root: string;
let port: number;
let owner: ChildProcess | undefined;

beforeEach(async () => {
  port = await choosePort({ host: "127.0.0.1", port: 0, use: "HTTP", flag: "--port" });
  root = mkdtempSync(join(tmpdir(), "yao-up-infra-"));
});
afterEach(() => {
  owner?.kill("SIGKILL");
  rmSync(root, { recursive: true, force: true });
});

// The owner is a process of its own, so that it can be killed; its servers are the real ones.
function startOwner(): { readonly said: () => string; readonly ready: () => Promise<void> } {
  const programs = writeUpPrograms(join(root, "programs"));
  const script = join(import.meta.dirname, "..", "testing", "up-owner.ts");
  owner = spawn(process.execPath, ["--import=tsx", "--conditions=@mesh/source", script], {
    env: {
      ...ownEnvironment(),
      TEST_JOURNAL: join(root, "journal"),
      TEST_TOKEN: "yao_admin",
      TEST_DATA: join(root, "data"),
      TEST_PORT: String(port),
      TEST_PROGRAMS: JSON.stringify(programs),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  owner.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  owner.stderr?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const exited = new Promise<never>((_resolve, reject) =>
    owner?.once("exit", () => reject(new Error(`ended: ${text}`))),
  );
  exited.catch(() => undefined);
  const isReady = until(() => text.includes("ready at"), { timeoutMs: 90_000, what: "the system" });
  isReady.catch(() => undefined);
  return { said: () => text, ready: () => Promise.race([isReady, exited]).then(() => undefined) };
}

/** Processes of this test's data directory. */
function processes(): readonly number[] {
  const pids = [join(root, "data/postgres/cluster/postmaster.pid"), join(root, "data/nats/nats.pid")].map((path) => {
    try {
      return Number(readFileSync(path, "utf8").split("\n")[0]);
    } catch {
      return Number.NaN;
    }
  });
  const children = readFileSync(join(root, "journal"), "utf8")
    .split("\n")
    .filter((line) => line.includes("started"))
    .map((line) => Number(line.split(" ").at(-1)));
  return [...pids, ...children].filter((pid) => pid > 0);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("nothing outlives a killed owner, and the next start on the directory works", { timeout: 180_000 }, async () => {
  const first = startOwner();
  await first.ready();
  const pids = processes();
  expect(pids).toHaveLength(4);
  expect(pids.every(isAlive)).toBe(true);
  owner?.kill("SIGKILL");
  await until(() => !pids.some(isAlive), { timeoutMs: 30_000, what: "all processes to end" });

  const second = startOwner();
  await second.ready();
  const again = processes().filter(isAlive);
  expect(again).toHaveLength(4);
  const ended = new Promise((resolve) => owner?.once("exit", (code) => resolve(code)));
  owner?.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(again.filter(isAlive)).toEqual([]);
});

test("killed servers are started again, and the coordinator keeps its address", { timeout: 180_000 }, async () => {
  const system = startOwner();
  await system.ready();
  const [postgres = 0, nats = 0] = processes();
  process.kill(postgres, "SIGKILL");
  process.kill(nats, "SIGKILL");
  await until(() => /PostgreSQL runs again/.test(system.said()) && /NATS runs again/.test(system.said()), {
    timeoutMs: 60_000,
    what: "both servers",
  });
  const [newPostgres = 0, newNats = 0] = processes();
  expect([newPostgres, newNats].every(isAlive)).toBe(true);
  expect(newPostgres).not.toBe(postgres);
  const ended = new Promise((resolve) => owner?.once("exit", (code) => resolve(code)));
  owner?.kill("SIGTERM");
  expect(await ended).toBe(0);
});
