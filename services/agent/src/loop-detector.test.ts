import fc from "fast-check";
import { expect, test } from "vitest";

import type { Json, JsonObject } from "@mesh/kernel";

import { LoopDetector } from "./loop-detector.ts";

/** Small enough that two of them are often equal. */
const value = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 0, -0, 1, "", "1"),
    fc.array(tie("json"), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom("a", "b", "0", "__proto__"), tie("json"), { maxKeys: 3 }),
  ),
})).json;

function reversed(json: Json): Json {
  if (Array.isArray(json)) return json.map(reversed);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json as JsonObject)
      .toReversed()
      .map(([name, inner]) => [name, reversed(inner)]),
  );
}

test("a call repeats the one before for a running detector exactly when it does for one that was saved", () => {
  const pair = fc.oneof(
    fc.tuple(value, value),
    value.map((json): [Json, Json] => [json, reversed(json)]),
  );
  let repeats = 0;
  fc.assert(
    fc.property(pair, fc.constantFrom("t", "u"), ([first, second], name) => {
      const running = new LoopDetector(2);
      running.observe([{ name: "t", arguments: { value: first } }]);
      const saved = new LoopDetector(2, running.state());
      const calls = [{ name, arguments: { value: second } }];
      const verdict = running.observe(calls);
      expect(verdict).toEqual(saved.observe(calls));
      expect(running.state()).toEqual(saved.state());
      if (verdict.kind === "nudge") repeats += 1;
    }),
    { numRuns: 500 },
  );
  expect(repeats).toBeGreaterThan(50);
});

test("a run that is resumed remembers what it was nudged about: the next repetition stops it", () => {
  const call = { name: "t", arguments: { value: 1 } };
  const before = new LoopDetector(2);
  before.observe([call]);
  expect(before.observe([call]).kind).toBe("nudge");
  const resumed = new LoopDetector(2, before.state());
  expect(resumed.observe([call])).toEqual({ kind: "stop", toolName: "t", repetitions: 3 });
});
