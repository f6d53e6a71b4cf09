import { FakeClock } from "@mesh/kernel/testing";
import fc from "fast-check";
import { expect, test } from "vitest";

import { parseArguments } from "./answer-block.ts";
import { MessageAssembler } from "./message-assembler.ts";
import type { StreamEvent } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { callOf } from "./testing/index.ts";

function assembler(init: { readonly malformedCalls?: "tell" | "fail"; readonly answerTool?: string } = {}): {
  made: MessageAssembler;
  events: StreamEvent[];
} {
  const events: StreamEvent[] = [];
  const config = callOf({ api: "anthropic-messages" }, []);
  const made = new MessageAssembler({
    config,
    clock: new FakeClock(5),
    sink: (event) => events.push(event),
    malformedCalls: "tell",
    ...init,
  });
  return { made, events };
}

test.each([
  ["", {}],
  ["  \n", {}],
  ["{}", {}],
  ['{"a":[1]}', { a: [1] }],
  ["[]", undefined],
  ["null", undefined],
  ['{"a":1', undefined],
  ['{"a":1}}', undefined],
  ["{'a':1}", undefined],
  ['{"a":"\n"}', undefined],
])("arguments %j are read strictly", (text, value) => {
  expect(parseArguments(text)).toEqual(value);
});

test("arguments that are cut anywhere never become a call that runs", () => {
  const whole = JSON.stringify({ path: "/tmp/a b", list: [1, { x: "}" }], flag: true });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: whole.length - 1 }), (length) => {
      const { made } = assembler();
      made.call("0", { id: "a", name: "rm" });
      made.callArguments("0", whole.slice(0, length));
      made.closeAll();
      const [call] = made.finish("toolUse").content;
      expect(call).toMatchObject({ type: "toolCall", arguments: {}, malformed: { kind: "invalid" } });
    }),
  );
});

test("a failed or aborted answer holds no call and no half signature", () => {
  const { made } = assembler();
  made.thinking("0", "whole");
  made.signature("0", "c2ln");
  made.close("0");
  made.thinking("1", "half");
  made.signature("1", "bm");
  made.call("2", { id: "a", name: "add" });
  made.callArguments("2", '{"a":1}');
  const error = new ProviderError({ errorClass: "aborted", message: "gone" });
  expect(made.partial(error)).toMatchObject({
    stopReason: "aborted",
    errorMessage: "gone",
    timestamp: 5,
    content: [
      { type: "thinking", thinking: "whole", signature: "c2ln" },
      { type: "thinking", thinking: "half" },
      { type: "text", text: '[tool call add was not run: the answer ended early; arguments so far: {"a":1}]' },
    ],
  });
  expect(made.partial(error).content[1]).not.toHaveProperty("signature");
});

test("the tool that carries a structured answer becomes its text; other calls stay", () => {
  const { made, events } = assembler({ answerTool: "answer" });
  made.call("0", { id: "a", name: "answer" });
  made.callArguments("0", '{"ok":');
  made.callArguments("0", "true}");
  made.close("0");
  expect(made.finish("toolUse")).toMatchObject({
    stopReason: "stop",
    content: [{ type: "text", text: '{"ok":true}' }],
  });
  expect(events.map((event) => event.type)).toEqual(["start", "textDelta", "textDelta"]);
});

test("a call without an id gets one of its own, and a name that is missing makes it malformed", () => {
  const { made } = assembler();
  made.call("0", {});
  made.close("0");
  made.call("1", { name: "add" });
  made.close("1");
  const [nameless, call] = made.finish("toolUse").content;
  expect(nameless).toMatchObject({ malformed: { kind: "invalid" } });
  expect(call).toMatchObject({ id: expect.stringMatching(/^local_\w{20}$/), name: "add" });
});

test("a warning is given once per kind", () => {
  const { made, events } = assembler();
  made.warn("a", "one");
  made.warn("a", "two");
  made.warn("b", "three");
  expect(events.filter((event) => event.type === "warning")).toHaveLength(2);
});
