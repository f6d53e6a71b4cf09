import fc from "fast-check";
import { expect, test } from "vitest";

import { cutAtWord, lastLineOf, searchOf, titleOf, wordsOf } from "./task-text.ts";

test.each([
  ["Compare the three hotels. Then write a mail.", "Compare the three hotels"],
  ["\n\n# Plan\nmore", "Plan"],
  ["帮我写一份周报。要简短", "帮我写一份周报"],
  ["", "New task"],
  ["...", "..."],
])("the title of %j is %j", (message, title) => {
  expect(titleOf(message)).toBe(title);
});

test("a title is one line of at most 80 characters, whatever was said", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (message) => {
      const title = titleOf(message);
      expect(Array.from(title).length).toBeLessThanOrEqual(80);
      expect(title).not.toMatch(/[\r\n]/);
      expect(title).not.toBe("");
    }),
  );
});

test("a cut ends at a word", () => {
  expect(cutAtWord("one two three four", 12)).toBe("one two…");
  expect(lastLineOf("first\n  second   line \n\n")).toBe("second line");
});

test("words are found whole, or by their beginning, and text without spaces by pairs", () => {
  expect(wordsOf("Größe, size & CAFÉ-au-lait")).toEqual(["größe", "size", "café", "au", "lait"]);
  expect(wordsOf("周报v2")).toEqual(["周", "报", "周报", "v2"]);
  expect(searchOf("hotel ber")).toBe("'hotel':* & 'ber':*");
  expect(searchOf("&|!':*")).toBeUndefined();
});

test("nothing in a search can be an operator", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (query) => {
      const search = searchOf(query);
      if (search !== undefined)
        expect(search.split(" & ").every((word) => /^'[\p{L}\p{N}\p{M}]+'(:\*)?$/u.test(word))).toBe(true);
    }),
  );
});
