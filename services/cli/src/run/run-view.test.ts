import type { RunEvent } from "@mesh/proto";
import { describe, expect, test } from "vitest";

import { type Piece, RunView } from "./run-view.ts";

function event(kind: string, data: Record<string, unknown>): RunEvent {
  return { run_id: "run_1", seq: 1, epoch: 1, at: "", kind, data };
}

const text = (id: string, content: string, delta = true): RunEvent =>
  event("message", { type: "text", message_id: id, delta, props: { content } });

function show(...events: readonly RunEvent[]): readonly Piece[] {
  const view = new RunView();
  return [...events.flatMap((one) => view.pieces(one)), ...view.end()];
}

function answer(...events: readonly RunEvent[]): string {
  return show(...events)
    .filter((piece) => piece.kind === "text")
    .map((piece) => piece.text)
    .join("");
}

describe("the text of a run", () => {
  test("deltas are shown as they come, and the line is ended", () => {
    expect(answer(text("M1", "Good "), text("M1", "morning"))).toBe("Good morning\n");
  });

  test("the whole message after its deltas is not shown again", () => {
    expect(answer(text("M1", "Good "), text("M1", "morning"), text("M1", "Good morning", false))).toBe(
      "Good morning\n",
    );
  });

  test("of a snapshot only what was not shown yet is shown", () => {
    const snapshot = event("snapshot", {
      messages: [{ type: "text", message_id: "M1", props: { content: "Good morning" } }],
    });
    expect(answer(text("M1", "Good "), snapshot)).toBe("Good morning\n");
  });

  test("a snapshot may be one message", () => {
    const snapshot = event("snapshot", { type: "text", message_id: "M1", props: { content: "all" } });
    expect(answer(snapshot, text("M1", " of it"))).toBe("all of it\n");
  });

  test("a message that was replaced is shown again on its own line", () => {
    expect(answer(text("M1", "Good"), text("M1", "Bad", false))).toBe("Good\nBad\n");
  });

  test("messages are kept apart", () => {
    expect(answer(text("M1", "one"), text("M2", "two"))).toBe("one\ntwo\n");
  });

  test("thinking is not part of the answer", () => {
    const thinking = event("message", { type: "thinking", message_id: "M1", delta: true, props: { content: "hm" } });
    expect(answer(thinking, text("M2", "yes"))).toBe("yes\n");
    expect(show(thinking)[0]).toEqual({ kind: "thinking", text: "hm" });
  });

  test("unknown types and malformed data show nothing", () => {
    expect(
      show(event("message", { type: "hologram", props: 7 }), event("trace", {}), event("run.strange", {})),
    ).toEqual([]);
  });
});

test("changes of state are told once, with their reason", () => {
  const waiting = event("run.waiting", { reason: "waiting for device laptop" });
  expect(show(event("run.queued", {}), waiting, waiting, event("run.running", { node: "laptop" }))).toEqual([
    { kind: "status", text: "waiting for device laptop" },
    { kind: "status", text: "running on laptop" },
  ]);
});
