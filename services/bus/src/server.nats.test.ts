import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { busAdmin } from "./admin.ts";
import { connectBus } from "./nats-bus.ts";
import { findNatsServer, isRunning, runsWith } from "./server-process.ts";
import { type NatsServer, type NatsServerOptions, startNatsServer } from "./server.ts";
import { createTrust, type NatsTrust } from "./trust.ts";

const binary = process.env["YAO_TEST_NATS_SERVER"] ?? findNatsServer(process.env["PATH"] ?? "", homedir());
const servers: NatsServer[] = [];
const children: ChildProcess[] = [];
const orphans: number[] = [];
let dir: string;
let trust: NatsTrust;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-server-"));
  trust = createTrust(join(dir, "trust"), systemClock);
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const pid of orphans.splice(0)) if (runsWith(pid, dir)) process.kill(pid, "SIGKILL");
  for (const server of servers.splice(0)) await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function start(options: Partial<NatsServerOptions> = {}): Promise<NatsServer> {
  const ports = { port: 0, websocketPort: 0 };
  const server = await startNatsServer({
    dataDir: join(dir, "nats"),
    trust,
    clock: systemClock,
    binary,
    ...ports,
    ...options,
  });
  servers.push(server);
  return server;
}

// Another process that starts a server on the same data and prints its pid.
async function ownerElsewhere(): Promise<{ owner: ChildProcess; serverPid: number }> {
  const script = join(dir, "owner.mts");
  writeFileSync(
    script,
    `import { systemClock } from "@mesh/kernel";
     import { createTrust, startNatsServer } from ${JSON.stringify(join(import.meta.dirname, "index.ts"))};
     const [, , dir, binary] = process.argv;
     const trust = createTrust(dir + "/trust", systemClock);
     const server = await startNatsServer({ dataDir: dir + "/nats", trust, port: 0, websocketPort: 0, clock: systemClock, binary });
     console.log(server.pid);
     setInterval(() => undefined, 1000);`.replace(
      '"@mesh/kernel"',
      JSON.stringify(import.meta.resolve("@mesh/kernel")),
    ),
  );
  const args = ["--conditions=@mesh/source", `--import=${import.meta.resolve("tsx")}`, script, dir, binary];
  const owner = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(owner);
  const serverPid = await new Promise<number>((resolve) => {
    createInterface({ input: owner.stdout }).once("line", (line) => resolve(Number(line)));
  });
  orphans.push(serverPid);
  return { owner, serverPid };
}

test("S1: a started server answers, tells its version and ports, and stops", async () => {
  const server = await start();
  expect(server.version).toMatch(/^2\.\d+\.\d+/);
  const bus = await connectBus({
    servers: [server.url],
    credentials: await trust.issueCoordinator(),
    name: "t",
    clock: systemClock,
  });
  await busAdmin(bus).ensureStreams();
  await bus.close();
  await server.stop();
  await server.stop();
  await server.exited;
  expect(isRunning(server.pid)).toBe(false);
  const again = await start({ port: Number(new URL(server.url).port) });
  expect(again.url).toBe(server.url);
});

test("nobody enters without credentials", async () => {
  const server = await start();
  const entry = connectBus({ servers: [server.url], credentials: undefined, name: "t", clock: systemClock });
  await expect(entry).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a second server on the same data is refused while the first runs", async () => {
  await start();
  await expect(start()).rejects.toThrow(/in use by nats-server/);
});

test("S2: the server ends when its owner is killed, and the next owner takes over its store", async () => {
  const { owner, serverPid } = await ownerElsewhere();
  expect(isRunning(serverPid)).toBe(true);
  owner.kill("SIGKILL");
  await until(() => !isRunning(serverPid), { what: "the server's end" });
  expect(isRunning((await start()).pid)).toBe(true);
});

test("S2: a server that outlived its owner is stopped before the next one starts", async () => {
  const { owner, serverPid } = await ownerElsewhere();
  // A stopped process does not act on the guard's SIGTERM: the worst case.
  process.kill(serverPid, "SIGSTOP");
  const ended = once(owner, "exit");
  owner.kill("SIGKILL");
  await ended;
  const next = await start();
  expect(next.pid).not.toBe(serverPid);
  expect(isRunning(serverPid)).toBe(false);
});

test("S2: a stale pid file of some other process is left alone", async () => {
  const bystander = spawn("sleep", ["60"]);
  children.push(bystander);
  const first = await start();
  await first.stop();
  writeFileSync(join(dir, "nats", "nats.pid"), String(bystander.pid));
  await start();
  expect(isRunning(bystander.pid ?? 0)).toBe(true);
});

test("a server that cannot start says why", async () => {
  const taken = await start();
  const port = Number(new URL(taken.url).port);
  await expect(start({ dataDir: join(dir, "second"), port })).rejects.toThrow(/address already in use/);
});

test("a missing or broken program says what to do", async () => {
  await expect(start({ binary: join(dir, "nothing") })).rejects.toThrow(/install-nats\.sh/);
  const broken = join(dir, "nats-server");
  writeFileSync(broken, "#!/bin/sh\necho broken >&2\nexit 1\n");
  chmodSync(broken, 0o755);
  await expect(start({ binary: broken })).rejects.toThrow(/did not start; it said: broken/);
  expect(() => findNatsServer(join(dir, "empty"), dir, [])).toThrow(/install-nats\.sh/);
});

test("S3: both listeners are on loopback", async () => {
  await start();
  const config = readFileSync(join(dir, "nats", "nats.conf"), "utf8");
  expect(config.match(/listen: "127\.0\.0\.1:/g)).toHaveLength(2);
});
