import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { expect, test } from "vitest";

import { ScriptHarness } from "../testing/script-harness.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A call that leaves behind as much as it can: closures, callbacks, promises, failures, memory. */
const SCRIPT = `
  const kept = [];
  async function Create(ctx, n) {
    globalThis.mark = kept;
    kept.push(new Array(10_000).fill(n), () => ctx);
    new Promise(() => kept);
    ctx.memory.context.Set("last", "x".repeat(1000));
    ctx.agent.Call("a", [], { onChunk: (m) => { kept.push(m); return 0; } });
    await Promise.resolve();
    if (n % 10 === 0) throw new Exception("every tenth", n);
    return { n };
  }
  function Heap() { return kept.length; }
`;

test("thousands of calls leave workers and memory as they were", { timeout: 120_000 }, async () => {
  await using script = new ScriptHarness(SCRIPT, {
    ops: {
      "agent.Call": async ([, , , callback], io) => (await io.callback(callback as number, [{ type: "text" }])) ?? null,
    },
  });
  const round = async (calls: number): Promise<number> => {
    for (let n = 0; n < calls; n += 1) await script.run("Create", n).catch(() => undefined);
    script.asked.length = 0;
    collect();
    return getHeapStatistics().used_heap_size + process.memoryUsage().external;
  };
  const rssBefore = (await round(500), process.memoryUsage.rss());
  const before = await round(500);
  const after = await round(2_000);
  expect(script.host.workers).toBe(1);
  expect(after - before).toBeLessThan(4 * 1024 * 1024);
  // Threads have heaps of their own, which only the process's size shows.
  expect(process.memoryUsage.rss() - rssBefore).toBeLessThan(64 * 1024 * 1024);
  expect(await script.value("Heap")).toBe(0);
});

test("threads ended by force leave nothing behind either", { timeout: 120_000 }, async () => {
  await using script = new ScriptHarness("function Create() { const a = new Array(1e6).fill(1); for (;;) a[0]++; }", {
    host: { limits: { runMs: 20 } },
  });
  const round = async (calls: number): Promise<number> => {
    for (let n = 0; n < calls; n += 1) await script.run("Create").catch(() => undefined);
    return process.memoryUsage.rss();
  };
  const before = await round(10);
  expect((await round(20)) - before).toBeLessThan(64 * 1024 * 1024);
  expect(script.host.workers).toBeLessThanOrEqual(2);
});
