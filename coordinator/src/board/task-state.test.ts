import fc from "fast-check";
import { expect, test } from "vitest";

import { RUN_STATES } from "../runs/run-state.ts";
import { type Blocker, isActive, isSatisfied, stateOf, type TaskFacts } from "./task-state.ts";

const blocker = fc.record<Blocker>({
  key: fc.constant("T-1"),
  title: fc.constant("First"),
  category: fc.constantFrom("backlog", "todo", "in_progress", "in_review", "done", "cancelled"),
  archived: fc.boolean(),
  state: fc.option(fc.constantFrom(...RUN_STATES)),
});
const facts = fc.record<TaskFacts>({
  category: fc.constantFrom("backlog", "todo", "in_progress", "in_review", "done", "cancelled"),
  wantsStart: fc.boolean(),
  startError: fc.constantFrom("", "assistant x is gone"),
  retryAt: fc.option(fc.constant(new Date(0))),
  blockers: fc.array(blocker, { maxLength: 3 }),
  run: fc.option(
    fc.record({
      state: fc.constantFrom(...RUN_STATES),
      reason: fc.constant("why"),
      error: fc.constantFrom(null, { code: "x", message: "it broke" }),
    }),
    { nil: undefined },
  ),
});

test("an active run says what its task is, whatever else is known", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const { state, reason } = stateOf(given);
      const shown = ["queued", "running", "waiting"].includes(state);
      if (given.run !== undefined && isActive(given.run.state)) expect([shown, reason]).toEqual([true, "why"]);
      else expect(["running", "waiting"]).not.toContain(state);
    }),
  );
});

test("a blocked task always says by what, and a task that is not blocked has nothing open that it still waits for", () => {
  fc.assert(
    fc.property(facts, (given) => {
      const { state, reason } = stateOf(given);
      const isOpen = given.blockers.some((each) => !isSatisfied(each));
      if (state === "blocked") expect([isOpen, reason.includes("T-1 (First)")]).toEqual([true, true]);
      if (state === "queued" && given.run === undefined) {
        expect(isOpen && given.category !== "done" && given.category !== "cancelled").toBe(false);
      }
    }),
  );
});

test("a predecessor that did not succeed is named as such", () => {
  const blockers: Blocker[] = [
    { key: "T-4", title: "Build", category: "in_progress", archived: false, state: "failed" },
  ];
  const { state, reason } = stateOf({
    category: "todo",
    wantsStart: true,
    startError: "",
    retryAt: null,
    blockers,
    run: undefined,
  });
  expect(state).toBe("blocked");
  expect(reason).toContain("T-4 (Build) did not succeed");
});
