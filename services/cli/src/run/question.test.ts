import type { PendingItem } from "@mesh/proto";
import { describe, expect, test } from "vitest";

import { pendingOf, questionsText, questionText, readAnswer } from "./question.ts";

const APPROVAL: PendingItem = {
  id: "call_1",
  kind: "approval",
  tool: "bash",
  arguments: { command: "rm -rf build" },
  text: "bash needs your approval",
  choices: [],
  arguments_cut: false,
};
const QUESTION: PendingItem = {
  ...APPROVAL,
  id: "call_2",
  kind: "question",
  tool: "ask_user",
  text: "Which one?",
  choices: ["red", "blue"],
};

test("an approval shows what would run, a question its choices, and each the command that answers it", () => {
  expect(questionsText("run_1", [APPROVAL])).toBe(
    'bash needs your approval\n  bash {"command":"rm -rf build"}\nanswer with: yao runs answer run_1 --approve  (or --deny, --edit JSON)\n',
  );
  expect(questionsText("run_1", [APPROVAL, QUESTION])).toContain(
    "Which one?\n  1  red\n  2  blue\nanswer with: yao runs answer run_1 --call call_2 --text ANSWER  (or --deny)\n",
  );
});

test("what was cut is marked, and nothing a model says can move the cursor of a terminal", () => {
  const text = questionText({
    ...APPROVAL,
    text: "\u001B[2Jtrust\nme",
    arguments: { command: "\u001B[1A\u0000" },
    arguments_cut: true,
  });
  expect(text).toBe(
    '[2Jtrust me\n  bash {"command":"\\u001b[1A\\u0000"}\n  (shown in part; the tool_call message of the run has all of it)\n',
  );
});

describe("what is typed", () => {
  test.each([
    ["y", { decision: "approve" }],
    [" YES ", { decision: "approve" }],
    ["n", { decision: "deny" }],
    ["no  not on a Friday", { decision: "deny", text: "not on a Friday" }],
    ['{"command": "ls"}', { decision: "edit", arguments: { command: "ls" } }],
  ])("%s answers an approval", (line, expected) => {
    expect(readAnswer(APPROVAL, line)).toEqual({ call_id: "call_1", ...expected });
  });

  test.each(["", "   ", "maybe", "nope", "yes please", "[1]", "{command: ls}"])(
    "%j is no answer to an approval",
    (line) => {
      expect(readAnswer(APPROVAL, line)).toBeUndefined();
    },
  );

  test.each([
    ["2", "blue"],
    ["3", "3"],
    ["0", "0"],
    ["neither", "neither"],
  ])("%s answers a question with %s", (line, text) => {
    expect(readAnswer(QUESTION, line)).toEqual({ call_id: "call_2", decision: "answer", text });
  });

  test("nothing is no answer to a question", () => {
    expect(readAnswer(QUESTION, "\t")).toBeUndefined();
  });
});

test("an event without questions asks nothing", () => {
  for (const data of [undefined, {}, { pending: "x" }, { pending: [7] }]) expect(pendingOf(data)).toEqual([]);
  expect(pendingOf({ pending: [APPROVAL] })).toEqual([APPROVAL]);
});
