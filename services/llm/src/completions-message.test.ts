import fc from "fast-check";
import { expect, test } from "vitest";

import { buildCompletionsRequest } from "./completions-request.ts";
import type { Message } from "./message.ts";
import { answered, called, callOf, resulted, said } from "./testing/index.ts";

const image = { type: "image", data: "aGk=", mimeType: "image/png" } as const;
const { model } = callOf({ api: "openai-completions" }, []);

function textOf(messages: readonly Message[], of: typeof model): string {
  // The very object: what is kept is kept with it.
  return buildCompletionsRequest({ ...callOf(of, messages), model: of }).body;
}

const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.constantFrom("hello", " ", "go on").map((text) => said(text)),
  fc.constant(said()),
  fc
    .array(fc.constantFrom("a", "b", "c"), { maxLength: 2 })
    .map((ids) => answered(["text", ...ids.map((id) => called(id))])),
  fc.constantFrom("a", "b", "c").chain((id) => fc.constantFrom(resulted(id, ["r"]), resulted(id, ["see", image]))),
  fc.constant(answered([])),
);

/** A history that is asked about after every step: it grows, is asked again, forks, or loses its end. */
const anyStep = fc.record({ keep: fc.integer({ min: 0, max: 8 }), add: fc.array(anyMessage, { maxLength: 4 }) });

test("what was kept of earlier requests never changes a request, however histories grow, fork and shrink", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 12 }), fc.boolean(), (steps, assistantAfterToolResult) => {
      const known = { ...model, compat: { openai: { assistantAfterToolResult } } };
      let history: readonly Message[] = [said("first")];
      for (const { keep, add } of steps) {
        history = [...history.slice(0, Math.max(1, history.length - keep)), ...add];
        expect(textOf(history, known)).toBe(textOf(history, { ...known }));
      }
    }),
    { numRuns: 500 },
  );
});

test("a message that was sent before is not read again", () => {
  let reads = 0;
  const first = said("first");
  const counted: Message = {
    ...first,
    get content() {
      reads += 1;
      return first.content as never;
    },
  };
  const own = { ...model };
  textOf([counted], own);
  const before = reads;
  expect(textOf([counted, answered(["ok"]), said("more")], own)).toContain("first");
  expect(reads).toBe(before);
});
