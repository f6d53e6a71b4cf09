import { MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import { ScriptHarness, SEED } from "../testing/script-harness.ts";
import { ScriptError } from "./script-error.ts";

async function failure(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => new Error("it did not fail"),
    (error: Error) => error,
  );
}

test("a function gets its arguments and gives its result; undefined and null are told apart", async () => {
  await using script = new ScriptHarness(`
    function Create(ctx, messages, options) { return { id: ctx.assistant_id, messages, options }; }
    function Nothing() {}
    function Null() { return null; }
    function Fn() { return () => 1; }
  `);
  expect(await script.run("Create", [{ role: "user" }], { mode: "chat" })).toMatchObject({
    kind: "returned",
    value: { id: "tests.assistant", messages: [{ role: "user" }], options: { mode: "chat" } },
  });
  expect(await script.value("Nothing")).toBeUndefined();
  expect(await script.value("Null")).toBeNull();
  expect(await script.value("Fn")).toBeUndefined();
});

test("a function that is not there is an outcome, a typo inside one is an error", async () => {
  await using script = new ScriptHarness("function Create() { return notDefined(); }");
  expect(await script.run("Next")).toEqual({ kind: "missing", functions: ["Create"] });
  expect(await script.run("toString")).toMatchObject({ kind: "missing" });
  expect(await script.run("__proto__")).toMatchObject({ kind: "missing" });
  expect((await failure(script.run("Create"))).message).toBe("notDefined is not defined (src/index.ts:1:21)");
});

test("every call starts anew: no state of a module, a global or a prototype survives", async () => {
  await using script = new ScriptHarness(`
    let calls = 0;
    function Count() {
      const before = [calls, globalThis.mark, Array.prototype.mark, Object.prototype.mark];
      calls++;
      globalThis.mark = Array.prototype.mark = Object.prototype.mark = 1;
      return before;
    }
  `);
  for (let i = 0; i < 3; i += 1) expect(await script.value("Count")).toEqual([0, null, null, null]);
});

test("async functions are awaited, with operations in between", async () => {
  await using script = new ScriptHarness(
    `
    async function Create(ctx) {
      const id = await Promise.all([1, 2].map(async (n) => { await null; return ctx.Send("m" + n); }));
      return { id };
    }
    async function Never() { await new Promise(() => {}); }
    async function Fails() { await null; throw new Exception("no", 404); }
    function Thenable() { return { then(resolve) { resolve(7); resolve(8); } }; }
    function BadThenable() { return { then() { throw new Error("in then"); } }; }
  `,
    { ops: { "ctx.Send": ([text]) => `id of ${text as string}` } },
  );
  expect(await script.value("Create")).toEqual({ id: ["id of m1", "id of m2"] });
  expect((await failure(script.run("Never"))).message).toContain("a promise that nothing will ever settle");
  expect(await failure(script.run("Fails"))).toMatchObject({ reason: "no", exceptionCode: 404, at: { line: 7 } });
  expect(await script.value("Thenable")).toBe(7);
  expect((await failure(script.run("BadThenable"))).message).toContain("in then");
});

test("an error carries name, code, message, and file, line and column of the user's TypeScript", async () => {
  await using script = new ScriptHarness(
    `import { fail } from "./lib/fail";
interface Unused { readonly a: string }

export function Create(): void {
  const call = (): void => fail({ reason: "broken" });
  call();
}`,
    {
      files: {
        "src/lib/fail.ts": `
type Options = { reason: string };
export function fail(options: Options): never {
  throw new Exception(options.reason, 403);
}`,
      },
    },
  );
  const error = await failure(script.run("Create"));
  expect(error).toBeInstanceOf(ScriptError);
  expect(error).toMatchObject({
    code: "unknown",
    message: "broken (src/lib/fail.ts:4:9)",
    reason: "broken",
    thrownName: "Exception",
    exceptionCode: 403,
    at: { file: "src/lib/fail.ts", line: 4, column: 9 },
    frames: "at fail (src/lib/fail.ts:4:9)\nat call (src/index.ts:5:28)\nat Create (src/index.ts:6:3)",
  });
});

test("an error while the script is loaded is the script's error", async () => {
  await using script = new ScriptHarness("export function Create() {}\nthrow new RangeError('at load');");
  expect((await failure(script.run("Create"))).message).toBe("at load (src/index.ts:2:7)");
});

test.each([
  ["a text", "'plain'", "plain"],
  ["null", "null", "null"],
  ["an object", "{ message: 'm', code: 9 }", "m"],
  ["an object without a message", "{ a: 1 }", '{"a":1}'],
  ["a symbol", "Symbol('s')", "Symbol(s)"],
  [
    "an error with a getter that throws",
    "Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })",
    "cannot be read",
  ],
  ["a proxy that refuses everything", "new Proxy({}, { get() { throw 1 }, has() { throw 1 } })", "cannot be read"],
  ["an error with an endless message", "new Error('x'.repeat(1e6))", "…"],
])("throwing %s is reported as what can be read of it", async (_what, thrown, message) => {
  await using script = new ScriptHarness(`function Create() { throw ${thrown}; }`);
  const error = await failure(script.run("Create"));
  expect(error).toBeInstanceOf(ScriptError);
  expect(error.message).toContain(message);
  expect(error.message.length).toBeLessThan(10_000);
});

test("a failed operation is an Exception with message and code; internal errors are told to the host alone", async () => {
  const internal: string[] = [];
  await using script = new ScriptHarness(
    `
    const caught = (f) => { try { f(); } catch (e) { return [e instanceof Error, e instanceof Exception, e.name, e.code, e.message]; } };
    function Create(ctx) { return [caught(() => ctx.Send("a")), caught(() => Process("x")), caught(() => ctx.EndBlock("B1"))]; }
    function Uncaught(ctx) { ctx.Send("a"); }
  `,
    {
      ops: {
        "ctx.Send": () => {
          throw new MeshError("not_found", "There is no such thing");
        },
        "process.Call": async () => await Promise.reject(new Error("secret of the host")),
        "ctx.EndBlock": () => ({ toJSON: () => 1n }) as never,
      },
      deps: { onInternalError: (error, op) => void internal.push(`${op}: ${error.message}`) },
    },
  );
  expect(await script.value("Create")).toEqual([
    [true, true, "Exception", "not_found", "There is no such thing"],
    [true, true, "Exception", "internal", "process.Call failed inside the system; the operator's log says why"],
    [true, true, "Exception", "internal", "ctx.EndBlock failed inside the system; the operator's log says why"],
  ]);
  expect(internal).toEqual(["process.Call: secret of the host", "ctx.EndBlock: Do not know how to serialize a BigInt"]);
  expect(await failure(script.run("Uncaught"))).toMatchObject({ code: "not_found", at: { line: 4 } });
});

test("callbacks run while their operation is pending, may operate themselves, and may throw", async () => {
  await using script = new ScriptHarness(
    `
    function Create(ctx) {
      const seen = [];
      const result = ctx.agent.Call("other", [], {
        mode: "task",
        onChunk: (message) => {
          seen.push(message.text);
          if (message.text === "throw") throw new Exception("from the callback", 7);
          ctx.Send(message.text);
          return seen.length;
        },
      });
      return { seen, result };
    }
    function Late(ctx) { let calls = 0; ctx.agent.Call("late", [], { onChunk: () => ++calls }); time.Sleep(1); return calls; }
  `,
    {
      ops: {
        "agent.Call": async ([agent, , options, callback], io) => {
          const one = io.callback(callback as number, [{ text: "one" }]);
          if (agent === "late") return { agent_id: "late" };
          const [first, second] = await Promise.all([one, io.callback(callback as number, [{ text: "two" }])]);
          const thrown = await failure(io.callback(callback as number, [{ text: "throw" }]));
          return { options: options ?? null, first: first ?? null, second: second ?? null, thrown: thrown.message };
        },
      },
    },
  );
  expect(await script.value("Create")).toEqual({
    seen: ["one", "two", "throw"],
    result: { options: { mode: "task" }, first: 1, second: 2, thrown: "from the callback (src/index.ts:8:47)" },
  });
  expect(script.asked.map(([op]) => op)).toEqual(["agent.Call", "ctx.Send", "ctx.Send"]);
  expect(await script.value("Late")).toBe(1);
});

test("a callback that operates is not disturbed by chunks that come meanwhile", async () => {
  await using script = new ScriptHarness(
    `
    function Create(ctx) {
      const order = [];
      ctx.agent.Call("a", [], (m) => {
        order.push("in " + m);
        ctx.Send("x");
        order.push("out " + m);
      });
      return order;
    }
  `,
    {
      ops: {
        "agent.Call": async ([, , , callback], io) => {
          await Promise.all([1, 2, 3].map((n) => io.callback(callback as number, [n])));
          return null;
        },
        "ctx.Send": async () => await new Promise((resolve) => setImmediate(() => resolve("M1"))),
      },
    },
  );
  expect(await script.value("Create")).toEqual(["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"]);
});

test("memory of the request is seeded, kept between calls, and seen by nested calls and after them", async () => {
  await using script = new ScriptHarness(
    `
    function Create(ctx) {
      const m = ctx.memory.context;
      m.Set("from", "create"); m.Incr("n"); m.Push("list", [1]);
      const inner = Process("nested");
      return { inner, n: m.Get("n"), list: m.ArrayAll("list"), left: ctx.space.GetDel("left"), gone: m.Has("left") };
    }
    function Nested(ctx) {
      const m = ctx.memory.context;
      ctx.space.Set("left", "by nested"); m.Incr("n", 10); m.Push("list", [2]);
      return m.Get("from");
    }
    function Next(ctx) { return ctx.memory.context.Keys(); }
  `,
    { ops: { "process.Call": async () => await script.value("Nested") } },
  );
  expect(await script.value("Create")).toEqual({
    inner: "create",
    n: 11,
    list: [1, 2],
    left: "by nested",
    gone: false,
  });
  expect(await script.value("Next")).toEqual(["from", "n", "list"]);
});

test("a call says how many operations it made", async () => {
  await using script = new ScriptHarness(
    "function Create(ctx) { for (let i = 0; i < 5; i++) ctx.Send('x'); ctx.memory.context.Set('a', 1); }",
  );
  expect(await script.run("Create")).toMatchObject({ stats: { operations: 5 } });
});

test("a script can be called without a ctx, and without memory", async () => {
  await using script = new ScriptHarness("export function Add(a, b) { return a + b; }");
  expect(await script.call({ fn: "Add", args: [{ json: 1 }, { json: 2 }] })).toMatchObject({ value: 3 });
  await using other = new ScriptHarness("export function Create(ctx) { return ctx.memory.context.Incr('n'); }");
  const { contextMemory: _, ...call } = { fn: "Create", args: [{ ctx: SEED }], contextMemory: undefined };
  expect(await other.call(call)).toMatchObject({ value: 1 });
});

test("after close, calls are refused", async () => {
  const script = new ScriptHarness("function Create() { return 1; }");
  expect(await script.value("Create")).toBe(1);
  await script.host.close();
  await expect(script.run("Create")).rejects.toMatchObject({ code: "unavailable" });
  await script.host.close();
});
