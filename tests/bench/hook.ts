/**
 * What hooks cost: a run of empty ones, a call of the memory inside the script, a call that crosses to the host beside a bare
 * round trip between two threads, a count kept by the mesh, and hook-only runs on one device.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MessageChannel, Worker } from "node:worker_threads";

import { loadApp } from "@mesh/assistants";
import { systemClock } from "@mesh/kernel";
import { createProviders } from "@mesh/llm";
import { LocalState, runAssistant } from "@mesh/runtime";
import { Workbench } from "@mesh/runtime/node";

import type { Bench } from "./bench.ts";
import { AGENTS, BenchMesh } from "./bench-mesh.ts";
import { HOOK_APP } from "./hook-app.ts";
import { atLeast, atMost, type Row } from "./report.ts";
import { closedLoop, nowMs, quantile } from "./sample.ts";

const MAX_RUN_MS = 3;
const MAX_RUN_P99_MS = 10;
const MAX_CONTEXT_MS = 0.005;
const MAX_CROSSING_MS = 0.1;
const MAX_INCR_MS = 5;
const MIN_RUNS_PER_SECOND = 200;
const IN_FLIGHT = 32;

/** In this process: no mesh around it. */
export const hook: Bench = async ({ isShort, progress }) => {
  await using place = new HookPlace();
  const scale = isShort ? 1 : 4;
  progress("hooks: warming up");
  for (let i = 0; i < 200; i += 1) await place.run("empty", "x");
  progress("hooks: empty runs, calls of the context, calls that cross");
  const runs: number[] = [];
  for (let i = 0; i < 500 * scale; i += 1) {
    const startMs = nowMs();
    await place.run("empty", "x");
    runs.push(nowMs() - startMs);
  }
  const calls = 200_000 * scale;
  const context =
    ((await place.run("loop", `context ${calls}`)) - (await place.run("loop", `nothing ${calls}`))) / (2 * calls);
  const crossings = 5_000 * scale;
  const crossing = (await place.run("loop", `crossing ${crossings}`)) / crossings;
  const bare = await bareRoundTrip(crossings);
  return [
    atMost("hooks: Create and Next without work, p50", "ms", quantile(runs, 0.5), MAX_RUN_MS),
    atMost("hooks: Create and Next without work, p99", "ms", quantile(runs, 0.99), MAX_RUN_P99_MS),
    atMost("hooks: one call of ctx.memory.context", "ms", context, MAX_CONTEXT_MS),
    atMost("hooks: one call that crosses to the host", "ms", crossing, MAX_CROSSING_MS),
    {
      name: "  beside a bare round trip of two threads",
      unit: "ms",
      ours: crossing,
      against: { what: "Atomics", value: bare },
    },
  ];
};

/** On a device of a mesh. */
export const hookMesh: Bench = async (options) => {
  const { isShort, progress } = options;
  await using mesh = await BenchMesh.start(options);
  await mesh.mesh.addNode({ name: "agent-1", labels: AGENTS, slots: IN_FLIGHT });
  const dir = mkdtempSync(join(tmpdir(), "bench-hook-"));
  try {
    for (const [path, text] of Object.entries(HOOK_APP)) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    await mesh.mesh.pushApp("hooks", dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  const run = async (assistant: string, input: string): Promise<string> => {
    const body = { assistant, input, requirements: { labels: AGENTS } };
    const created = await mesh.client.post<{ run: { id: string } }>("/v1/workspaces/default/runs", body);
    let output = "";
    const state = await mesh.client.follow(created.run.id, (kind, data) => {
      if (kind === "run.finished") output = (JSON.parse(data) as { data: { output?: string } }).data.output ?? "";
    });
    if (state !== "succeeded") throw new Error(`run ${created.run.id} ended as ${state}`);
    return output;
  };
  progress("hooks on a mesh: warming up");
  await closedLoop(8, 100, () => run("empty", "x"));
  progress("hooks on a mesh: counts, then runs");
  const counts = isShort ? 500 : 2000;
  const incrMs = Number(await run("loop", `incr ${counts}`)) / counts;
  const rounds: number[] = [];
  for (let round = 0; round < (isShort ? 1 : 3); round += 1) {
    rounds.push((await closedLoop(IN_FLIGHT, isShort ? 400 : 2000, () => run("empty", "x"))).perSecond);
  }
  return [
    atMost("hooks: memory.user.Incr over the mesh", "ms", incrMs, MAX_INCR_MS),
    atLeast("hooks: hook-only runs on one device", "/s", quantile(rounds, 0.5), MIN_RUNS_PER_SECOND),
  ] satisfies readonly Row[];
};

/** Runs the app's assistants in this process. */
class HookPlace implements AsyncDisposable {
  readonly #dir = mkdtempSync(join(tmpdir(), "bench-hook-"));
  readonly #app = loadApp(new Map(Object.entries(HOOK_APP).map(([path, text]) => [path, Buffer.from(text)]))).app;
  readonly #bench = new Workbench({
    clock: systemClock,
    dir: this.#dir,
    env: {},
    version: "bench",
    log: () => undefined,
  });
  readonly #state = new LocalState(systemClock).for({ workspaceId: "w", userId: "u" });

  /** What the Next hook returned as its data. */
  async run(assistantId: string, input: string): Promise<number> {
    const app = this.#app;
    const shared = this.#bench.portsOf({ app, state: this.#state, variables: {}, commandEnv: {} });
    const outcome = await runAssistant(
      {
        app,
        assistantId,
        input,
        options: {},
        metadata: {},
        context: { runId: "run_bench", workspaceId: "w", userId: "u" },
        connectors: new Map(),
        env: () => undefined,
      },
      { clock: systemClock, providers: createProviders({ clock: systemClock, env: {} }), ...shared },
      () => undefined,
      new AbortController().signal,
    );
    if ("pending" in outcome) throw new Error("the run waits");
    return Number(outcome.next ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bench[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Milliseconds of a message to the other thread and back, where the asker blocks: what no crossing can be faster than. */
async function bareRoundTrip(times: number): Promise<number> {
  const { port1, port2 } = new MessageChannel();
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const asker = new Worker(
    `const { workerData, parentPort, receiveMessageOnPort } = require("node:worker_threads");
     const { port, flag, times } = workerData;
     const start = process.hrtime.bigint();
     for (let i = 0; i < times; i += 1) {
       port.postMessage({ i });
       Atomics.wait(flag, 0, i);
       receiveMessageOnPort(port);
     }
     parentPort.postMessage(Number(process.hrtime.bigint() - start) / 1e6 / times);`,
    { eval: true, workerData: { port: port2, flag, times }, transferList: [port2] },
  );
  const took = new Promise<number>((resolve, reject) => {
    asker.once("message", resolve);
    asker.once("error", reject);
  });
  port1.on("message", (message: unknown) => {
    port1.postMessage(message);
    Atomics.add(flag, 0, 1);
    Atomics.notify(flag, 0);
  });
  try {
    return await took;
  } finally {
    port1.close();
    await asker.terminate();
  }
}
