import fc from "fast-check";
import { expect, test } from "vitest";

import { blocksOf, MarkdownBlocks } from "./blocks.ts";

const line = fc.constantFrom(
  "word",
  "- item",
  "1. one",
  "",
  "",
  "```js",
  "```",
  "~~~",
  "# head",
  "  indented",
  "> quote",
  "| a | b |",
);
const text = fc.array(line, { maxLength: 40 }).map((lines) => lines.join("\n"));

test("B1 the blocks and the tail are the text, however it came in pieces", () => {
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 80 }), (whole, sizes) => {
      const blocks = new MarkdownBlocks();
      let at = 0;
      for (const size of sizes) {
        blocks.push(whole.slice(at, at + size));
        at += size;
      }
      blocks.push(whole.slice(at));
      expect(blocks.done.join("") + blocks.tail).toBe(whole);
      const all = blocks.tail === "" ? blocks.done : [...blocks.done, blocks.tail];
      expect(all).toEqual(blocksOf(whole));
    }),
  );
});

test("paragraphs are cut at blank lines; a list with blank lines between its items is not", () => {
  expect(blocksOf("one\n\ntwo\n")).toEqual(["one\n\n", "two\n"]);
  expect(blocksOf("- a\n\n- b\n\n  more of b\n")).toEqual(["- a\n\n- b\n\n  more of b\n"]);
});

test("B3 code is one block, whatever is inside, and open code says what it is", () => {
  const code = "```py\na = 1\n\nb = 2\n```\n";
  expect(blocksOf(`text\n${code}after`)).toEqual(["text\n", code, "after"]);
  const open = new MarkdownBlocks();
  open.push("```py\na = 1\n\nb");
  expect(open.openCode).toEqual({ language: "py", code: "a = 1\n\nb" });
});

test("B2 a long list is cut in the end, so that the tail stays short", () => {
  const blocks = new MarkdownBlocks();
  for (let n = 0; n < 5_000; n += 1) blocks.push(`- item number ${n}\n`);
  expect(blocks.tail.length).toBeLessThan(10_000);
  expect(blocks.done.join("") + blocks.tail).toContain("- item number 4999");
});
