import { expect, test } from "vitest";

import { askedReason, readItems } from "./pending-item.ts";

const ITEM = { id: "call_1", kind: "approval", tool: "bash", arguments: { command: "ls" }, text: "bash needs you" };

test("what a device asks is read with defaults for what may be left out", () => {
  expect(readItems([ITEM])).toEqual([{ ...ITEM, choices: [], arguments_cut: false }]);
  const question = { id: "q", kind: "question", tool: "ask_user", choices: ["a", 7, "b"], arguments_cut: true };
  expect(readItems([question])).toEqual([
    { ...question, arguments: {}, text: "", choices: ["a", "b"], arguments_cut: true },
  ]);
});

test.each<[string, unknown]>([
  ["nothing", []],
  ["no list", { pending: ITEM }],
  ["more than anybody answers", Array.from({ length: 257 }, (_, i) => ({ ...ITEM, id: `c${i}` }))],
  ["one id twice", [ITEM, ITEM]],
  ["a broken item among good ones", [ITEM, { ...ITEM, id: "b", kind: "order" }]],
  ["an id that no column holds", [{ ...ITEM, id: "a\u0000b" }]],
  ["an id that no index holds", [{ ...ITEM, id: "漢".repeat(400) }]],
  ["an item without a tool", [{ id: "a", kind: "approval" }]],
])("%s makes no question", (_what, value) => {
  expect(readItems(value)).toBeUndefined();
});

test("long texts are cut and the reason is one storable line", () => {
  const items =
    readItems([
      { ...ITEM, text: `a\n\u0000 ${"😀".repeat(20_000)}` },
      { ...ITEM, id: "b" },
    ]) ?? [];
  expect(items[0]?.text.length).toBe(16 * 1024);
  const reason = askedReason(items);
  expect(reason.length).toBeLessThan(260);
  expect(reason).toMatch(/^waiting for your approval: a \uFFFD 😀/u);
  expect(reason).toMatch(/, and 1 more$/);
  // oxlint-disable-next-line no-control-regex
  expect(reason).not.toMatch(/[\u0000\n\p{Surrogate}]/u);
});
