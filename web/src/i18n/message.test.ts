import { expect, test } from "vitest";

import { CATALOGUES } from "./catalogue.ts";
import { localeOf } from "./locale.ts";
import { format, placesOf, pseudo } from "./message.ts";

// Loads every catalogue of the page.
const modules = import.meta.glob("../**/*text.ts", { eager: true });

test("every text is there in both languages, with the same places, and none is empty", () => {
  expect(Object.keys(modules).length).toBeGreaterThan(8);
  expect(CATALOGUES.length).toBeGreaterThanOrEqual(Object.keys(modules).length);
  for (const { en, "zh-CN": zh } of CATALOGUES) {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      expect([key, placesOf(zh[key] ?? "")]).toEqual([key, placesOf(text)]);
      expect([key, text.trim() === "" || zh[key]?.trim() === ""]).toEqual([key, false]);
    }
  }
});

test("places are filled, plurals chosen, numbers written as the language does", () => {
  const text = "{name} has {count, plural, one {# task} other {# tasks}}";
  expect(format(text, { name: "Ada", count: 1 }, "en")).toBe("Ada has 1 task");
  expect(format(text, { name: "Ada", count: 1_200 }, "en")).toBe("Ada has 1,200 tasks");
  expect(format(text, { name: "Ada" }, "en")).toBe("Ada has {count, plural, one {# task} other {# tasks}}");
});

test("the made-up language keeps the places and stands out everywhere else", () => {
  const made = pseudo("Move {task} here");
  expect(made).toMatch(/^\[.*\{task\}.*\]$/);
  expect(made.length).toBeGreaterThan("Move {task} here".length + 2);
});

test("names of languages as browsers say them", () => {
  expect(["en-GB", "zh", "zh-Hans-CN", "zh_TW", "de"].map(localeOf)).toEqual([
    "en",
    "zh-CN",
    "zh-CN",
    "zh-CN",
    undefined,
  ]);
});
