import { expect, test } from "vitest";

import { nearestName, nearNames } from "./near-name.ts";

test.each<[string, readonly string[], string | undefined]>([
  ["nmae", ["value", "name"], "name"],
  ["colum", ["column", "columns"], "column"],
  ["NAME", ["name"], "name"],
  ["strnig", ["text", "string"], "string"],
  ["Fnd", ["Get", "Find"], "Find"],
  ["util", ["utils", "models"], "utils"],
  ["custom-search", ["search"], undefined],
  ["x", ["y", "z"], undefined],
  ["ab", ["cd"], undefined],
  ["orders", ["products"], undefined],
  ["", ["a", ""], ""],
  ["k".repeat(65), ["k".repeat(65)], undefined],
  ["name", [], undefined],
  ["TAGS", ["tags", "name", "connector", "sort"], "tags"],
  ["atgs", ["tags", "name", "connector", "sort"], "tags"],
  ["naem", ["tags", "name", "connector", "sort"], "name"],
  ["conector", ["tags", "name", "connector", "sort"], "connector"],
  ["colour", ["tags", "name", "connector", "sort"], undefined],
  ["x".repeat(100_000), ["tags", "name"], undefined],
])("%.20s among %.60j means %s", (name, candidates, expected) => {
  expect(nearestName(name, candidates)).toBe(expected);
});

test("the closest come first, equally close ones in their order, and no more than wanted", () => {
  expect(nearNames("find", ["finds", "mind", "fin", "find", "other"])).toEqual(["find", "finds", "mind"]);
  expect(nearNames("find", ["finds", "mind", "fin"], 1)).toEqual(["finds"]);
});
