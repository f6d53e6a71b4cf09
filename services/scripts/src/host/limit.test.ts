import { expect, test } from "vitest";

import { ScriptHarness } from "../testing/script-harness.ts";
import type { ScriptLimitError } from "./script-error.ts";

async function failure(promise: Promise<unknown>): Promise<ScriptLimitError> {
  return await promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (error: ScriptLimitError) => error,
  );
}

test("an endless loop is ended with the line it was at, and the next call is fine", async () => {
  await using script = new ScriptHarness(
    `import { spin } from "./spin";
export function Create() { spin(); }
export function Fine() { return 1; }`,
    {
      host: { limits: { runMs: 200 } },
      files: {
        "src/spin.ts": "export function spin(): never {\n  let turns: number = 0;\n  for (;;) {\n    turns++;\n  }\n}",
      },
    },
  );
  const error = await failure(script.run("Create"));
  expect(error).toMatchObject({ name: "ScriptLimitError", code: "resource_exhausted", limit: "runMs" });
  expect(error.message).toMatch(/^test Create ran for more than 0\.2 s without ending \(at src\/spin\.ts:[34]:\d+\)$/);
  expect(await script.value("Fine")).toBe(1);
});

test.each([
  ["microtasks that never end", "const turn = () => Promise.resolve().then(turn); await turn();"],
  ["a regular expression that never ends", "/(a+)+$/.test('a'.repeat(60) + 'b');"],
  ["catching everything in a loop", "for (;;) { try { null.x; } catch {} }"],
])("%s: ended as well", async (_what, code) => {
  await using script = new ScriptHarness(`async function Create() { ${code} }`, { host: { limits: { runMs: 200 } } });
  expect(await failure(script.run("Create"))).toMatchObject({ limit: "runMs" });
});

test("an endless callback is ended while its operation waits", async () => {
  await using script = new ScriptHarness("function Create(ctx) { ctx.agent.Call('x', [], () => { for (;;); }); }", {
    host: { limits: { runMs: 200 } },
    ops: { "agent.Call": async ([, , , callback], io) => (await io.callback(callback as number, [])) ?? null },
  });
  expect(await failure(script.run("Create"))).toMatchObject({ limit: "runMs" });
});

test("time in operations and in sleep does not count", async () => {
  await using script = new ScriptHarness(
    "function Create(ctx) { for (let i = 0; i < 3; i++) { ctx.Send('x'); time.Sleep(300); } return 1; }",
    {
      host: { limits: { runMs: 600 } },
      ops: { "ctx.Send": async () => await new Promise((resolve) => setTimeout(() => resolve("M1"), 300)) },
    },
  );
  const result = await script.run("Create");
  expect(result).toMatchObject({ value: 1 });
  expect(result.kind === "returned" && result.stats.runMs).toBeLessThan(600);
});

test("a million sends end the call at the limit, not the process", async () => {
  await using script = new ScriptHarness(
    "function Create(ctx) { for (let i = 0; i < 1e6; i++) { try { ctx.Send('x'); } catch {} } }",
    {
      host: { limits: { operations: 1_000 } },
    },
  );
  const error = await failure(script.run("Create"));
  expect(error).toMatchObject({ limit: "operations" });
  expect(error.message).toContain("asked for more than 1000 operations");
  expect(script.asked).toHaveLength(1_000);
});

test("output, results, arguments and answers are bounded", async () => {
  await using script = new ScriptHarness(
    `
    function Output(ctx) { for (;;) ctx.Send("x".repeat(1000)); }
    function Memory(ctx) { ctx.memory.context.Set("big", "x".repeat(10_000)); }
    function Callback(ctx) { ctx.agent.Call("a", [], () => "x".repeat(10_000)); }
    function Result() { return "x".repeat(10_000); }
    function Arguments() { return 1; }
    function Answer(ctx) { try { ctx.memory.user.Get("k"); } catch (e) { return e.message; } }
  `,
    {
      host: { limits: { outputBytes: 5_000, resultBytes: 5_000, argumentBytes: 5_000, answerBytes: 5_000 } },
      ops: {
        "memory.Get": () => "x".repeat(10_000),
        "agent.Call": async ([, , , callback], io) => (await io.callback(callback as number, [])) ?? null,
      },
    },
  );
  for (const fn of ["Output", "Memory", "Callback"]) {
    expect(await failure(script.run(fn))).toMatchObject({ limit: "outputBytes" });
  }
  expect(await failure(script.run("Result"))).toMatchObject({ limit: "resultBytes" });
  expect((await failure(script.run("Arguments", "x".repeat(10_000)))).message).toContain(
    "The arguments of test Arguments",
  );
  expect(await script.value("Answer")).toBe("The answer of memory.Get has 10002 bytes; a script takes up to 5000");
});

test("calls nested too deep are refused", async () => {
  await using script = new ScriptHarness("function Create() {}", { host: { maxDepth: 3 } });
  await expect(script.call({ fn: "Create", depth: 4 })).rejects.toMatchObject({ limit: "depth" });
  await expect(script.call({ fn: "Create", depth: 3 })).resolves.toMatchObject({ kind: "returned" });
});

test.each([
  ["objects", "const a = []; for (;;) a.push({});"],
  ["texts", "const a = []; for (let i = 0; ; i++) a.push(JSON.stringify(('y' + i).repeat(1e5)));"],
  ["a map", "const m = new Map(); for (let i = 0; ; i++) m.set(i, i);"],
  ["arrays", "const a = []; for (;;) a.push(new Array(1e6).fill(1.5));"],
])("memory filled with %s ends the call, not the process", { timeout: 60_000 }, async (_what, code) => {
  await using script = new ScriptHarness(`function Create() { ${code} } function Fine() { return 1; }`, {
    host: { heapMb: 64 },
  });
  const error = await failure(script.run("Create"));
  expect(error).toMatchObject({ limit: "heap", code: "resource_exhausted" });
  expect(await script.value("Fine")).toBe(1);
});

test("a list of numbers without end is refused or ended, whichever comes first", async () => {
  await using script = new ScriptHarness(
    "function Create() { const a = []; for (;;) a.push(1); } function Fine() { return 1; }",
  );
  expect((await failure(script.run("Create"))).message).toMatch(
    /elements is larger than a script may use|filled \d+ MB of memory/,
  );
  expect(await script.value("Fine")).toBe(1);
});

test.each([
  ["a huge array", "new Array(1e9).fill(0)", "An array of 1000000000 elements"],
  ["a huge list of nothing", "Array.from({ length: 1e9 })", "An array of 1000000000 elements"],
  ["a borrowed method on a lie", "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", "elements is larger"],
  ["a text taken apart", "'x'.repeat(5e8).split('')", "too long to be taken apart"],
  ["a huge text", "'x'.repeat(2 ** 30)", "Invalid string length"],
  ["a huge buffer", "new Uint8Array(1e9)", "no room for a buffer of 1000000000 bytes"],
  ["a huge buffer of words", "new Float64Array(2e8)", "no room for a buffer"],
  ["a resizable buffer", "new ArrayBuffer(1, { maxByteLength: 1e9 })", "no room for a buffer"],
  ["many buffers", "(() => { const all = []; for (;;) all.push(new Uint8Array(8e6)); })()", "no room for a buffer"],
  [
    "copies of a buffer",
    "(() => { const all = [new Uint8Array(8e6)]; for (;;) all.push(all[0].slice()); })()",
    "no room for a buffer",
  ],
  ["a buffer of NaN bytes", "new ArrayBuffer(NaN).byteLength", "0"],
])("%s is refused before it is made", async (_what, code, message) => {
  await using script = new ScriptHarness(
    `function Create() { try { return String(${code}); } catch (e) { return e.message; } }`,
    {
      host: { bufferMb: 64 },
    },
  );
  expect(await script.value("Create")).toContain(message);
});

test("bounded built-ins work as ever on ordinary values", async () => {
  await using script = new ScriptHarness(`
    class Bytes extends Uint8Array { sum() { return this.reduce((a, b) => a + b, 0); } }
    function Create() {
      const bytes = new Uint8Array([1, 2, 300]);
      const view = new Uint16Array(bytes.buffer, 0, 1);
      return [
        [3, 1, 2].toSorted(), [1, [2]].flat(), "a,b".split(","), "aXb".replace(/x/i, "-"), Array.from("ab"), Array.from({ length: 2 }, (_, i) => i),
        [...bytes], bytes instanceof Uint8Array, bytes.constructor === Uint8Array, [...bytes.slice(1)], view.length,
        new Bytes(3).fill(2).sum(), [...Uint8Array.from([7])], Array.prototype.map.name, Array.prototype.map.length, Uint8Array.BYTES_PER_ELEMENT,
        btoa("héllo"), atob(btoa("\\u0000\\u00ff!")).length, [1, 2, 3].includes(2),
      ];
    }
  `);
  expect(await script.value("Create")).toEqual([
    [1, 2, 3],
    [1, 2],
    ["a", "b"],
    "a-b",
    ["a", "b"],
    [0, 1],
    [1, 2, 44],
    true,
    true,
    [2, 44],
    1,
    6,
    [7],
    "map",
    1,
    1,
    "aOlsbG8=",
    3,
    true,
  ]);
});

test("bounded built-ins have the names, the parameters and the attributes of the originals", async () => {
  const look = `(holder) => Object.fromEntries(Reflect.ownKeys(holder).filter((key) => typeof key === "string").flatMap((key) => {
    const { value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(holder, key);
    return typeof value === "function" && key !== "constructor" ? [[key, [value.name, value.length, writable, enumerable, configurable, "prototype" in value]]] : [];
  }))`;
  const holders =
    "[Array, Array.prototype, String.prototype, ArrayBuffer.prototype, Object.getPrototypeOf(Uint8Array).prototype]";
  await using script = new ScriptHarness(`function Create() { return ${holders}.map(${look}); }`);
  const { runInNewContext } = await import("node:vm");
  const originals = JSON.parse(runInNewContext(`JSON.stringify(${holders}.map(${look}))`) as string) as unknown;
  expect(await script.value("Create")).toEqual(originals);
});
