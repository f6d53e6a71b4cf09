import { expect, test } from "vitest";

import { readBatch } from "./batch.ts";

const SETTINGS = { agentId: "echo", timeoutMs: 1_000, parallel: 2, hasPermits: true };
const BASE = { eval_id: "eval_1", nonce: "n", settings: SETTINGS };
const CASE = { id: "a", input: "x" };
const UNITS = { ...BASE, phase: "units", cases: [CASE], units: [{ ordinal: 7, run: 1, copy: 2, case: 0 }] };

test("a batch of units has its cases, and who they run as", () => {
  const settings = {
    ...SETTINGS,
    connector: "own",
    user: "u",
    device: "laptop",
    simulator: "tests.simulator-agent",
    context: { chat_id: "c", authorized: { scope: "s" }, metadata: { m: 1 }, locale: null, client: { type: "t" } },
  };
  expect(readBatch(JSON.stringify({ ...UNITS, settings }))).toEqual({
    evalId: "eval_1",
    phase: "units",
    units: [{ ordinal: 7, run: 1, copy: 2, case: CASE }],
    settings: {
      agentId: "echo",
      timeoutMs: 1_000,
      parallel: 2,
      retries: 0,
      isRated: true,
      connector: "own",
      simulator: "tests.simulator-agent",
      device: "laptop",
      identity: {
        nonce: "n",
        user: "u",
        context: { chatId: "c", authorized: { scope: "s" }, metadata: { m: 1 }, client: { type: "t" } },
      },
    },
  });
});

test("hooks around an eval have cases, or results and what the first of them returned", () => {
  const before = readBatch(JSON.stringify({ ...BASE, phase: "before", cases: [CASE, { id: "b" }] }));
  expect(before).toMatchObject({ phase: "before", cases: [CASE, { id: "b" }] });
  const after = readBatch(JSON.stringify({ ...BASE, phase: "after", results: [{ id: "a" }], data: { n: 1 } }));
  expect(after).toMatchObject({ phase: "after", results: [{ id: "a" }], data: { n: 1 } });
});

test.each([
  ["no JSON", "{"],
  ["no object", "[]"],
  ["another phase", { ...UNITS, phase: "x" }],
  ["no units", { ...UNITS, units: [] }],
  ["a unit of no case", { ...UNITS, units: [{ ordinal: 0, run: 1, copy: 1, case: 1 }] }],
  ["a unit of no run", { ...UNITS, units: [{ ordinal: 0, run: 0, copy: 1, case: 0 }] }],
  ["no nonce", { ...UNITS, nonce: "" }],
  ["no assistant", { ...UNITS, settings: { ...SETTINGS, agentId: 1 } }],
  ["no time", { ...UNITS, settings: { ...SETTINGS, timeoutMs: 0 } }],
  ["a result that is none", { ...BASE, phase: "after", results: [1] }],
  ["a case that is none", { ...BASE, phase: "before", cases: ["a"] }],
  ["a context that is wrong", { ...UNITS, settings: { ...SETTINGS, context: { metadata: 1 } } }],
])("what has %s is refused", (_name, batch) => {
  const text = typeof batch === "string" ? batch : JSON.stringify(batch);
  expect(() => readBatch(text)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

test("numbers without bound are bounded", () => {
  const batch = readBatch(JSON.stringify({ ...UNITS, settings: { ...SETTINGS, parallel: 1e9, timeoutMs: 1e12 } }));
  expect(batch.settings.parallel).toBe(256);
  expect(batch.settings.timeoutMs).toBe(86_400_000);
});
