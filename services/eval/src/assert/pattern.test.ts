import { MeshError } from "@mesh/kernel";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";

import { compilePattern } from "./pattern.ts";
import { safePattern } from "./safe-pattern.ts";

test.each([
  ["(?i)hello", "Hello there", true],
  ["(?i)hello", "HELLO", true],
  ["hello", "Hello", false],
  ["(?i)(submitted|created)", "Was CREATED", true],
  ["\\d+", "abc 12", true],
  ["\\d+", "١٢", false],
  ["^.$", "👍", true],
  ["^.$", "\n", false],
  ["(?s)^.$", "\n", true],
  ["^.$", "\r", true],
  ["^\\p{Han}+$", "你好", true],
  ["^[[:alpha:]]+$", "abc", true],
  ["\\Aabc\\z", "abc", true],
  ["\\x{1F44D}", "👍", true],
  ["\\Qa.b\\E", "a.b", true],
  ["\\Qa.b\\E", "axb", false],
  ["(?P<n>a)b", "ab", true],
  ["\\pL", "é", true],
  ["(?m)^b$", "a\nb\nc", true],
  ["^b$", "a\nb\nc", false],
  ["abc$", "abc\n", false],
  ["(?i)k", "\u212A", true],
  ["(?i)s", "\u017F", true],
  ["(?i)ß", "SS", false],
  ["\\s", "\u00A0", false],
  ["\\s", "\v", false],
  ["\\s", "\f", true],
  ["\\w", "é", false],
  ["(?U)a+", "aa", true],
  ["a{2,3}", "aa", true],
  ["[^a]", "a", false],
  ["a|b|", "", true],
  ["\\.", "a.b", true],
  ["\\bfoo\\b", "a foo b", true],
])("the pattern %s on %j: %s", (pattern, text, found) => {
  expect(compilePattern(pattern).test(text)).toBe(found);
});

test.each(["(?=a)", "(?!a)", "(?<=a)b", "(a)\\1", "a++", "\\Z", "\\u0041", "a{1001}", "(", "[", "*a", "a**", "(?<n"])(
  "the pattern %s is refused, as RE2 refuses it, with RE2's name",
  (pattern) => {
    expect(() => compilePattern(pattern)).toThrow(/is not RE2 \(Go\) syntax/);
    expect(() => compilePattern(pattern)).toThrow(MeshError);
  },
);

test("a look-ahead is refused with advice", () => {
  expect(() => compilePattern("a(?!b)")).toThrow(/use negate, or two assertions/);
});

test("a pattern that makes other engines hang takes time that grows with the text", () => {
  const startedMs = performance.now();
  expect(compilePattern("^(a+)+$").test(`${"a".repeat(100_000)}!`)).toBe(false);
  expect(compilePattern("(x+x+)+y").test("x".repeat(10_000))).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});

test("a part that repeats is left to RE2 on long texts", () => {
  const startedMs = performance.now();
  expect(compilePattern("[0-9]+x").test("1".repeat(500_000))).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(2_000);
});

const atom = fc.constantFrom(
  "a",
  "B",
  "k",
  "s",
  "1",
  " ",
  ".",
  "\\d",
  "\\s",
  "\\w",
  "[a-k]",
  "[^s]",
  "[K1]",
  "\\.",
  "é",
  "^",
  "$",
  "|",
  "(",
  ")",
  "(?:",
);
const repeat = fc.constantFrom("", "", "", "*", "+", "?", "+?");
const patterns = fc
  .tuple(fc.constantFrom("", "(?i)"), fc.array(fc.tuple(atom, repeat), { maxLength: 6 }))
  .map(([prefix, parts]) => prefix + parts.map((part) => part.join("")).join(""));
const texts = fc
  .array(
    fc.constantFrom(
      "a",
      "A",
      "b",
      "k",
      "K",
      "s",
      "S",
      "1",
      "٣",
      " ",
      "\n",
      "\r",
      "\u2028",
      ".",
      "é",
      "É",
      "\u212A",
      "\u017F",
      "👍",
    ),
    {
      maxLength: 8,
    },
  )
  .map((parts) => parts.join(""));

test("what the engine matches itself it matches as RE2 does", () => {
  let fast = 0;
  fc.assert(
    fc.property(patterns, texts, (pattern, text) => {
      const safe = safePattern(pattern);
      if (safe === undefined) return;
      fast += 1;
      expect(safe.regex.test(text), `${pattern} on ${JSON.stringify(text)}`).toBe(
        RE2JS.compile(pattern).matcher(text).find(),
      );
    }),
    { numRuns: 20_000 },
  );
  expect(fast).toBeGreaterThan(2_000);
});
