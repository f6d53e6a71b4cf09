import { expect, test } from "vitest";

import { preferredLanguage } from "./accept-language.ts";

test.each<[string, string | undefined]>([
  ["de", "de"],
  ["de-AT", "de-at"],
  ["fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr-ch"],
  ["en;q=0.8,de;q=0.9", "de"],
  ["en;q=0.8, de", "de"],
  ["en, de", "en"],
  ["en;q=0.5,de;q=0.5", "en"],
  ["zh-Hant-TW;q=1.000", "zh-hant-tw"],
  [" de ; q = 0.3 ", "de"],
  ["de;Q=0.3", "de"],
  ["de;q=0, en;q=0.1", "en"],
  ["de;q=0", undefined],
  ["*", undefined],
  ["*, de;q=0.1", "de"],
  ["", undefined],
  [",,;,", undefined],
  ["de;q=2, en;q=0.1", "en"],
  ["de;q=1.001, en;q=0.1", "en"],
  ["de;q=-1, de;q=, de;q=x, de;q=0.1;level=1, en;q=0.001", "en"],
  ["../../etc, <script>, de_AT, 12, a{{b}}", undefined],
  [`${"x,".repeat(40)}de`, "x"],
  [`${"!,".repeat(40)}de`, undefined],
  ["a".repeat(100_000), undefined],
])("%.60s asks for %s", (header, expected) => {
  expect(preferredLanguage(header)).toBe(expected);
});
