import { expect, test } from "vitest";

import { piecesOf } from "./snippet.ts";

test("found words are told from the rest, also where marks lack their partner", () => {
  expect(piecesOf("the \u{E000}quick\u{E001} fox")).toEqual([
    { text: "the ", isFound: false },
    { text: "quick", isFound: true },
    { text: " fox", isFound: false },
  ]);
  expect(piecesOf("a\u{E001}b\u{E000}c")).toEqual([
    { text: "a", isFound: false },
    { text: "b", isFound: false },
    { text: "c", isFound: true },
  ]);
  expect(piecesOf("")).toEqual([]);
});
