import fc from "fast-check";
import { expect, test } from "vitest";

import { ToolNames } from "./tool-name.ts";

test("N3: an ordinary name stays readable", () => {
  const names = new ToolNames();
  expect(names.encode("agents.expense.tools", "create")).toBe("agents_expense_tools__create");
  expect(names.decode("agents_expense_tools__create")).toEqual({ server: "agents.expense.tools", tool: "create" });
});

test("N1: ids that differ only in dots and underscores have two names", () => {
  const names = new ToolNames();
  const first = names.encode("a.b", "c");
  const second = names.encode("a_b", "c");
  const third = names.encode("a", "b__c");
  const fourth = names.encode("a.b_", "c");
  expect(new Set([first, second, third, fourth]).size).toBe(4);
  expect(names.decode(second)).toEqual({ server: "a_b", tool: "c" });
  expect(names.decode(third)).toEqual({ server: "a", tool: "b__c" });
});

test("N1 N2: any two strings become an accepted name and come back", () => {
  const part = fc.oneof(
    fc.string({ unit: "binary", maxLength: 100 }),
    fc.stringMatching(/^[a-z_./ -]{0,80}$/),
    fc.constantFrom("a", "a.b", "a_b", "a__b", "数据", "with space", "", "9lives", "x".repeat(65)),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(part, part), { maxLength: 20 }), (pairs) => {
      const names = new ToolNames(["bash"]);
      const given = pairs.map(([server, tool]) => names.encode(server, tool));
      for (const [index, name] of given.entries()) {
        const [server, tool] = pairs[index]!;
        expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
        expect(names.decode(name)).toEqual({ server, tool });
        expect(names.encode(server, tool)).toBe(name);
      }
      expect(new Set(given).size).toBe(new Set(pairs.map((pair) => JSON.stringify(pair))).size);
    }),
  );
});

test("a name the run uses otherwise is not given to a tool", () => {
  const names = new ToolNames(["files__read"]);
  expect(names.encode("files", "read")).toMatch(/^files__read_[0-9a-f]{10}$/);
});

test("a name nobody was given leads nowhere", () => {
  expect(new ToolNames().decode("a__b")).toBeUndefined();
});
