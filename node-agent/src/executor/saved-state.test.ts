import type { StatePart } from "@mesh/proto";
import { expect, test } from "vitest";

import { fetchSavedState } from "./saved-state.ts";

function from(states: readonly string[], answers: readonly string[]): (part: number) => Promise<StatePart> {
  const bodies = [...states, ...answers];
  return async (part) => ({ state_parts: states.length, answers: answers.length, body: bodies[part] ?? "" });
}

test("pieces become one state, and the answers behind them are read", async () => {
  const answers = ['{"call_id":"a","decision":"approve"}', '{"call_id":"b","decision":"answer","text":"x"}'];
  expect(await fetchSavedState(from(["one ", "two"], answers))).toEqual({
    state: "one two",
    answers: [
      { call_id: "a", decision: "approve" },
      { call_id: "b", decision: "answer", text: "x" },
    ],
  });
});

test("a state that is gone is empty, which nobody can go on from", async () => {
  expect(await fetchSavedState(from([], []))).toEqual({ state: "", answers: [] });
});

test("neither a state without end nor an answer without a meaning is taken", async () => {
  const endless = async (): Promise<StatePart> => ({ state_parts: 4_000, answers: 0, body: "x".repeat(1024 * 1024) });
  await expect(fetchSavedState(endless)).rejects.toMatchObject({ code: "resource_exhausted" });
  const many = async (): Promise<StatePart> => ({ state_parts: 4_000_000_000, answers: 0, body: "" });
  await expect(fetchSavedState(many)).rejects.toMatchObject({ code: "resource_exhausted" });
  for (const body of ["{}", "}"]) {
    await expect(fetchSavedState(from(["x"], [body]))).rejects.toMatchObject({ code: "data_loss" });
  }
});
