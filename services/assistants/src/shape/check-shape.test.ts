import { expect, test } from "vitest";

import { parseJsonSource } from "../json-source.ts";
import { ProblemLog } from "../problem-log.ts";
import { checkRoot, checkShape } from "./check-shape.ts";
import {
  any,
  either,
  field,
  flag,
  legacy,
  listOf,
  object,
  openObject,
  openWord,
  required,
  type Shape,
  text,
  texts,
  word,
} from "./shape.ts";

const tree: Shape = {
  kind: "named",
  name: "tree",
  shape: () => object({ size: field(any, ""), kids: field(listOf(tree), "") }),
};

/** Findings about the text as `severity line message`. */
function check(shape: Shape, source: string): readonly string[] {
  const log = new ProblemLog();
  const { root } = parseJsonSource(source);
  expect(root).toBeDefined();
  const isGood = checkShape({ file: "f", log }, "x", root!, shape);
  expect(isGood).toBe(log.errorCount === 0);
  return log.sorted().map(({ severity, line, message }) => `${severity} ${line} ${message}`);
}

test.each<[shape: Shape, source: string, expected: string[]]>([
  [text, '"t"', []],
  [text, "null", ["error 1 x must be text, not empty"]],
  [any, "[null]", []],
  [flag, "1", ["error 1 x must be true or false, not 1"]],
  [{ kind: "number", min: 0, max: 1 }, "1.01", ["error 1 x must be a number from 0 to 1, not 1.01"]],
  [{ kind: "number", max: 1 }, "2", ["error 1 x must be a number of at most 1, not 2"]],
  [{ kind: "number", isWhole: true }, "9007199254740993", ["error 1 x must be a whole number, not a number"]],
  [{ kind: "number" }, "1e300", []],
  [word("a", "b"), '"c"', ['error 1 x must be "a" or "b", not "c"']],
  [openWord("alpha", "beta"), '"gamma"', ['warning 1 x is "gamma", which is not known here; known are alpha, beta']],
  [listOf(word("a")), '["a",\n"b"]', ['error 2 x must be a list of "a": item 2 is "b"']],
  [{ kind: "map", of: texts }, '{"k":\n[1]}', ["error 2 x.k must be a list of strings: item 1 is 1"]],
  [either(text, texts), '["a", 1]', ["error 1 x must be text or a list of strings: item 2 is 1"]],
  [
    either(listOf(text), listOf(flag)),
    '["a", true]',
    ["error 1 x must be a list of strings or a list of values, not a list"],
  ],
  [
    either({ ...object({ id: required(text, "") }), marker: "id" }, { kind: "map", of: texts }),
    '{"id": 1}',
    ["error 1 x.id must be text, not 1"],
  ],
  [object({ a: required(text, "") }), '{"a": null}', ["error 1 x.a is missing: it must be text"]],
  [object({ a: field(text, "") }), '{"a": null}', []],
  [object({ old: legacy("is gone") }), '{"old": 5}', ["note 1 x.old is gone"]],
  [object({}), '{"toString": 1}', ["warning 1 unknown key x.toString; it is ignored"]],
  [openObject({ a: field(flag, "") }), '{"b": 1, "a": 2}', ["error 1 x.a must be true or false, not 2"]],
  [
    tree,
    '{"kids": [{"kids": [{},\n{"kid": 1}]}]}',
    ["warning 2 unknown key x.kids.0.kids.1.kid; did you mean x.kids.0.kids.1.kids?"],
  ],
  [tree, '{"kids": [{"kids": 1}]}', ["error 1 x.kids.0.kids must be a list of objects, not 1"]],
])("%# a shape says of %s", (shape, source, expected) => {
  expect(check(shape, source)).toEqual(expected);
});

test("so many unknown keys are counted instead of shown", () => {
  const source = JSON.stringify(
    Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`${"k".repeat(500)}${n}`, 1])),
  );
  const found = check(object({}), source);
  expect(found).toHaveLength(21);
  expect(found.every((message) => message.length < 200)).toBe(true);
  expect(found).toContain("warning 1 30 more unknown keys");
});

test("the key that names a schema is allowed at the top of a file only", () => {
  const log = new ProblemLog();
  const { root } = parseJsonSource('{"$schema": "s", "inner": {"$schema": "s"}}');
  expect(root?.kind).toBe("object");
  if (root?.kind !== "object") return;
  checkRoot({ file: "f", log }, root, object({ inner: field(object({}), "") }));
  expect(log.sorted().map(({ message }) => message)).toEqual(["unknown key inner.$schema; it is ignored"]);
});
