import fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  calibrated,
  compactHistory,
  type ContextConfig,
  contextBudget,
  contextFor,
  withHeadroom,
} from "./compaction.ts";
import { COMPACTION_MARKER } from "./marker.ts";
import { messageText, userMessage } from "./message.ts";
import { historyFaults } from "./testing/index.ts";
import { transcript } from "./testing/transcript-arbitrary.ts";
import { historyTokens } from "./token.ts";

const config: fc.Arbitrary<ContextConfig> = fc.record({
  maxTokens: fc.integer({ min: 20, max: 3000 }),
  reserveTokens: fc.constant(0),
  keepRecent: fc.integer({ min: 0, max: 12 }),
  keepFirst: fc.integer({ min: 0, max: 5 }),
  toolOutputLines: fc.integer({ min: 1, max: 60 }),
  targetRatio: fc.oneof(fc.double({ min: -1, max: 2 }), fc.constant(Number.NaN)),
});

describe("compaction keeps every history sound", () => {
  test("P1, P3: the same bytes from the same input, no call without result, a user message first, never empty", () => {
    fc.assert(
      fc.property(transcript, config, (history, settings) => {
        const before = JSON.stringify(history);
        const once = compactHistory(history, settings);
        expect(historyFaults(once)).toEqual([]);
        expect(once.some((message) => message.role !== "extension")).toBe(true);
        expect(JSON.stringify(compactHistory(JSON.parse(before), settings))).toBe(JSON.stringify(once));
        expect(JSON.stringify(history)).toBe(before);
      }),
      { numRuns: 400 },
    );
  });

  test("P2: compacting what it returned changes nothing", () => {
    fc.assert(
      fc.property(transcript, config, (history, settings) => {
        const once = compactHistory(history, settings);
        expect(JSON.stringify(compactHistory(once, settings))).toBe(JSON.stringify(once));
      }),
      { numRuns: 400 },
    );
  });

  test("a history that fits is returned as it is", () => {
    fc.assert(
      fc.property(transcript, (history) => {
        const settings = { ...contextFor(1_000_000), maxTokens: historyTokens(history) + 4001 };
        expect(compactHistory(history, settings)).toBe(history);
      }),
    );
  });
});

test("what is over the budget ends below the target, so that the next turn does not compact again", () => {
  const history = fc.sample(transcript, { numRuns: 1, seed: 7 })[0]!;
  const long = Array.from({ length: 40 }, (_, index) => history.map((message) => renamed(message, index))).flat();
  const settings = { ...contextFor(0), maxTokens: Math.floor(historyTokens(long) / 3), reserveTokens: 0 };
  const compacted = compactHistory(long, settings);
  expect(historyTokens(compacted)).toBeLessThanOrEqual(contextBudget(settings) * settings.targetRatio);
  expect(compacted.filter((message) => messageText(message) === COMPACTION_MARKER)).toHaveLength(1);
  expect(COMPACTION_MARKER).not.toMatch(/\d/);
});

test("the last turn stays, whatever the settings: it is what the model is to answer", () => {
  const settings = { ...contextFor(0), maxTokens: 30, reserveTokens: 0, keepRecent: 0, keepFirst: 0 };
  const history = [userMessage("old ".repeat(100), 1), userMessage("and now this", 2)];
  expect(messageText(compactHistory(history, settings).at(-1)!)).toBe("and now this");
});

test("measured overhead shrinks the budget, never below a tenth", () => {
  const settings = contextFor(100_000);
  expect(contextBudget(calibrated(settings, 10_000))).toBe(70_000);
  expect(contextBudget(calibrated(settings, 1e9))).toBe(8000);
  expect(calibrated(settings, 0)).toBe(settings);
});

test("headroom for thirty turns lowers the target, never below its floor, and needs growth to act", () => {
  const settings = { ...contextFor(100_000), reserveTokens: 0 };
  expect(withHeadroom(settings, 0)).toBe(settings);
  expect(withHeadroom(settings, 1000).targetRatio).toBeCloseTo(0.625);
  expect(withHeadroom(settings, 1e6).targetRatio).toBe(0.15);
});

function renamed<T>(message: T, index: number): T {
  return JSON.parse(JSON.stringify(message).replaceAll(/"(c\d+_\d+)"/g, `"$1_${index}"`)) as T;
}
