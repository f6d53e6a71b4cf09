import { expect, test } from "vitest";

import { renderTemplate } from "./prompt-template.ts";

test("arguments are filled in, missing ones are empty, others are written as JSON", () => {
  expect(renderTemplate("a={{a}} b={{ b }} c={{c}} d={{d}}", { a: "x", c: 3, d: { e: 1 } })).toBe(
    `a=x b= c=3 d={"e":1}`,
  );
});

test("conditions choose their branch, also inside each other", () => {
  const template = "{{#if a}}A{{#if b}}B{{else}}b{{/if}}{{else}}a{{/if}}.";
  expect(renderTemplate(template, { a: "1", b: "1" })).toBe("AB.");
  expect(renderTemplate(template, { a: "1" })).toBe("Ab.");
  expect(renderTemplate(template, { b: "1" })).toBe("a.");
});

test("false as a text is false", () => {
  expect(renderTemplate("{{#if x}}yes{{else}}no{{/if}}", { x: "false" })).toBe("no");
});

test("what is no tag stays, and a condition nobody closed or opened does no harm", () => {
  expect(renderTemplate("{{}} {{a b}} {x} {{/if}}{{else}}", {})).toBe("{{}} {{a b}} {x} ");
  expect(renderTemplate("{{#if a}}never", {})).toBe("");
});

test("an argument's text is not a template itself", () => {
  expect(renderTemplate("{{a}}", { a: "{{b}}", b: "secret" })).toBe("{{b}}");
});

test("names that objects inherit are missing", () => {
  expect(renderTemplate("[{{constructor}}{{toString}}]", {})).toBe("[]");
});
