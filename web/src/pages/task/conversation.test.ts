// @vitest-environment node
import type { RunEvent } from "@mesh/proto";
import fc from "fast-check";
import { expect, test } from "vitest";

import { FakeState } from "../../testing/fake-state.ts";
import { Conversation } from "./conversation.ts";

function scripted(): { events: readonly RunEvent[]; run: string } {
  const state = new FakeState();
  state.addTask();
  const { id: run } = state.startRun("T-1");
  state.emit(run, "run.started", {});
  const thinking = state.say(run, "M1", "thinking");
  thinking.add("Hm");
  thinking.add(", well");
  thinking.end();
  state.emit(run, "message", { type: "execute", message_id: "M2", props: { tool: "read", status: "running" } });
  state.emit(run, "message", {
    type: "execute",
    message_id: "M2",
    delta: true,
    delta_action: "merge",
    props: { progress: "half" },
  });
  state.emit(run, "message", {
    type: "execute",
    message_id: "M2",
    props: { tool: "read", status: "completed", output: "x" },
  });
  const call = { id: "c1", name: "read", index: 0, type: "function" };
  state.emit(run, "message", {
    type: "tool_call",
    message_id: "M3",
    delta: true,
    delta_action: "merge",
    props: { ...call, arguments: '{"a"' },
  });
  state.emit(run, "message", {
    type: "tool_call",
    message_id: "M3",
    delta: true,
    delta_action: "append",
    delta_path: "arguments",
    props: { arguments: ":1}" },
  });
  const text = state.say(run, "M4");
  for (const piece of ["Hello", " ", "world", "!"]) text.add(piece);
  text.end();
  state.emit(run, "run.asked", { pending: [{ id: "c2", kind: "question", tool: "ask", text: "Which?", choices: [] }] });
  state.emit(run, "run.answered", { call_id: "c2", decision: "answer", by: "ada" });
  state.emit(run, "run.finished", { state: "succeeded" });
  return { events: state.eventsOf(run), run };
}

function shown(conversation: Conversation): unknown {
  return conversation.entries.map(({ id, type, text, props, isOpen }) => ({ id, type, text, props, isOpen }));
}

function apply(run: string, events: readonly RunEvent[]): Conversation {
  const conversation = new Conversation();
  conversation.follow(run, 0);
  for (const event of events) conversation.apply(event);
  return conversation;
}

test("V2 pieces make the message, and its end has the last word", () => {
  const { events, run } = scripted();
  const conversation = apply(run, events);
  expect(conversation.entries.map(({ type, text }) => [type, text])).toEqual([
    ["thinking", "Hm, well"],
    ["execute", ""],
    ["tool_call", '{"a":1}'],
    ["text", "Hello world!"],
  ]);
  expect(conversation.entries[1]?.props).toMatchObject({ status: "completed", output: "x" });
  expect(conversation.entries.every(({ isOpen }) => !isOpen)).toBe(true);
  expect(conversation.runState).toBe("succeeded");
  expect(conversation.pending).toEqual([]);
});

test("V1 a client that is cut at random and resumes with overlap ends with the same conversation", () => {
  const { events, run } = scripted();
  const expected = shown(apply(run, events));
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(events.length), fc.nat(5))), (cuts) => {
      const conversation = new Conversation();
      conversation.follow(run, 0);
      for (const [to, overlap] of cuts) {
        const from = Math.max(0, conversation.cursor - overlap);
        for (const event of events.slice(from, Math.max(to, conversation.cursor))) conversation.apply(event);
      }
      for (const event of events.slice(conversation.cursor)) conversation.apply(event);
      expect(shown(conversation)).toEqual(expected);
    }),
  );
});

test("a snapshot stands for the pieces that are gone", () => {
  const { events, run } = scripted();
  const last = events.findIndex(({ data }) => data?.["message_id"] === "M4");
  const conversation = apply(run, events.slice(0, last));
  const messages = [{ type: "text", message_id: "M4", props: { content: "Hello world!" } }];
  conversation.apply({ run_id: run, seq: last + 5, epoch: 1, at: "", kind: "snapshot", data: { messages } });
  expect(conversation.entries.at(-1)).toMatchObject({ type: "text", text: "Hello world!" });
});

test("whole messages of a page and the events of their run are not shown twice", () => {
  const { events, run } = scripted();
  const conversation = new Conversation();
  const message = { type: "text", message_id: "M4", props: { content: "Hello world!" } };
  conversation.addPage([
    { seq: 1, role: "user", author: "Ada", at: "", message: { type: "text", props: { content: "Hi" } } },
    { seq: 2, role: "assistant", author: "helper", at: "", run_id: run, message },
  ]);
  conversation.follow(run, 0);
  for (const event of events) conversation.apply(event);
  expect(conversation.entries.filter(({ text }) => text === "Hello world!")).toHaveLength(1);
  expect(conversation.entries[0]).toMatchObject({ role: "user", text: "Hi" });
});

test("V3 a run of many messages holds the newest 400", () => {
  const state = new FakeState();
  state.addTask();
  const { id: run } = state.startRun("T-1");
  for (let n = 1; n <= 1_000; n += 1) {
    state.emit(run, "message", { type: "text", message_id: `M${n}`, props: { content: `text ${n}` } });
  }
  const conversation = apply(run, state.eventsOf(run));
  expect(conversation.entries).toHaveLength(400);
  expect(conversation.entries.at(-1)?.text).toBe("text 1000");
});

test("listeners are told once per flush, and not at all when nothing changed", () => {
  const { events, run } = scripted();
  const conversation = apply(run, events.slice(0, 4));
  let told = 0;
  conversation.subscribe(() => (told += 1));
  conversation.flush();
  conversation.flush();
  expect(told).toBe(1);
});
