// @vitest-environment node
import fc from "fast-check";
import { expect, test } from "vitest";

import { FakeState } from "../../testing/fake-state.ts";
import { changedFields, draftOf, FIELDS, listOf, merge } from "./merge.ts";

const base = draftOf(new FakeState().addTask({ title: "Before", labels: ["a", "b"], priority: "low" }));

test("who changed a field alone is right; what both changed differently is a conflict", () => {
  const mine = { ...base, title: "Mine", priority: "high", labels: "a" };
  const theirs = { ...base, title: "Theirs", description: "New", labels: "a" };
  const { merged, conflicts } = merge(base, mine, theirs);
  expect(conflicts).toEqual([{ field: "title", base: "Before", mine: "Mine", theirs: "Theirs" }]);
  expect(merged).toMatchObject({ title: "Theirs", description: "New", priority: "high", labels: "a" });
});

test("nothing is lost: every change of either side is in the result or in a conflict", () => {
  const draft = fc.record(Object.fromEntries(FIELDS.map((field) => [field, fc.constantFrom(base[field], "x", "y")])));
  fc.assert(
    fc.property(draft, draft, (one, other) => {
      const mine = { ...base, ...one };
      const theirs = { ...base, ...other };
      const { merged, conflicts } = merge(base, mine, theirs);
      const inConflict = conflicts.map(({ field }) => field);
      for (const field of changedFields(base, mine)) {
        expect(inConflict.includes(field) || merged[field] === mine[field]).toBe(true);
      }
      for (const field of changedFields(base, theirs)) expect(merged[field] === theirs[field]).toBe(true);
    }),
  );
});

test("lists are read with either comma", () => {
  expect(listOf(" a, b，c ,, ")).toEqual(["a", "b", "c"]);
});
