import type { Json } from "@mesh/kernel";
import { expect, test } from "vitest";

import { ScriptHarness } from "../testing/script-harness.ts";

/** Expressions that must not give what they are after; each gives its result, or the error it met. */
const ESCAPES: Readonly<Record<string, string>> = {
  "this.constructor.constructor": "this.constructor.constructor('return process')()",
  "globalThis.constructor": "globalThis.constructor.constructor('return process')()",
  Function: "Function('return process')()",
  "compiling anything": "Function('return 1')()",
  "evaluating anything": "eval('1')",
  eval: "eval('process')",
  "indirect eval": "(0, eval)('process')",
  "async function constructor": "(async () => {}).constructor('return process')()",
  "generator constructor": "(function* () {}).constructor('return process')().next().value",
  "constructor of an API function": "ctx.Send.constructor('return process')()",
  "constructor of a deeper API function": "ctx.memory.user.Get.constructor.constructor('return process')()",
  "constructor of a result": "ctx.agent.Call('x', []).constructor.constructor('return process')()",
  "constructor of an operation's error":
    "(() => { try { Process('fails'); } catch (e) { return e.constructor.constructor('return process')(); } })()",
  "constructor of a callback's argument":
    "(() => { let r; ctx.agent.Call('chunks', [], (m) => { r = m.constructor.constructor('return process')(); }); return r; })()",
  process: "process",
  require: "globalThis['require']('fs')",
  module: "globalThis['module'].constructor._load('fs')",
  Buffer: "Buffer.from('x')",
  setTimeout: "setTimeout(() => {}, 1)",
  queueMicrotask: "queueMicrotask(() => {})",
  fetch: "fetch('http://localhost')",
  WebAssembly: "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))",
  SharedArrayBuffer: "new SharedArrayBuffer(8)",
  Atomics: "Atomics.wait(new Int32Array(4), 0, 0)",
  FinalizationRegistry: "new FinalizationRegistry(() => {})",
  structuredClone: "structuredClone({})",
  gc: "gc()",
};

const SCRIPT = `
  const show = (value) => (typeof value === "object" || typeof value === "function" ? "an object: " + Object.keys(value).slice(0, 5) : "value: " + String(value));
  ${Object.entries({ ...ESCAPES, control: "1 + 1" })
    .map(([name, code]) => `function ${identifier(name)}(ctx) { return show(${code}); }`)
    .join("\n")}
`;

function identifier(name: string): string {
  return `attempt_${name.replaceAll(/\W/g, "_")}`;
}

test("no way out of the context that is known to have worked elsewhere works", async () => {
  await using script = new ScriptHarness(SCRIPT, {
    ops: {
      "process.Call": () => {
        throw new Error("fails");
      },
      "agent.Call": async ([agent, , , callback], io) => {
        if (agent === "chunks") await io.callback(callback as number, [{ type: "text" }]);
        return { agent_id: "x" };
      },
    },
  });
  expect(await script.value(identifier("control"))).toBe("value: 2");
  const outcomes: Record<string, string> = {};
  for (const name of Object.keys(ESCAPES)) {
    outcomes[name] = await script.value(identifier(name)).then(String, (error: Error) => `refused: ${error.message}`);
  }
  for (const [name, outcome] of Object.entries(outcomes)) expect(`${name} ${outcome}`).toMatch(/refused: /);
});

test("the stack of an error shows no object of the host: prepareStackTrace cannot be taken over", async () => {
  await using script = new ScriptHarness(
    `
    function Create(ctx) {
      const seen = [];
      try { Error.prepareStackTrace = (error, sites) => { seen.push(...sites); return "taken"; }; } catch (e) { seen.push("refused"); }
      try { Object.defineProperty(Error, "prepareStackTrace", { value: () => seen.push("called") }); } catch (e) { seen.push("refused"); }
      const holder = {};
      Error.captureStackTrace(holder);
      ctx.agent.Call("x", [], () => { seen.push(typeof new Error("x").stack); });
      return [seen, typeof holder.stack];
    }
  `,
    { ops: { "agent.Call": async ([, , , callback], io) => (await io.callback(callback as number, [])) ?? null } },
  );
  const [seen, stack] = (await script.value("Create")) as [string[], string];
  expect(new Set(seen)).toEqual(new Set(["refused", "string"]));
  expect(stack).toBe("string");
});

test("a stack overflow at the very edge of the host function gives an error of the script's own realm", async () => {
  await using script = new ScriptHarness(`
    function Create(ctx) {
      let overflows = 0;
      const foreign = [];
      const check = (e) => { if (!(e instanceof Error)) foreign.push(Object.prototype.toString.call(e)); };
      const dive = (n) => { if (n > 0) dive(n - 1); else ctx.MessageID(); };
      const fits = (n) => { try { dive(n); return true; } catch (e) { check(e); return false; } };
      for (let i = 0; i < 200; i++) fits(1_000);
      let limit = 1;
      while (fits(limit * 2)) limit *= 2;
      for (let step = Math.floor(limit / 2); step >= 1; step = Math.floor(step / 2)) if (fits(limit + step)) limit += step;
      // Every way to run out of stack between the script and the host function, and some more.
      for (let spare = -60; spare < 60; spare++) if (!fits(limit - spare)) overflows++;
      return [overflows > 0 && overflows < 120, foreign];
    }
  `);
  expect(await script.value("Create")).toEqual([true, []]);
});

test("what a script does to its own built-ins reaches neither the host nor the next call", async () => {
  await using script = new ScriptHarness(`
    function Poison(ctx) {
      Object.prototype.polluted = "yes";
      JSON.stringify = () => "not json";
      JSON.parse = () => ({ evil: true });
      Array.prototype.map = () => { throw new Error("map"); };
      Array.isArray = () => true;
      String.prototype.startsWith = () => true;
      Promise.prototype.then = () => {};
      Map.prototype.get = () => { throw new Error("get"); };
      Object.freeze = Object.keys = Reflect.get = () => { throw new Error("no"); };
      try { ctx.Send("hello"); } catch {}
      return 1;
    }
    function Clean(ctx) { ctx.Send("fine"); return [({}).polluted, typeof [].map]; }
  `);
  expect(await script.value("Poison")).toBe(1);
  expect(await script.value("Clean")).toEqual([null, "function"]);
  expect(({} as { polluted?: string }).polluted).toBeUndefined();
  expect(script.asked.at(-1)).toEqual(["ctx.Send", "fine", null]);
});

test("keys that name a prototype are dropped on the way out and are plain data on the way in", async () => {
  const poisoned = JSON.parse('{"__proto__": {"polluted": 1}, "a": {"__proto__": {"deep": 1}, "b": 2}}') as Json;
  await using script = new ScriptHarness(
    `
    function Create(ctx, value) {
      ctx.Set("M1", JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "ok": 1}'), "p");
      return { polluted: ({}).polluted, own: Object.keys(value), value, answer: ctx.memory.user.Get("k") };
    }
  `,
    { ops: { "memory.Get": () => poisoned } },
  );
  const value = (await script.value("Create", poisoned)) as {
    own: string[];
    value: Json;
    answer: Json;
    polluted?: Json;
  };
  expect(value.own).toEqual(["__proto__", "a"]);
  expect(Object.keys(value.value as object)).toEqual(["a"]);
  expect(value.polluted).toBeUndefined();
  const [, , sent] = script.asked[0]!;
  expect(Object.keys(sent as object)).toEqual(["constructor", "ok"]);
  expect(Object.getPrototypeOf(sent)).toBe(Object.prototype);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test.each([
  ["a getter that throws", "{ type: 'text', get props() { throw new Error('getter') } }", "getter"],
  ["a toJSON that throws", "{ type: 'text', toJSON() { throw new Error('toJSON') } }", "toJSON"],
  ["a circle", "(() => { const m = { type: 'text' }; m.m = m; return m; })()", "circular"],
  ["a bigint", "{ type: 'text', n: 1n }", "BigInt"],
  ["a proxy that refuses", "new Proxy({ type: 'text' }, { ownKeys() { throw new Error('ownKeys') } })", "ownKeys"],
  ["a revoked proxy", "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy; })()", "revoked"],
  [
    "endless depth",
    "(() => { const m = { type: 'text' }; let at = m; for (let i = 0; i < 1e5; i++) at = at.m = {}; return m; })()",
    "call stack",
  ],
])("a message with %s fails in the script, and the script can go on", async (_what, message, reason) => {
  await using script = new ScriptHarness(`
    function Create(ctx) { let text; try { ctx.Send(${message}); } catch (e) { text = String(e.message); } ctx.Send("after"); return text; }
  `);
  expect(await script.value("Create")).toContain(reason);
  expect(script.asked).toEqual([["ctx.Send", "after", null]]);
});

test("a toJSON that lies, and keys of any name, arrive as the data they are", async () => {
  await using script = new ScriptHarness(`
    function Create(ctx) {
      ctx.Send({ type: "text", toJSON: () => ({ type: 5, "\\u0000": 1, "hasOwnProperty": 2 }) });
      return { toString: 1, valueOf: 2, toJSON: 3 };
    }
  `);
  expect(await script.value("Create")).toEqual({ toString: 1, valueOf: 2, toJSON: 3 });
  expect(script.asked).toEqual([["ctx.Send", { type: 5, "\0": 1, hasOwnProperty: 2 }, null]]);
});

test("operations that do not exist, and arguments of the wrong kind, are refused by the host", async () => {
  await using script = new ScriptHarness(`
    function Create(ctx) {
      const attempts = [() => ctx.EndBlock({}), () => ctx.memory.user.Incr("n", "1"), () => ctx.mcp.CallTool(5, "t"), () => ctx.Send(5), () => ctx.Set("M1", 1)];
      const tried = (f) => { try { f(); return "accepted"; } catch (e) { return e.message; } };
      const out = attempts.map(tried);
      // Arguments are checked again outside: the checks in here can be undone.
      Array.isArray = () => true;
      return [...out, tried(() => ctx.mcp.All("no list"))];
    }
  `);
  expect(await script.value("Create")).toEqual([
    "ctx.EndBlock: block_id must be a string, not an object",
    "ctx.memory.user: the delta must be a number, not a string",
    "the MCP client's id must be a string, not a number",
    'ctx.Send: the message must be a string, or an object with a "type"',
    "ctx.Set: path must be a string, not undefined",
    "mcp.All: argument 1 must be a list",
  ]);
  expect(script.asked).toEqual([]);
});
