import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, test } from "vitest";

import { plainCheck } from "./plain-schema.ts";

const leaf = fc.constantFrom<object>(
  { type: "string" },
  { type: "number", description: "how much" },
  { type: "integer" },
  { type: "boolean" },
  { type: "null" },
  { type: "string", enum: ["a", "b"] },
  { type: "integer", enum: [1, 2] },
);
const { schema: anySchema } = fc.letrec<{ schema: object; object: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie("object"),
    tie("schema").map((items) => ({ type: "array", items })),
  ),
  object: fc.record(
    {
      type: fc.constant("object"),
      properties: fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema"), { maxKeys: 3 }),
      required: fc.subarray(["a", "b"]),
      additionalProperties: fc.boolean(),
    },
    { requiredKeys: ["type"] },
  ),
}));
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<unknown>("a", "", 1, 2, 1.5, true, null),
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("value"), { maxKeys: 3 }),
  ),
}));

test("Q1: it says what the validator says", () => {
  let valid = 0;
  fc.assert(
    fc.property(anySchema, anyValue, (schema, value) => {
      const check = plainCheck(schema);
      expect(check).toBeDefined();
      const verdict = new Validator(schema, "2020-12").validate(value).valid;
      if (verdict) valid += 1;
      expect(check?.(value)).toBe(verdict);
    }),
    { numRuns: 2000 },
  );
  expect(valid).toBeGreaterThan(50);
});

test.each([
  [true],
  [{}],
  [{ type: ["string", "null"] }],
  [{ type: "string", minLength: 1 }],
  [{ type: "object", patternProperties: {} }],
  [{ type: "object", properties: { a: { $ref: "#" } } }],
  [{ type: "object", properties: { toString: { type: "string" } } }],
  [{ type: "object", additionalProperties: { type: "string" } }],
  [{ type: "array", items: { anyOf: [] } }],
])("Q2: %j is left to the validator", (schema) => {
  expect(plainCheck(schema)).toBeUndefined();
});
