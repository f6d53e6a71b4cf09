import { expect, test } from "vitest";

import { processArgs } from "./process-args.ts";

const args = { a: { b: { c: 1 } }, list: ["x", "y"], none: null };
const scope = { whole: { ":arguments": args }, roots: { "": args, args } };

test("references are replaced and everything else stands for itself", () => {
  expect(processArgs([":arguments", "$args.a.b", "$a.b.c", "$list.1", "plain", 7, null, { k: "$a" }], scope)).toEqual([
    args,
    { c: 1 },
    1,
    "y",
    "plain",
    7,
    null,
    { k: "$a" },
  ]);
});

test("a path that leads nowhere is null", () => {
  expect(processArgs(["$args.missing", "$a.b.c.d", "$none.x", "$list.9", ":unknown"], scope)).toEqual([
    null,
    null,
    null,
    null,
    ":unknown",
  ]);
});

test("a path does not reach what objects inherit", () => {
  expect(
    processArgs(["$constructor.name", "$args.__proto__", "$list.length.constructor", "$a.toString"], scope),
  ).toEqual([null, null, null, null]);
});

test("a lone dollar and a price are no references to a value that exists", () => {
  expect(processArgs(["$", "$args"], scope)).toEqual(["$", args]);
});
