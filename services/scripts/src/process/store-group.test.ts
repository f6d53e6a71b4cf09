import { type Json, MeshError } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { Scope } from "./process-caller.ts";
import type { ProcessRegistry } from "./process-registry.ts";
import type { StoreRequest } from "./store-port.ts";
import { callerOf } from "./testing/caller.ts";
import { NOW, standardFor } from "./testing/standard.ts";

type Run = (name: string, ...args: Json[]) => Promise<Json | undefined>;

function runOn(registry: ProcessRegistry, scope: Partial<Scope> = {}): Run {
  return (name, ...args) => registry.call(name, args, callerOf(scope));
}

/** Each step is a method, its arguments and what it must give. */
type Step = readonly [method: string, args: readonly Json[], result: Json];

test.each<[string, readonly Step[]]>([
  [
    "values",
    [
      ["Get", ["k"], null],
      ["Set", ["k", { a: 1 }], null],
      ["Get", ["k"], { a: 1 }],
      ["Has", ["k"], true],
      ["Has", ["constructor"], false],
      ["GetDel", ["k"], { a: 1 }],
      ["GetDel", ["k"], null],
      ["Has", ["k"], false],
    ],
  ],
  [
    "many at once",
    [
      ["SetMulti", [{ b: 2, a: 1, "a:x": 3 }], null],
      ["Keys", [], ["a", "a:x", "b"]],
      ["Len", [], 3],
      ["GetMulti", [["a", "none"]], { a: 1 }],
      ["DelMulti", [["a", "none"]], null],
      ["Keys", [], ["a:x", "b"]],
      ["Clear", [], null],
      ["Len", [], 0],
    ],
  ],
  [
    "patterns",
    [
      ["SetMulti", [{ "c:1": 1, "c:2": 1, "d:1": 1, "c.*": 1 }], null],
      ["Del", ["c:*"], null],
      ["Keys", [], ["c.*", "d:1"]],
      ["Del", ["d:1*1"], null],
      ["Keys", [], ["c.*", "d:1"]],
      ["Del", ["*:1*"], null],
      ["Keys", [], ["c.*"]],
      ["Del", ["x*y*z"], null],
      ["Del", ["*"], null],
      ["Len", [], 0],
    ],
  ],
  [
    "counters",
    [
      ["Incr", ["n"], 1],
      ["Incr", ["n", 5], 6],
      ["Decr", ["n"], 5],
      ["Decr", ["n", 10], -5],
      ["Set", ["n", "text"], null],
      ["Incr", ["n"], 1],
    ],
  ],
  [
    "lists",
    [
      ["ArrayLen", ["l"], 0],
      ["Pop", ["l"], null],
      ["PullAll", ["l", [1]], 0],
      ["Has", ["l"], false],
      ["Push", ["l", 1, 2], 2],
      ["Push", ["l", [3, 4]], 4],
      ["ArrayAll", ["l"], [1, 2, 3, 4]],
      ["Pop", ["l"], 4],
      ["Pop", ["l", -1], 1],
      ["Pop", ["l", 1], 3],
      ["ArrayAll", ["l"], [2]],
    ],
  ],
  [
    "sets and removal",
    [
      ["AddToSet", ["s", ["a", { x: 1, y: 2 }, "a"]], 2],
      ["AddToSet", ["s", { y: 2, x: 1 }, "b"], 3],
      ["ArrayAll", ["s"], ["a", { x: 1, y: 2 }, "b"]],
      ["Pull", ["s", "a"], 2],
      ["PullAll", ["s", ["b", { x: 1, y: 2 }]], 0],
      ["ArrayAll", ["s"], []],
    ],
  ],
  [
    "parts of lists",
    [
      ["Push", ["l", 0, 1, 2, 3, 4], 5],
      ["ArrayGet", ["l", 0], 0],
      ["ArrayGet", ["l", -1], 4],
      ["ArraySet", ["l", 1, "one"], null],
      ["ArraySlice", ["l", 1, 2], ["one", 2]],
      ["ArraySlice", ["l", 9, 2], []],
      ["ArrayPage", ["l", 1, 2], [0, "one"]],
      ["ArrayPage", ["l", 3, 2], [4]],
      ["ArrayPage", ["l", 4, 2], []],
    ],
  ],
])("a store keeps %s", async (_title, steps) => {
  const run = runOn(standardFor());
  for (const [method, args, result] of steps) {
    expect([method, args, await run(`stores.cache.${method}`, ...args)]).toEqual([method, args, result]);
  }
});

test.each<[string, readonly Json[], RegExp, string]>([
  ["stores.cache.Nope", [], /did you mean|no process/, "not_found"],
  ["stores..Get", ["k"], /a store's name/, "invalid_argument"],
  ["stores.session:user_2.Get", ["k"], /a store's name/, "invalid_argument"],
  ["stores.../etc.Get", ["k"], /a store's name/, "invalid_argument"],
  ["stores.cache.Get", [], /argument 1 \(key\) must be text/, "invalid_argument"],
  ["stores.cache.Get", [""], /a key has 1 to 512/, "invalid_argument"],
  ["stores.cache.Set", ["k".repeat(513), 1], /a key has 1 to 512/, "invalid_argument"],
  ["stores.cache.Set", ["a\u0000b", 1], /control character/, "invalid_argument"],
  ["stores.cache.Set", ["k", 1, -1], /a time to live/, "invalid_argument"],
  ["stores.cache.Set", ["k", 1, "soon"], /a time to live/, "invalid_argument"],
  ["stores.cache.Set", ["k", 1, 1e12], /a time to live/, "invalid_argument"],
  ["stores.cache.GetMulti", [Array.from({ length: 1001 }, String)], /at most 1000 keys/, "invalid_argument"],
  ["stores.cache.SetMulti", [{ "": 1 }], /a key has/, "invalid_argument"],
  ["stores.cache.ArraySlice", ["k", -1, 2], /must not be negative/, "invalid_argument"],
  ["stores.cache.ArrayPage", ["k", 0, 2], /counts from 1/, "invalid_argument"],
  ["stores.cache.ArrayGet", ["none", 0], /has 0 elements/, "out_of_range"],
  ["stores.cache.ArraySet", ["none", -1, 1], /has 0 elements/, "out_of_range"],
])("%s refuses bad arguments with a reason (row %#)", async (name, args, message, code) => {
  const error = await runOn(standardFor())(name, ...args).catch((it: unknown) => it);
  expect(error).toBeInstanceOf(MeshError);
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) as string });
});

test("a list operation on another kind of value fails and changes nothing", async () => {
  const run = runOn(standardFor());
  await run("stores.cache.Set", "k", "text");
  for (const [method, ...args] of [
    ["Push", 1],
    ["Pop"],
    ["Pull", 1],
    ["ArrayLen"],
    ["ArrayAll"],
    ["AddToSet", 1],
  ] as const) {
    await expect(run(`stores.cache.${method}`, "k", ...args)).rejects.toMatchObject({ code: "failed_precondition" });
  }
  expect(await run("stores.cache.Get", "k")).toBe("text");
});

test.each<[Json, number]>([
  [2, 2000],
  [{ seconds: 2 }, 2000],
  [{ ms: 1500 }, 1500],
])("a value with the time to live %j is gone after %d ms, not before", async (ttl, ms) => {
  let now = NOW;
  const run = runOn(standardFor({ clock: { now: () => now } }));
  await run("stores.cache.Set", "k", 1, ttl);
  await run("stores.cache.SetMulti", { m: 1 }, ttl);
  now += ms - 1;
  expect(await run("stores.cache.Incr", "k")).toBe(2);
  expect(await run("stores.cache.Len")).toBe(2);
  now += 1;
  expect(await run("stores.cache.Get", "k")).toBeNull();
  expect(await run("stores.cache.Len")).toBe(0);
});

test.each([null, 0])("a value with the time to live %j stays", async (ttl) => {
  let now = NOW;
  const run = runOn(standardFor({ clock: { now: () => now } }));
  await run("stores.cache.Set", "k", 1, ttl);
  now += 1e12;
  expect(await run("stores.cache.Get", "k")).toBe(1);
});

test("nobody changes a stored value through what they put in or got out", async () => {
  const run = runOn(standardFor());
  const value = { list: [1] };
  await run("stores.cache.Set", "k", value);
  value.list.push(2);
  const got = (await run("stores.cache.Get", "k")) as { list: number[] };
  got.list.push(3);
  expect(await run("stores.cache.Get", "k")).toEqual({ list: [1] });
});

test("a store that is full forgets what was written longest ago", async () => {
  const run = runOn(standardFor());
  for (let i = 0; i < 11; i += 1) {
    await run(
      "stores.cache.SetMulti",
      Object.fromEntries(Array.from({ length: 1000 }, (_, j) => [`k${i * 1000 + j}`, 1])),
    );
  }
  expect(await run("stores.cache.Len")).toBe(10_000);
  expect(await run("stores.cache.Has", "k999")).toBe(false);
  expect(await run("stores.cache.Has", "k1000")).toBe(true);
});

test("stores of two workspaces, and two stores of one, have nothing in common", async () => {
  const registry = standardFor();
  await runOn(registry)("stores.cache.Set", "k", 1);
  expect(await runOn(registry, { workspaceId: "ws_2" })("stores.cache.Keys")).toEqual([]);
  expect(await runOn(registry)("stores.other.Keys")).toEqual([]);
  expect(await runOn(registry, { userId: "user_2" })("stores.CACHE.Keys")).toEqual([]);
  expect(await runOn(registry, { userId: "user_2" })("stores.cache.Keys")).toEqual(["k"]);
});

test("a port gets the scope, the request and the signal of the caller", async () => {
  const seen: unknown[] = [];
  const registry = standardFor({
    stores: {
      call: (scope: Scope, request: StoreRequest, signal: AbortSignal) => {
        seen.push(scope.workspaceId, request, signal.aborted);
        return Promise.resolve("answer");
      },
    },
  });
  expect(await runOn(registry)("stores.agents.a.b.cache.set", "k", 1, 5)).toBe("answer");
  expect(seen).toEqual(["ws_1", { store: "agents.a.b.cache", op: "set", key: "k", value: 1, ttlMs: 5000 }, false]);
});

test("session keeps what a person has set, and knows the facts about the caller", async () => {
  const run = runOn(standardFor());
  await run("session.Set", "theme", "dark");
  await run("session.SetMany", { size: 2, __proto__x: 1 });
  expect(await run("session.Get", "theme")).toBe("dark");
  expect(await run("session.Get", "user_id")).toBe("user_1");
  expect(await run("session.Get", "none")).toBeNull();
  expect(await run("session.Has", "team_id")).toBe(true);
  expect(await run("session.Has", "none")).toBe(false);
  expect(await run("session.GetMany", ["theme", "locale", "none"])).toEqual({
    theme: "dark",
    locale: "en-us",
    none: null,
  });
  expect(await run("session.ID")).toBe("chat_1");
  await run("session.Del", "size");
  expect(await run("session.Dump")).toEqual({
    theme: "dark",
    __proto__x: 1,
    user_id: "user_1",
    team_id: "team_1",
    chat_id: "chat_1",
    locale: "en-us",
  });
});

test("the facts about a caller cannot be set, not even those that are missing", async () => {
  const run: Run = (name, ...args) =>
    standardFor().call(name, args, { ...callerOf(), scope: { workspaceId: "w", userId: "u", runId: "r" } });
  await expect(run("session.Set", "user_id", "user_2")).rejects.toThrow("a fact about the caller");
  await expect(run("session.Set", "team_id", "team_2")).rejects.toThrow("a fact about the caller");
  await expect(run("session.SetMany", { a: 1, chat_id: "c" })).rejects.toThrow('"chat_id" is a fact');
  await expect(run("session.Del", "locale")).rejects.toThrow("a fact");
  expect(await run("session.Get", "team_id")).toBeNull();
  expect(await run("session.ID")).toBe("r");
});

test("sessions of two people of one workspace have nothing in common", async () => {
  const registry = standardFor();
  await runOn(registry)("session.Set", "theme", "dark");
  expect(await runOn(registry, { userId: "user_2" })("session.Get", "theme")).toBeNull();
  expect(await runOn(registry, { chatId: "chat_2" })("session.Get", "theme")).toBe("dark");
});

test("a query is handed on with its connector, its method and the scope", async () => {
  const seen: unknown[] = [];
  const registry = standardFor({
    query: {
      run: (scope, request) => {
        seen.push([scope.userId, request]);
        return Promise.resolve([{ id: 1 }]);
      },
    },
  });
  const dsl = { select: ["id"], from: "$user" };
  expect(await runOn(registry)("query.main.db.get", dsl)).toEqual([{ id: 1 }]);
  await runOn(registry)("query.First", dsl);
  expect(seen).toEqual([
    ["user_1", { connector: "main.db", method: "Get", dsl }],
    ["user_1", { method: "First", dsl }],
  ]);
  await expect(runOn(registry)("query.main.Get", "select 1")).rejects.toThrow("argument 1 (query) must be an object");
});
