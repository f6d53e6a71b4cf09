import type { Json } from "@mesh/kernel";
import { describe, expect, test } from "vitest";

import { applyToEntry, type EntryMethod, type MemoryEntry, readKey } from "./memory-entry.ts";
import { matches } from "./memory-pattern.ts";

const NOW = 1_000_000;

function held(value: Json, expiresAt: number | null = null): MemoryEntry {
  return { value, expiresAt };
}

function call(
  method: EntryMethod,
  entry: MemoryEntry | undefined,
  ...args: Json[]
): readonly [Json | undefined, Json | undefined] {
  const { result, change } = applyToEntry(method, "k", args, { entry, now: NOW });
  return [result, change === undefined ? entry?.value : change.entry?.value];
}

test.each<[EntryMethod, Json | undefined, Json[], Json | undefined, Json | undefined]>([
  ["Get", undefined, [], null, undefined],
  ["Get", { a: 1 }, [], { a: 1 }, { a: 1 }],
  ["Has", undefined, [], false, undefined],
  ["Has", null, [], true, null],
  ["Set", 1, ["x"], undefined, "x"],
  ["Del", 1, [], undefined, undefined],
  ["GetDel", 1, [], 1, undefined],
  ["Incr", undefined, [], 1, 1],
  ["Incr", 2, [0.5], 2.5, 2.5],
  ["Decr", undefined, [5], -5, -5],
  ["Push", undefined, [[1, 2]], 2, [1, 2]],
  ["Push", [1], [2, 3], 3, [1, 2, 3]],
  ["Push", [1], [[[2]]], 2, [1, [2]]],
  ["AddToSet", [1, { a: 1, b: 2 }], [[{ b: 2, a: 1 }, 1, 3]], 3, [1, { a: 1, b: 2 }, 3]],
  ["Pop", [1, 2], [], 2, [1]],
  ["Pop", [1, 2], [-1], 1, [2]],
  ["Pop", undefined, [], null, undefined],
  ["Pull", [1, 2, 3], [2], [2, 3], [1]],
  ["Pull", [1], [9], [1], []],
  ["PullAll", [1, 2], [], [1, 2], []],
  ["PullAll", undefined, [], [], undefined],
  ["Remove", [1, { a: 1 }, 1, 2], [[1, { a: 1 }]], 1, [2]],
  ["Remove", undefined, [[1]], 0, undefined],
  ["ArrayLen", undefined, [], 0, undefined],
  ["ArrayGet", ["a"], [0], "a", ["a"]],
  ["ArrayGet", ["a"], [1], null, ["a"]],
  ["ArrayGet", ["a", "b"], [-1], "b", ["a", "b"]],
  ["ArraySet", ["a", "b"], [-1, "c"], undefined, ["a", "c"]],
  ["ArraySet", ["a", "b"], [1, "c"], undefined, ["a", "c"]],
  ["ArraySlice", [0, 1, 2, 3], [1, 3], [1, 2], [0, 1, 2, 3]],
  ["ArraySlice", [0, 1, 2, 3], [-2], [2, 3], [0, 1, 2, 3]],
  ["ArraySlice", [0, 1, 2, 3], [-3, -1], [1, 2, 3], [0, 1, 2, 3]],
  ["ArraySlice", [0, 1, 2, 3], [0, -2], [0, 1, 2], [0, 1, 2, 3]],
  ["ArrayPage", [0, 1, 2, 3, 4], [2, 2], [2, 3], [0, 1, 2, 3, 4]],
  ["ArrayAll", [1], [], [1], [1]],
])("%s on %j with %j gives %j and leaves %j", (...[method, before, args, ...expected]) => {
  expect(call(method, before === undefined ? undefined : held(before), ...args)).toEqual(expected);
});

test.each<[EntryMethod, Json, Json[], string]>([
  ["Incr", "text", [], "a string"],
  ["Incr", 1, ["2"], "must be a number"],
  ["Push", "text", [1], "a string"],
  ["ArraySet", [1], [1, 2], "there is none at 1"],
  ["Pull", [1], [-1], "0 or more"],
  ["Set", null, [1, -1], "seconds"],
  ["Set", null, ["x".repeat(1024 * 1024)], "larger than"],
  ["Push", ["x".repeat(600_000)], ["x".repeat(600_000)], "larger than"],
  ["AddToSet", ["x".repeat(600_000)], ["y".repeat(600_000)], "larger than"],
  ["ArraySet", ["x".repeat(600_000), 1], [1, "y".repeat(600_000)], "larger than"],
  ["Push", Array.from({ length: 99_999 }, () => 1), [[1, 2]], "100000 are the most"],
])("%s on %j with bad input says what is wrong", (method, before, args, words) => {
  expect(() => call(method, held(before), ...args)).toThrow(words);
});

describe("the end of life", () => {
  test("Set gives one in seconds, counting keeps it, an ended entry is none", () => {
    const set = applyToEntry("Set", "k", [1, 60], { entry: undefined, now: NOW }).change?.entry;
    expect(set).toEqual(held(1, NOW + 60_000));
    expect(applyToEntry("Incr", "k", [], { entry: set, now: NOW + 59_999 }).change?.entry).toEqual(
      held(2, NOW + 60_000),
    );
    expect(applyToEntry("Incr", "k", [], { entry: set, now: NOW + 60_000 }).change?.entry).toEqual(held(1));
  });
});

test.each<[string, string, boolean]>([
  ["a:*", "a:", true],
  ["a:*", "b:a:", false],
  ["*", "", true],
  ["a*b*c", "a--b--c", true],
  ["a*b*c", "abc", true],
  ["a*b", "ab", true],
  ["ab*b", "ab", false],
  ["a.c", "abc", false],
  ["*a*a*a*a*a*a*b", "a".repeat(5_000), false],
])("the pattern %s and the key %s", (pattern, key, expected) => {
  expect(matches(pattern, key)).toBe(expected);
});

test("a key is a text of a bounded length", () => {
  expect(readKey("__proto__")).toBe("__proto__");
  expect(readKey(7)).toBe("7");
  for (const key of ["", "\0", "x".repeat(513), null, {}, undefined]) expect(() => readKey(key)).toThrow("a key");
});

test("a key is a text that every store holds and tells apart from others", () => {
  expect([readKey("k"), readKey(7), readKey("\u{1f600}"), readKey("漢".repeat(512))]).toHaveLength(4);
  for (const bad of ["", "a\0b", "\ud800", "x\udc00", "k".repeat(513), null, {}, undefined]) {
    expect(() => readKey(bad)).toThrow("a key must be");
  }
});

test("a count that no number can hold is an error, and not a count from nothing", () => {
  expect(() => call("Incr", held(1.7e308), 1.7e308)).toThrow("larger than a number");
  expect(() => call("Decr", held(-1.7e308), 1.7e308)).toThrow("larger than a number");
});

test("a list is as long as its text, however it was filled", () => {
  let entry: MemoryEntry | undefined;
  const item = "x".repeat(1021);
  let fits = 0;
  const append = (): void => {
    entry = applyToEntry("Push", "k", [item], { entry, now: NOW }).change?.entry;
    fits += 1;
  };
  expect(() => {
    for (;;) append();
  }).toThrow("larger than 1024 KiB");
  expect([fits, JSON.stringify(entry?.value).length]).toEqual([1023, 1023 * 1024 + 1]);
  entry = applyToEntry("Pull", "k", [1], { entry, now: NOW }).change?.entry;
  append();
  expect(append).toThrow("larger than 1024 KiB");
});
