import * as fc from "fast-check";
import { expect, test } from "vitest";

import { ContextMemory } from "./context-memory.ts";
import { MemoryNamespace } from "./memory-namespace.ts";

function namespace(): { memory: MemoryNamespace; pass: (ms: number) => void } {
  let now = 1_000;
  return { memory: new MemoryNamespace(() => now), pass: (ms) => (now += ms) };
}

test("values are copies both ways, as JSON carries them", () => {
  const { memory } = namespace();
  const value = { list: [1], at: new Date(0), fn: () => 1 };
  memory.call("Set", ["a", value]);
  value.list.push(2);
  const got = memory.call("Get", ["a"]) as { list: number[] };
  expect(got).toEqual({ list: [1], at: "1970-01-01T00:00:00.000Z" });
  got.list.push(3);
  expect(memory.call("GetDel", ["a"])).toMatchObject({ list: [1] });
  memory.call("Push", ["l", [{ n: 1 }]]);
  (memory.call("ArrayGet", ["l", 0]) as { n: number }).n = 2;
  expect(memory.call("ArrayAll", ["l"])).toEqual([{ n: 1 }]);
});

test.each(["__proto__", "constructor", "toString"])("%s is an ordinary key", (key) => {
  const { memory } = namespace();
  expect(memory.call("Get", [key])).toBeNull();
  memory.call("Set", [key, 1]);
  expect(memory.call("Get", [key])).toBe(1);
});

test("a step added to an entry that has ended since is not added to the next one", () => {
  const { memory, pass } = namespace();
  const shared = new ContextMemory(() => 1_000);
  memory.call("Set", ["n", 5, 1]);
  shared.apply(JSON.stringify(memory.takeChanges()));
  memory.call("Incr", ["n"]);
  pass(1_000);
  memory.call("Incr", ["n"]);
  shared.apply(JSON.stringify(memory.takeChanges()));
  expect(JSON.parse(shared.snapshot())).toEqual([["n", 1, null]]);
});

test("changes applied to a copy make it equal, for any sequence of calls", () => {
  const key = fc.constantFrom("a", "b", "c:1", "c:2");
  const does = (method: string, ...args: fc.Arbitrary<unknown>[]): fc.Arbitrary<{ do: string; args: unknown[] }> =>
    fc.record({ do: fc.constant(method), args: fc.tuple(...args) });
  const step = fc.oneof(
    does("Set", key, fc.jsonValue()),
    does("Del", fc.oneof(key, fc.constant("c:*"))),
    does("Incr", key, fc.integer({ min: -5, max: 5 })),
    does("Decr", key, fc.integer({ min: -5, max: 5 })),
    does("Push", key, fc.array(fc.integer())),
    does("AddToSet", key, fc.array(fc.integer({ max: 3 }))),
    does("Pop", key),
    does("Clear"),
    does("sync"),
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
          if (action.do === "sync") sync();
          else memory.call(action.do, action.args);
        } catch (error) {
          // A method on another kind of value; it changes nothing.
          expect((error as Error).name).toBe("MeshError");
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
    copy.call("Incr", ["n", 2]);
    copy.call("Push", ["l", [1]]);
    shared.apply(JSON.stringify(copy.takeChanges()));
  }
  expect(JSON.parse(shared.snapshot())).toEqual([
    ["n", 4, null],
    ["l", [1, 1], null],
  ]);
});

test("what another call has put there meanwhile gives way to the later count and list", () => {
  const shared = new ContextMemory(() => 0);
  const [one, two] = [namespace().memory, namespace().memory];
  one.call("Set", ["n", "text"]);
  one.call("Set", ["l", 1]);
  two.call("Incr", ["n", 2]);
  two.call("Push", ["l", [1]]);
  for (const copy of [one, two]) shared.apply(JSON.stringify(copy.takeChanges()));
  expect(JSON.parse(shared.snapshot())).toEqual([
    ["n", 2, null],
    ["l", [1], null],
  ]);
});

test("lists of two copies that are too long together are refused, and both copies are to be replaced", () => {
  const shared = new ContextMemory(() => 0);
  const half = Array.from({ length: 60_000 }, () => 1);
  const changes = [half, half].map((values) => {
    const { memory } = namespace();
    memory.call("Push", ["l", values]);
    return JSON.stringify(memory.takeChanges());
  });
  shared.apply(changes[0] ?? "");
  const before = shared.version;
  expect(() => shared.apply(changes[1] ?? "")).toThrow("100000 are the most");
  expect(shared.version).toBeGreaterThan(before);
  expect(JSON.parse(shared.snapshot())).toEqual([["l", half, null]]);
});

test("changes that are no changes are refused, and so is a memory that grows too large", () => {
  const shared = new ContextMemory(() => 0, 1_000);
  for (const text of ["[]", "no json", "-", "{}", '{"set":[[1,2,3]],"deleted":[],"added":[],"pushed":[]}']) {
    expect(() => shared.apply(text)).toThrow(/cannot be read/);
  }
  const { memory } = namespace();
  memory.call("Set", ["big", "x".repeat(2_000)]);
  expect(() => shared.apply(JSON.stringify(memory.takeChanges()))).toThrow(/ctx\.memory\.context holds 2\d{3} bytes/);
});
