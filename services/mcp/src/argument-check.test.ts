import type { JsonObject } from "@mesh/kernel";
import { expect, test } from "vitest";

import { schemaFaults } from "./argument-check.ts";

const schema: JsonObject = {
  type: "object",
  properties: {
    query: { type: "string" },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    items: { type: "array", items: { type: "object", required: ["name"] } },
  },
  required: ["query"],
  additionalProperties: false,
};

test("a valid value has no faults", () => {
  expect(schemaFaults(schema, { query: "x", limit: 5, items: [{ name: 1 }] })).toEqual([]);
});

test("faults name the field, however deep", () => {
  expect(schemaFaults(schema, { query: 1, limit: 0, items: [{}] }).map((fault) => fault.split(":")[0])).toEqual(
    expect.arrayContaining(["query", "limit", "items.0"]),
  );
  expect(schemaFaults(schema, {})[0]).toMatch(/^arguments: .*"query"/);
  expect(schemaFaults(schema, { query: "x", extra: 1 })[0]).toMatch(/extra/);
});

test("a schema that cannot be used does not keep a tool from being called", () => {
  expect(schemaFaults({ type: "object", $ref: "#/nowhere" }, { a: 1 })).toEqual([]);
});

test("a schema that refers to itself is checked to the end of the value", () => {
  const tree: JsonObject = { type: "object", properties: { next: { $ref: "#" }, n: { type: "number" } } };
  expect(schemaFaults(tree, { n: 1, next: { n: 2, next: { n: "three" } } })[0]).toMatch(/^next\.next\.n/);
});

test("only the first faults are told", () => {
  const all = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, { type: "string" }]));
  const value = Object.fromEntries(Object.keys(all).map((key) => [key, 1]));
  expect(schemaFaults({ type: "object", properties: all as JsonObject }, value)).toHaveLength(8);
});
