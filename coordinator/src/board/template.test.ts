import { expect, test } from "vitest";

import { fillTemplate, type StoredTemplate, variablesOf } from "./template.ts";

const template: StoredTemplate = {
  title: "Report of {{ week }}",
  message: "Write the report of {{week}} for {{客户}}.",
  description: "",
  assistant: "",
  priority: "",
  labels: [],
};

test("variables are found once, in order, in any script", () => {
  expect(variablesOf(template)).toEqual(["week", "客户"]);
});

test("values are put in as they are", () => {
  const filled = fillTemplate(template, { week: "{{客户}} $& 12", 客户: "ACME" });
  expect(filled.title).toBe("Report of {{客户}} $& 12");
  expect(filled.message).toBe("Write the report of {{客户}} $& 12 for ACME.");
});

test("a missing and an unknown variable are named", () => {
  expect(() => fillTemplate(template, { week: "1" })).toThrow("give a value for: 客户");
  expect(() => fillTemplate(template, { week: "1", 客户: "x", day: "2" })).toThrow("has no day; it has: week, 客户");
});
