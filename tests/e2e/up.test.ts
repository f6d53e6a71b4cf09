/** `yao up` as a person uses it: started, stopped, started twice, and with any part of it killed. */

import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { listProcesses, type ProcessRow } from "../chaos/process-table.ts";
import { FREE_PORTS, YaoHome, type YaoProcess } from "./yao-command.ts";

interface Runs {
  readonly runs: readonly { readonly id: string; readonly state: string }[];
}

/** Parts of a running system, as their command lines show them. */
const PARTS = ["nats-server", "bin/postgres", "coordinator/dist/main", "node-agent/dist/main", "runner/main"];

let home: YaoHome;
beforeAll(() => {
  home = new YaoHome();
});
afterAll(() => home?.[Symbol.asyncDispose]());

/** Which of these processes still run. */
function left(rows: readonly ProcessRow[]): readonly ProcessRow[] {
  const now = listProcesses();
  return rows.filter(({ pid, args }) => now.some((row) => row.pid === pid && row.args === args));
}

/** All processes of a system that has done some work, so that no part of it is missing. */
async function allParts(): Promise<readonly ProcessRow[]> {
  expect(await home.run(["run", "hello", "hi"])).toEqual(ANSWER);
  const rows = home.processes();
  for (const part of PARTS) expect(rows.filter(({ args }) => args.includes(part))).not.toEqual([]);
  return rows;
}

async function expectNothingLeft(rows: readonly ProcessRow[], timeoutMs: number): Promise<void> {
  await until(() => left(rows).length === 0, { timeoutMs, everyMs: 50 }).catch(() => undefined);
  expect(left(rows)).toEqual([]);
  expect(home.processes()).toEqual([]);
}

/** Kills the part and waits for its successor. */
async function killAndAwait(part: string): Promise<void> {
  const pid = home.processOf(part);
  process.kill(pid, "SIGKILL");
  const isBack = (): boolean => home.processes().some((row) => row.args.includes(part) && row.pid !== pid);
  await until(isBack, { timeoutMs: 30_000, everyMs: 50, what: `${part} to come back` });
}

/** What the system in the background has told so far. */
function logged(): string {
  return readFileSync(join(home.dir, "yao.log"), "utf8");
}

const ANSWER = { code: 0, signal: null, stdout: "You said: hi\n", stderr: "" };

describe("one system", () => {
  let system: YaoProcess;

  test("a fresh directory ends at a running system with a node and the demo app, and a second terminal uses it", async () => {
    system = await home.up();
    const said = system.stdout();
    expect(said).toMatch(/^Yao Mesh is up at http:\/\/127\.0\.0\.1:\d+ \(gRPC 127\.0\.0\.1:\d+\)$/m);
    expect(said).toContain("this device joined as");
    expect(said).toContain("the demo app was pushed");
    expect(said).toMatch(/^admin token: yao_\S+$/m);
    expect(system.stderr()).toBe("");
    expect(await home.run(["run", "hello", "hi"])).toEqual(ANSWER);
    const { nodes } = await home.json<{ nodes: readonly { status: string }[] }>(["node", "list"]);
    expect(nodes.map(({ status }) => status)).toEqual(["online"]);
  });

  test("a second start on the directory says who holds it and exits 1", async () => {
    const { code, stdout, stderr } = await home.run(["up", ...FREE_PORTS]);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toBe(
      `yao: ${home.dir} is in use by yao up (process ${system.pid}). Stop it first, or choose another data directory with --data.\n`,
    );
    const inBackground = await home.run(["up", "--detach", ...FREE_PORTS]);
    expect([inBackground.code, inBackground.stderr]).toEqual([1, stderr]);
    expect(await home.run(["run", "hello", "hi"])).toEqual(ANSWER);
  });

  test("Ctrl-C, which the terminal sends to the whole process group, stops every part", async () => {
    const rows = await allParts();
    process.kill(-system.pid, "SIGINT");
    const { code, stderr } = await home.ended(system);
    expect([code, stderr]).toEqual([0, "stopping; press Ctrl-C again to end at once\n"]);
    await expectNothingLeft(rows, 2000);
  });
});

test("the token is shown once, and an interrupt of the process alone stops every part too", async () => {
  const system = await home.up(["--json"]);
  const report = JSON.parse(system.stdout()) as Record<string, unknown>;
  expect(report).toMatchObject({ data_dir: home.dir, demo_app: false });
  expect(report).not.toHaveProperty("admin_token");
  const rows = await allParts();
  system.child.kill("SIGINT");
  expect((await home.ended(system)).code).toBe(0);
  await expectNothingLeft(rows, 2000);
});

test.each(["nats-server", "coordinator/dist/main"])(
  "an interrupt while %s starts leaves nothing behind",
  async (part) => {
    const system = home.start(["up", ...FREE_PORTS], { isJob: true });
    const rows = await until(
      () => {
        const found = home.processes();
        return found.some(({ args }) => args.includes(part)) && found;
      },
      { timeoutMs: 60_000, what: `${part}; said ${system.stderr()}` },
    );
    process.kill(-system.pid, "SIGINT");
    expect((await home.ended(system)).code).toBe(0);
    await expectNothingLeft(rows, 2000);
    expect(existsSync(join(home.dir, "yao.lock"))).toBe(false);
  },
);

test("a first start that was killed half-way does not spoil the directory", async () => {
  await using fresh = new YaoHome();
  const killed = fresh.start(["up", ...FREE_PORTS]);
  const isStarting = (): boolean => fresh.processes().some(({ args }) => args.includes("coordinator/dist/main"));
  await until(isStarting, { timeoutMs: 60_000, everyMs: 50, what: "the coordinator to start" });
  killed.child.kill("SIGKILL");
  await fresh.ended(killed);
  await until(() => fresh.processes().length === 0, { timeoutMs: 20_000, everyMs: 50, what: "all parts to end" });
  const system = await fresh.up();
  expect(system.stdout()).toMatch(/^admin token: yao_\S+$/m);
  expect(await fresh.run(["run", "hello", "hi"])).toEqual(ANSWER);
});

test.each([
  ["--port", "HTTP"],
  ["--grpc-port", "gRPC"],
  ["--nats-port", "NATS"],
])("a port that is taken is named together with %s, which changes it", async (flag, use) => {
  const other = createServer();
  await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
  const { port } = other.address() as AddressInfo;
  try {
    const { code, stdout, stderr } = await home.run(["up", ...FREE_PORTS, flag, String(port)]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `yao: port ${port} (${use}) is taken by another program — choose another with ${flag} N, or ${flag} 0 for any free one\n`,
    );
    expect(home.processes()).toEqual([]);
  } finally {
    other.close();
  }
});

test("nothing outlives kill -9, and the next start has the same data", async () => {
  const killed = await home.up();
  const rows = await allParts();
  const before = await home.json<Runs>(["runs", "list"]);
  killed.child.kill("SIGKILL");
  await home.ended(killed);
  await expectNothingLeft(rows, 20_000);

  const system = await home.up();
  const { runs } = await home.json<Runs>(["runs", "list"]);
  expect(runs).toEqual(before.runs);
  expect(runs.every(({ state }) => state === "succeeded")).toBe(true);
  await allParts();
  system.child.kill("SIGTERM");
  expect((await home.ended(system)).code).toBe(0);
});

describe("a system in the background", () => {
  beforeAll(async () => {
    const { code, stdout } = await home.run(["up", "--detach", ...FREE_PORTS]);
    expect(code).toBe(0);
    expect(stdout).toContain("in the background as process");
  });

  test.each([
    ["coordinator/dist/main", "the coordinator"],
    ["nats-server -c", "NATS"],
    ["bin/postgres", "PostgreSQL"],
  ])("a killed %s comes back by itself, and who watches a run meanwhile sees all of it", async (part, name) => {
    await allParts();
    const watched = home.start(["run", "counter", "/count 40 every 100ms"]);
    await until(() => watched.stdout() !== "", { timeoutMs: 30_000, what: "the run to start" });
    await killAndAwait(part);
    await until(() => logged().includes(`${name} runs again`), { timeoutMs: 30_000, what: `word of ${name}` });
    const numbers = Array.from({ length: 40 }, (_, at) => at + 1).join(" ");
    expect(await home.ended(watched)).toEqual({ ...ANSWER, stdout: `${numbers}\n` });
  });

  test("a killed node agent comes back by itself, and a run works", async () => {
    await allParts();
    await killAndAwait("node-agent/dist/main");
    expect(await home.run(["run", "hello", "hi"])).toEqual(ANSWER);
  });

  test("a killed runner is replaced for the next run", async () => {
    await allParts();
    process.kill(home.processOf("runner/main"), "SIGKILL");
    expect(await home.run(["run", "hello", "hi"])).toEqual(ANSWER);
  });

  test("`yao down` stops every part; a second one says that nothing runs", async () => {
    const rows = await allParts();
    const { code, stdout } = await home.run(["down"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^stopped \(process \d+\)\n$/)]);
    await expectNothingLeft(rows, 2000);
    expect(await home.run(["down"])).toMatchObject({ code: 0, stdout: `nothing runs on ${home.dir}\n` });
    expect((await home.run(["run", "hello", "hi"])).stderr).toMatch(
      /^yao: no coordinator at http:\/\/127\.0\.0\.1:\d+ — start one with `yao up`/,
    );
  });
});
