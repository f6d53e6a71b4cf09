import { expect, test } from "vitest";

import { type AskedRun, type ItemAnswer, judgeAnswer, type Question, toAnswer } from "./answer-rule.ts";
import type { PendingItem } from "./pending-item.ts";

function item(id: string, kind: PendingItem["kind"] = "approval"): PendingItem {
  return { id, kind, tool: "bash", arguments: {}, text: "?", choices: [], arguments_cut: false };
}

function open(id: string, kind?: PendingItem["kind"]): Question {
  return { item: item(id, kind), isCurrent: true, answered: undefined };
}

function answered(answer: ItemAnswer): Question {
  return {
    item: item(answer.call_id),
    isCurrent: true,
    answered: { answer, by: "user:ann", at: "2026-01-01T00:00:00.000Z" },
  };
}

function asked(questions: readonly Question[], state: AskedRun["state"] = "waiting"): AskedRun {
  return { id: "run_1", state, questions };
}

const approve = (call_id: string): ItemAnswer => ({ call_id, decision: "approve" });

test("A2 an answer to the last open item says so, one before it does not", () => {
  const run = asked([open("a"), open("b")]);
  expect(judgeAnswer(run, approve("b"))).toEqual({ kind: "new", isLast: false });
  expect(judgeAnswer(asked([answered(approve("a")), open("b")]), approve("b"))).toEqual({ kind: "new", isLast: true });
});

test.each(["waiting", "queued", "running", "succeeded"] as const)(
  "A1 the same answer again is harmless while the run is %s, whatever the order of its fields",
  (state) => {
    const edit: ItemAnswer = { call_id: "a", decision: "edit", arguments: { x: 1, y: 2 } };
    const again: ItemAnswer = { decision: "edit", arguments: { y: 2, x: 1 }, call_id: "a" };
    expect(judgeAnswer(asked([answered(edit)], state), again)).toEqual({ kind: "repeated" });
  },
);

test("A1 another answer is refused with what was answered, by whom and when", () => {
  const run = asked([answered({ call_id: "a", decision: "deny", text: "too late" })], "succeeded");
  expect(() => judgeAnswer(run, approve("a"))).toThrow(
    expect.objectContaining({
      code: "already_exists",
      message: "bash a was answered before, by user:ann at 2026-01-01T00:00:00.000Z: deny: too late",
      details: { decision: "deny", text: "too late", by: "user:ann", at: "2026-01-01T00:00:00.000Z" },
    }),
  );
  const other: ItemAnswer = { call_id: "a", decision: "deny", text: "no" };
  expect(() => judgeAnswer(run, other)).toThrow("was answered before");
});

test("A2 what is not asked is refused with what is", () => {
  const run = asked([open("b"), { ...open("old"), isCurrent: false }]);
  for (const id of ["x", "old"]) {
    expect(() => judgeAnswer(run, approve(id))).toThrow(
      expect.objectContaining({ code: "not_found", message: `run run_1 does not ask ${id}; open: b (bash)` }),
    );
  }
});

test("A2 a run that does not wait takes no answer, also not to what it left open", () => {
  for (const questions of [[], [open("a")]]) {
    expect(() => judgeAnswer(asked(questions, "cancelled"), approve("a"))).toThrow(
      expect.objectContaining({ code: "failed_precondition", message: expect.stringContaining("it is cancelled") }),
    );
  }
});

test("of two questions with one id, which a run that began again may ask, the newest counts", () => {
  const run = asked([open("a"), { ...answered(approve("a")), isCurrent: false }]);
  expect(judgeAnswer(run, { call_id: "a", decision: "deny" })).toEqual({ kind: "new", isLast: true });
});

test("A2 a question takes no approval and an approval no answer", () => {
  const run = asked([open("q", "question"), open("a")]);
  expect(() => judgeAnswer(run, approve("q"))).toThrow("q is a question, which takes answer or deny, not approve");
  expect(() => judgeAnswer(run, { call_id: "a", decision: "answer", text: "x" })).toThrow("a is an approval");
  expect(judgeAnswer(run, { call_id: "q", decision: "deny" }).kind).toBe("new");
});

const BARE = { call_id: "a", arguments: undefined, text: "" };

test.each<[string, Parameters<typeof toAnswer>[0], string]>([
  ["an edit without arguments", { ...BARE, decision: "edit" }, 'needs "arguments"'],
  ["an answer without text", { ...BARE, decision: "answer" }, 'needs "text"'],
  ["an approval with arguments", { ...BARE, decision: "approve", arguments: {} }, "belong to the decision edit"],
  ["an approval with text", { ...BARE, decision: "approve", text: "yes" }, "belongs to the decisions"],
  ["an edit with text", { ...BARE, decision: "edit", arguments: {}, text: "x" }, "belongs to the decisions"],
  ["anything else", { ...BARE, decision: "maybe" }, "must be approve, deny, edit or answer"],
])("%s is refused", (_what, request, says) => {
  expect(() => toAnswer(request)).toThrow(says);
});

test("a whole request becomes an answer with only what was said", () => {
  expect(toAnswer({ ...BARE, decision: "deny" })).toEqual({ call_id: "a", decision: "deny" });
  expect(toAnswer({ ...BARE, decision: "edit", arguments: {} })).toEqual({
    call_id: "a",
    decision: "edit",
    arguments: {},
  });
});
