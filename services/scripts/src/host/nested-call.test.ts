import { availableParallelism } from "node:os";

import { type Json, until } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { HostOps, OpIo } from "../call.ts";
import { ScriptHarness } from "../testing/script-harness.ts";

const NEST = `
  function Nest(left) { return left === 0 ? ["bottom"] : [left, ...Process("nest", left - 1)]; }
  function Tried(left) { try { return Nest(left); } catch (e) { return e.message; } }
  function Wide() { return All([1, 2, 3, 4, 5, 6].map((n) => ({ process: "nest", args: [0] }))).length; }
`;

/** A script whose processes are calls of itself, one deeper. */
function nesting(maxWorkers: number): ScriptHarness {
  const nest = async (left: Json, depth: number, io: OpIo): Promise<Json> => {
    const result = await script.call({ fn: "Nest", args: [{ json: left }], depth, ops: opsAt(depth) }, io.signal);
    return result.kind === "returned" ? (result.value ?? null) : null;
  };
  const opsAt = (depth: number): HostOps => ({
    invoke: async (op, [first, second], io) => {
      if (op === "process.Call") return await nest((second as Json[])[0] ?? 0, depth + 1, io);
      return await Promise.all((first as Json[]).map(async () => ({ data: await nest(0, depth + 1, io) })));
    },
  });
  const script = new ScriptHarness(NEST, { host: { maxWorkers, maxDepth: 100 }, hostOps: opsAt(0) });
  return script;
}

test("a call nested in a call gets a worker of its own, and the pool grows for it", async () => {
  await using script = nesting(8);
  expect(await script.call({ fn: "Nest", args: [{ json: 5 }] })).toMatchObject({ value: [5, 4, 3, 2, 1, "bottom"] });
  expect(script.host.workers).toBe(6);
});

test(
  "calls nested deeper than there are workers end with a reason instead of waiting for ever",
  { timeout: 20_000 },
  async () => {
    await using script = nesting(3);
    const result = await script.call({ fn: "Tried", args: [{ json: 5 }] });
    expect(result).toMatchObject({
      value: expect.stringContaining("All 3 script workers wait for other calls") as string,
    });
    expect(await script.call({ fn: "Nest", args: [{ json: 1 }] })).toMatchObject({ value: [1, "bottom"] });
  },
);

test("many calls that nest at once all come through", { timeout: 30_000 }, async () => {
  await using script = nesting(8);
  const results = await Promise.all(Array.from({ length: 20 }, () => script.call({ fn: "Nest", args: [{ json: 1 }] })));
  expect(results.every((result) => result.kind === "returned" && JSON.stringify(result.value) === '[1,"bottom"]')).toBe(
    true,
  );
  expect(await script.call({ fn: "Wide" })).toMatchObject({ value: 6 });
  expect(script.host.workers).toBeLessThanOrEqual(8);
});

test("short calls at once share few workers", async () => {
  await using script = new ScriptHarness("function Create() { return 1; }");
  const results = await Promise.all(Array.from({ length: 200 }, () => script.value("Create")));
  expect(results.every((value) => value === 1)).toBe(true);
  // As many as processors, and a few where the machine is so busy that a short call takes long.
  expect(script.host.workers).toBeLessThanOrEqual(Math.max(2, availableParallelism()) + 3);
});

test("calls that run for long do not keep others from starting", async () => {
  await using script = new ScriptHarness("function Spin() { for (;;); } function Fine() { return 1; }");
  const ending = new AbortController();
  const hogs = Array.from({ length: Math.max(2, availableParallelism()) }, () =>
    script.runUntil("Spin", ending.signal),
  );
  for (const hog of hogs) hog.catch(() => undefined);
  await until(() => script.host.workers === hogs.length);
  expect(await script.value("Fine")).toBe(1);
  ending.abort();
  await Promise.allSettled(hogs);
});

test("workers that are no longer needed end, and one stays", async () => {
  await using script = new ScriptHarness("function Create(ctx) { return ctx.BlockID(); }", {
    host: { idleMs: 50 },
    ops: { "ctx.BlockID": async () => await until(() => script.asked.length >= 4 && "B1") },
  });
  await Promise.all(Array.from({ length: 4 }, () => script.value("Create")));
  await until(() => script.host.workers === 1);
  expect(await script.value("Create")).toBe("B1");
});

test("outermost calls leave workers to nested ones", async () => {
  await using script = new ScriptHarness("function Wait(ctx) { ctx.BlockID(); } function Fine() { return 1; }", {
    host: { maxWorkers: 4 },
    ops: { "ctx.BlockID": async () => await new Promise(() => undefined) },
  });
  const ending = new AbortController();
  const outer = Array.from({ length: 6 }, () => script.runUntil("Wait", ending.signal));
  for (const call of outer) call.catch(() => undefined);
  await until(() => script.asked.length === 2);
  expect(await script.call({ fn: "Fine", depth: 1 })).toMatchObject({ value: 1 });
  expect(script.asked).toHaveLength(2);
  ending.abort();
  await Promise.allSettled(outer);
});

test("many calls that nest three deep all end, however few the workers", async () => {
  await using script = new ScriptHarness(
    "function Nest(ctx) { return ctx.agent.Call('next', []).content; } function Leaf() { return 1; }",
    {
      host: { maxWorkers: 6 },
      ops: {
        "agent.Call": async () => {
          const inner = async (depth: number): Promise<void> => {
            await script.call({ fn: "Leaf", depth });
          };
          await inner(1);
          await inner(2);
          return { agent_id: "next", content: "done" };
        },
      },
    },
  );
  const ended = await Promise.all(Array.from({ length: 30 }, () => script.value("Nest")));
  expect(ended.every((value) => value === "done")).toBe(true);
});
