import type { RunEvent } from "@mesh/proto";
import { expect, test } from "vitest";

import { eventText, kindOf } from "./event-line.ts";

const event = (kind: string, data: RunEvent["data"]): RunEvent => ({
  run_id: "r",
  seq: 1,
  epoch: 1,
  at: "",
  kind,
  data,
});

test("a message shows its text, a log line its level, the rest its data; always one line of bounded length", () => {
  expect(eventText(event("message", { type: "text", props: { content: "a\n  b" } }))).toBe("a b");
  expect(eventText(event("log", { level: "warn", message: "disk is full" }))).toBe("warn: disk is full");
  expect(eventText(event("run.finished", { state: "failed" }))).toBe('{"state":"failed"}');
  expect(eventText(event("message", { props: { content: "x".repeat(9_000) } }))).toHaveLength(400);
});

test("changes of the run's state are one kind, snapshots count as messages", () => {
  expect(
    ["run.asked", "run.finished", "snapshot", "message", "trace", "log"].map((kind) => kindOf(event(kind, {}))),
  ).toEqual(["state", "state", "message", "message", "trace", "log"]);
});
