import { expect, test } from "vitest";

import { parseJsonc } from "./jsonc.ts";

test("a text with comments and trailing commas gives its nodes and their lines", () => {
  const tree = parseJsonc('{\n  // why\n  "a": [1,\n 2,],\n}', 8);
  if (!("root" in tree)) throw new Error(tree.message);
  expect(tree.root.type).toBe("object");
  expect(tree.lineAt(tree.nearest(["a", 1]).offset)).toBe(4);
  expect(tree.lineAt(tree.nearest(["a", 7, "x"]).offset)).toBe(3);
  expect(tree.lineAt(tree.nearest(["b"]).offset)).toBe(1);
});

test.each<[string, number | undefined, string]>([
  ["", 1, "the file is empty"],
  [" \n ", 1, "the file is empty"],
  ["// only a comment", 1, "not JSON: the file ends too early; a bracket is not closed"],
  ['{"a": 1', 1, "not JSON: the file ends too early; a bracket is not closed"],
  ['{\n"a" 1}', 2, 'not JSON: a ":" is missing after the key'],
  ['{"a": 1}\n{}', 2, "not JSON: there is text after the end of the value"],
  ["\nnope", 2, "not JSON: text that is neither a string in double quotes, a number, true, false nor null"],
  ["[\n".repeat(9) + "]".repeat(9), 8, "nested more than 3 levels deep"],
  ["[".repeat(200_000), undefined, "nested more than 3 levels deep"],
])("%.40j is refused with the line and the reason", (text, line, message) => {
  expect(parseJsonc(text, 3)).toEqual({ line, message });
});
