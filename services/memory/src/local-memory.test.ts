import { expect, test } from "vitest";

import { LocalMemory } from "./local-memory.ts";

test("keys are listed, counted, deleted by pattern and cleared", () => {
  const memory = new LocalMemory(() => 0);
  for (const key of ["a:1", "a:2", "b", "__proto__"]) memory.call("Set", [key, key]);
  expect(memory.call("Keys", [])).toEqual(["a:1", "a:2", "b", "__proto__"]);
  expect(memory.call("Keys", ["a:*"])).toEqual(["a:1", "a:2"]);
  memory.call("Del", ["a:*"]);
  expect(memory.call("Len", [])).toBe(2);
  expect(memory.call("Get", ["__proto__"])).toBe("__proto__");
  memory.call("Clear", []);
  expect(memory.call("Keys", [])).toEqual([]);
});

test("what has ended is not counted and not handed on", () => {
  let now = 0;
  const memory = new LocalMemory(() => now);
  memory.call("Set", ["short", 1, 10]);
  memory.call("Set", ["long", 2]);
  const copy = new LocalMemory(() => now, memory.entries());
  now = 10_000;
  expect(copy.call("Len", [])).toBe(1);
  expect(memory.entries()).toEqual([["long", { value: 2, expiresAt: null }]]);
});

test("an unknown method is an error, also one that every object has", () => {
  const memory = new LocalMemory(() => 0);
  for (const method of ["toString", "constructor", "get"]) {
    expect(() => memory.call(method, ["k"])).toThrow(`memory has no method ${method}`);
  }
});

test("every changed key is told of, and whether it was there before", () => {
  let now = 0;
  const told: unknown[] = [];
  const memory = new LocalMemory(() => now, [["ends", { value: 1, expiresAt: 5 }]], {
    onChange: ({ key, method, args, existed, after }) => told.push([key, method, args, existed, after?.value]),
  });
  memory.call("Incr", ["ends", 2]);
  now = 5;
  memory.call("Get", ["ends"]);
  memory.call("Incr", ["ends"]);
  expect(() => memory.call("Push", ["ends", 1])).toThrow("a list");
  memory.call("Del", ["en*"]);
  expect(told).toEqual([
    ["ends", "Incr", [2], true, 3],
    ["ends", "Incr", [], false, 1],
    ["ends", "Del", [], true, undefined],
  ]);
});

test("lists are changed in place for an owner only, and never by what is refused", () => {
  for (const isOwned of [true, false]) {
    const memory = new LocalMemory(() => 0, [], { isOwned });
    memory.call("Push", ["l", [1, 2]]);
    const list = memory.entry("l")?.value;
    memory.call("Push", ["l", [3]]);
    memory.call("ArraySet", ["l", 0, 0]);
    expect(memory.call("Pull", ["l", 1])).toEqual([3]);
    expect(() => memory.call("Push", ["l", "x".repeat(1024 * 1024)])).toThrow("larger than");
    expect(memory.call("ArrayAll", ["l"])).toEqual([0, 2]);
    expect(list).toEqual(isOwned ? [0, 2] : [1, 2]);
    expect(memory.call("PullAll", ["l"])).toEqual([0, 2]);
  }
});
