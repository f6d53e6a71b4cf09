import { NodeEvent } from "@mesh/proto";
import { expect, test } from "vitest";

import { storableEvent, storableText, storableUsage, storableValue } from "./storable.ts";

test("text without anything odd stays as it is, whole characters beyond the first plane too", () => {
  expect(storableText("plain \u{1F600} text\n\t")).toBe("plain \u{1F600} text\n\t");
});

test("a NUL and each half of a character become a replacement character", () => {
  expect(storableText("a\u0000b\ud83dc\ude00d")).toBe("a\uFFFDb\uFFFDc\uFFFDd");
});

test("an event keeps its number and gets every other field into bounds", () => {
  const event = NodeEvent.fromPartial({
    n: 7,
    at_ms: 2 ** 52,
    kind: "k\u0000".repeat(50),
    body: '{"a":"\u0000"}',
    delta_of: "M\u0000",
  });
  const stored = storableEvent(event);
  expect(stored).toMatchObject({ n: 7, body: '{"a":"\uFFFD"}', delta_of: "M\uFFFD" });
  expect(stored.kind).toHaveLength(64);
  expect(new Date(stored.at_ms).getUTCFullYear()).toBe(9999);
});

test("escaped texts inside JSON are found by the reviver", () => {
  expect(JSON.parse('{"a":["x\\u0000y",{"b":"\\ud800"}],"c":1}', storableValue)).toEqual({
    a: ["x\uFFFDy", { b: "\uFFFD" }],
    c: 1,
  });
});

test("a usage report keeps its counts and nothing else", () => {
  expect(storableUsage({ prompt_tokens: 3, "odd\u0000name": 1, note: "x", nested: {} })).toEqual({ prompt_tokens: 3 });
});
