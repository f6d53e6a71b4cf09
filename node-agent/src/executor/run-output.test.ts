import { FakeClock } from "@mesh/kernel/testing";
import type { OutputMessage } from "@mesh/runtime";
import { expect, test } from "vitest";

import type { NewEvent } from "../journal/journal.ts";
import { RunOutput } from "./run-output.ts";

function setUp(): { clock: FakeClock; events: NewEvent[]; output: RunOutput } {
  const clock = new FakeClock();
  const events: NewEvent[] = [];
  const output = new RunOutput({
    clock,
    append: (event) => void events.push(event),
    failed: (error) => {
      throw error;
    },
  });
  return { clock, events, output };
}

function delta(content: string, message_id = "M1", chunk_id = "C1"): OutputMessage {
  return { type: "text", delta: true, props: { content }, message_id, chunk_id };
}

function contents(events: readonly NewEvent[]): unknown[] {
  return events.map((event) => (JSON.parse(event.body) as OutputMessage).props["content"]);
}

test("T1 the first piece goes at once, the next are joined for 50 ms", async () => {
  const { clock, events, output } = setUp();
  output.write(delta("a", "M1", "C1"));
  expect(contents(events)).toEqual(["a"]);
  output.write(delta("b", "M1", "C2"));
  output.write(delta("c", "M1", "C3"));
  expect(events).toHaveLength(1);
  await clock.advance(50);
  expect(contents(events)).toEqual(["a", "bc"]);
  expect(JSON.parse(events[1]!.body)).toMatchObject({ chunk_id: "C3", delta: true, message_id: "M1" });
  expect(events[1]!.deltaOf).toBe("M1");
});

test("T1 four thousand characters do not wait", () => {
  const { events, output } = setUp();
  output.write(delta("a"));
  output.write(delta("b".repeat(4_000)));
  output.write(delta("c".repeat(100)));
  expect(contents(events).map((text) => String(text).length)).toEqual([1, 4_100]);
});

test("T2 everything else comes behind the pieces before it, and pieces of two messages never mix", () => {
  const { events, output } = setUp();
  output.write(delta("a"));
  output.write(delta("b"));
  output.write({ type: "event", props: { event: "message_end", data: { message_id: "M1", type: "text" } } });
  output.write(delta("x", "M2"));
  output.write(delta("y", "M2"));
  output.write(delta("z", "M3"));
  output.flush();
  expect(contents(events)).toEqual(["a", "b", undefined, "x", "y", "z"]);
  expect(events[2]).toMatchObject({ endsMessage: "M1", durable: false, deltaOf: "" });
});

test("tool calls and tool results wait for the disk, text does not", () => {
  const { events, output } = setUp();
  output.write({ type: "execute", props: { tool: "t" }, message_id: "M1" });
  output.write({ type: "event", props: { event: "message_end", data: { message_id: "M2", type: "tool_call" } } });
  output.write({ type: "text", props: { content: "x" }, message_id: "M3" });
  expect(events.map((event) => event.durable)).toEqual([true, true, false]);
});

test("a message that cannot travel is refused with a reason", () => {
  const { output } = setUp();
  expect(() => output.write({ type: "text", props: { content: "x".repeat(800_000) } })).toThrow(/larger than 768 KiB/);
});

test("what the run says of itself is an event of its own kind; a program's message of that type stays a message", () => {
  const { events, output } = setUp();
  output.write({ type: "log", props: { text: "x" } });
  output.write({ type: "log", props: { text: "x" }, message_id: "M1" });
  output.write({ type: "trace", props: { type: "complete" } });
  output.write({ type: "trace", props: { type: "complete" }, message_id: "M2" });
  expect(events.map(({ kind }) => kind)).toEqual(["log", "message", "trace", "message"]);
});
