import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { ScriptHarness } from "../testing/script-harness.ts";

const NEST = `
  function Nest(left) { return left === 0 ? ["bottom"] : [left, ...Process("nest", left - 1)]; }
  function Tried(left) { try { return Nest(left); } catch (e) { return e.message; } }
  function Wide() { return All([1, 2, 3, 4, 5, 6].map((n) => ({ process: "nest", args: [0] }))).length; }
`;

function nesting(maxWorkers: number): ScriptHarness {
  const depthOf = new Map<AbortSignal, number>();
  const call = async (fn: string, left: Json, outer: AbortSignal): Promise<Json> => {
    const depth = (depthOf.get(outer) ?? 0) + 1;
    const inner = {
      invoke: (op: string, args: readonly Json[], io: { signal: AbortSignal }) => {
        depthOf.set(io.signal, depth);
        return script.ops.invoke(op, args, { ...io, callback: async () => await Promise.resolve(undefined) });
      },
    };
    const { program } = await programOf(script);
    const result = await script.host.call({ program, fn, args: [{ json: left }], label: "inner", depth }, inner, outer);
    return result.kind === "returned" ? (result.value ?? null) : null;
  };
  const script = new ScriptHarness(NEST, {
    host: { maxWorkers, maxDepth: 100 },
    ops: {
      "process.Call": async ([, args], io) => await call("Nest", (args as Json[])[0] ?? 0, io.signal),
      "process.All": async ([requests], io) =>
        await Promise.all((requests as Json[]).map(async () => ({ data: await call("Nest", 0, io.signal) }))),
    },
  });
  return script;
}

async function programOf(_script: ScriptHarness): Promise<{ program: import("../call.ts").ScriptProgram }> {
  const { ScriptBundler } = await import("../bundle/script-bundler.ts");
  return { program: await new ScriptBundler().bundle({ read: (path) => (path === "n.ts" ? NEST : undefined) }, "n.ts") };
}

test("a call nested in a call gets a worker of its own, and the pool grows for it", async () => {
  await using script = nesting(8);
  expect(await script.call({ fn: "Nest", args: [{ json: 5 }] })).toMatchObject({ value: [5, 4, 3, 2, 1, "bottom"] });
  expect(script.host.workers).toBe(6);
});

test("calls nested deeper than there are workers end with a reason instead of waiting for ever", { timeout: 20_000 }, async () => {
  await using script = nesting(3);
  const result = await script.call({ fn: "Tried", args: [{ json: 5 }] });
  expect(result).toMatchObject({ value: expect.stringContaining("All 3 script workers wait for other calls") as string });
  expect(await script.call({ fn: "Nest", args: [{ json: 1 }] })).toMatchObject({ value: [1, "bottom"] });
});

test("many calls that nest at once all come through", { timeout: 30_000 }, async () => {
  await using script = nesting(8);
  const results = await Promise.all(Array.from({ length: 20 }, () => script.call({ fn: "Nest", args: [{ json: 1 }] })));
  expect(results.every((result) => result.kind === "returned" && JSON.stringify(result.value) === '[1,"bottom"]')).toBe(true);
  expect(await script.call({ fn: "Wide" })).toMatchObject({ value: 6 });
  expect(script.host.workers).toBeLessThanOrEqual(8);
});
