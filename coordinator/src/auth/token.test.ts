import { expect, test } from "vitest";

import { isTokenText, newTokenText } from "./token.ts";

test("a new token ends with a checksum, so that one wrong character shows without a look-up", () => {
  const text = newTokenText();
  expect(text).toMatch(/^yao_[A-Za-z0-9_-]{49}$/);
  expect(isTokenText(text)).toBe(true);
  for (let at = 4; at < text.length; at += 1) {
    const other = text[at] === "A" ? "B" : "A";
    expect(isTokenText(`${text.slice(0, at)}${other}${text.slice(at + 1)}`)).toBe(false);
  }
});

test("a token without a checksum, as older ones are, is still one; other texts are not", () => {
  expect(isTokenText(`yao_${"A".repeat(43)}`)).toBe(true);
  for (const text of [
    "",
    "yao_",
    `yao_${"A".repeat(42)}`,
    `yao_${"A".repeat(44)}`,
    `yao_${"A".repeat(50)}`,
    "x".repeat(47),
  ]) {
    expect(isTokenText(text)).toBe(false);
  }
});
