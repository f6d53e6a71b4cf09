import * as fc from "fast-check";
import { expect, test } from "vitest";

import { ContextMemory } from "./context-memory.ts";
import { MemoryNamespace } from "./memory-namespace.ts";

function namespace(): { memory: MemoryNamespace; pass: (ms: number) => void } {
  let now = 1_000;
  return { memory: new MemoryNamespace(() => now), pass: (ms) => (now += ms) };
}

test("a missing key is null, and values are copies both ways", () => {
  const { memory } = namespace();
  expect(memory.get("a")).toBeNull();
  const value = { list: [1] };
  memory.set("a", value, null);
  value.list.push(2);
  const got = memory.get("a") as { list: number[] };
  expect(got).toEqual({ list: [1] });
  got.list.push(3);
  expect(memory.get("a")).toEqual({ list: [1] });
  expect(memory.getDel("a")).toEqual({ list: [1] });
  expect(memory.has("a")).toBe(false);
});

test("time to live is in seconds, ends for every method, and is kept by a counter", () => {
  const { memory, pass } = namespace();
  memory.set("a", 1, 2);
  memory.set("b", [1], 2);
  memory.set("forever", 1, 0);
  expect(memory.incr("a", 1)).toBe(2);
  pass(1_999);
  expect(memory.get("a")).toBe(2);
  pass(1);
  expect(memory.has("a")).toBe(false);
  expect(memory.arrayLen("b")).toBe(0);
  expect(memory.keys()).toEqual(["forever"]);
  expect(memory.incr("a", 1)).toBe(1);
});

test("a star stands for anything, anywhere in a key", () => {
  const { memory } = namespace();
  for (const key of ["cache:a", "cache:b", "a:cache", "other", "ab"]) memory.set(key, 1, null);
  memory.del("cache:*");
  expect(memory.keys()).toEqual(["a:cache", "other", "ab"]);
  memory.del("a*e");
  expect(memory.keys()).toEqual(["other", "ab"]);
  memory.del("ab*b");
  expect(memory.keys()).toEqual(["other", "ab"]);
  memory.del("*");
  expect(memory.len()).toBe(0);
});

test("lists: push, pop, pull from the end, sets by equal JSON, access from both ends", () => {
  const { memory } = namespace();
  expect(memory.push("l", [1, 2, 3])).toBe(3);
  expect(memory.push("l", [4, 5])).toBe(5);
  expect(memory.pop("l")).toBe(5);
  expect(memory.pull("l", 2)).toEqual([3, 4]);
  expect(memory.pullAll("l")).toEqual([1, 2]);
  expect(memory.pop("l")).toBeNull();
  expect(memory.addToSet("s", [{ a: 1, b: 2 }])).toBe(1);
  expect(memory.addToSet("s", [{ b: 2, a: 1 }, "x", "x"])).toBe(2);
  memory.push("n", [10, 20, 30, 40]);
  expect([memory.arrayGet("n", 0), memory.arrayGet("n", -1), memory.arrayGet("n", 9)]).toEqual([10, 40, null]);
  memory.arraySet("n", -1, 44);
  expect(memory.arrayAll("n")).toEqual([10, 20, 30, 44]);
  expect(() => memory.arraySet("n", 4, 1)).toThrow('"n" has 4 elements: there is none at 4 to set');
  expect(memory.arrayPage("n", 2, 3)).toEqual([44]);
  expect(memory.arrayPage("n", 0, 3)).toEqual([]);
});

test("a slice up to -1 includes the last element, a positive end is exclusive", () => {
  const { memory } = namespace();
  memory.push("n", [1, 2, 3, 4]);
  expect(memory.arraySlice("n", -2, -1)).toEqual([3, 4]);
  expect(memory.arraySlice("n", 0, 2)).toEqual([1, 2]);
  expect(memory.arraySlice("n", 0, -2)).toEqual([1, 2, 3]);
});

test("a list method on another kind of value says what is there", () => {
  const { memory } = namespace();
  memory.set("a", { x: 1 }, null);
  expect(() => memory.push("a", [1])).toThrow('"a" holds an object, not a list');
});

test("keys that are names of an object's own machinery are ordinary keys", () => {
  const { memory } = namespace();
  for (const key of ["__proto__", "constructor", "toString"]) {
    expect(memory.get(key)).toBeNull();
    memory.set(key, 1, null);
    expect(memory.get(key)).toBe(1);
  }
});

test("changes applied to a copy make it equal, for any sequence of calls", () => {
  const key = fc.constantFrom("a", "b", "c:1", "c:2");
  const step = fc.oneof(
    fc.record({ do: fc.constant("set" as const), key, value: fc.jsonValue() }),
    fc.record({ do: fc.constant("del" as const), key: fc.oneof(key, fc.constant("c:*")) }),
    fc.record({ do: fc.constant("incr" as const), key, by: fc.integer({ min: -5, max: 5 }) }),
    fc.record({ do: fc.constant("push" as const), key, values: fc.array(fc.integer()) }),
    fc.record({ do: fc.constant("pop" as const), key }),
    fc.record({ do: fc.constant("clear" as const) }),
    fc.record({ do: fc.constant("sync" as const) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { memory } = namespace();
      const copy = new ContextMemory(() => 1_000);
      const sync = (): void => {
        const changes = memory.takeChanges();
        if (changes !== undefined) copy.apply(JSON.stringify(changes));
      };
      for (const action of steps) {
        try {
          if (action.do === "set") memory.set(action.key, action.value as never, null);
          else if (action.do === "del") memory.del(action.key);
          else if (action.do === "incr") memory.incr(action.key, action.by);
          else if (action.do === "push") memory.push(action.key, action.values);
          else if (action.do === "pop") memory.pop(action.key);
          else if (action.do === "clear") memory.clear();
          else sync();
        } catch (error) {
          // A list method on another value; it changes nothing.
          expect((error as Error).name).toBe("MemoryError");
        }
      }
      sync();
      const sorted = (entries: unknown): unknown => (entries as [string][]).toSorted(([a], [b]) => (a < b ? -1 : 1));
      expect(sorted(JSON.parse(copy.snapshot()))).toEqual(sorted(JSON.parse(JSON.stringify(memory.entries()))));
    }),
  );
});

test("counters and lists of two copies add up", () => {
  const shared = new ContextMemory(() => 0);
  const [one, two] = [namespace().memory, namespace().memory];
  for (const copy of [one, two]) {
    copy.incr("n", 2);
    copy.push("l", [1]);
    shared.apply(JSON.stringify(copy.takeChanges()));
  }
  expect(JSON.parse(shared.snapshot())).toEqual([
    ["n", 4, null],
    ["l", [1, 1], null],
  ]);
});

test("changes that are no changes are refused, and so is a memory that grows too large", () => {
  const shared = new ContextMemory(() => 0, 1_000);
  for (const text of ["[]", "no json", "-", "{}", '{"set":[[1,2,3]],"deleted":[],"added":[],"pushed":[]}']) {
    expect(() => shared.apply(text)).toThrow(/cannot be read/);
  }
  const { memory } = namespace();
  memory.set("big", "x".repeat(2_000), null);
  expect(() => shared.apply(JSON.stringify(memory.takeChanges()))).toThrow(/ctx\.memory\.context holds 2\d{3} bytes/);
});
