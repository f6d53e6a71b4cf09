import { expect, test } from "vitest";

import { canonicalJson, isObject } from "./json.ts";

test("equal values have equal texts, whatever the order of their keys", () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
  expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
});

test("an object is neither null nor a list", () => {
  expect([{}, null, [], "x"].map(isObject)).toEqual([true, false, false, false]);
});
