/**
 * What an answer to a waiting run means. Pure.
 *
 * A1  A thing is answered once: the same answer again changes nothing, whatever the run does by then; another one is refused
 *     with what was answered, by whom and when.
 * A2  Only what the run asks now can be answered, and only as its kind allows.
 */

import { canonicalJson, MeshError } from "@mesh/kernel";

import type { PendingItem } from "./pending-item.ts";
import type { RunState } from "./run-state.ts";

/** An answer, as stored and as devices get it. */
export interface ItemAnswer {
  readonly call_id: string;
  readonly decision: "approve" | "deny" | "edit" | "answer";
  readonly arguments?: Readonly<Record<string, unknown>>;
  readonly text?: string;
}

/** One thing a run has asked. */
export interface Question {
  readonly item: PendingItem;
  /** It belongs to what the run waits for now. */
  readonly isCurrent: boolean;
  readonly answered: { readonly answer: ItemAnswer; readonly by: string; readonly at: string } | undefined;
}

/** A run with all it has asked, the newest first. */
export interface AskedRun {
  readonly id: string;
  readonly state: RunState;
  readonly questions: readonly Question[];
}

/** What to do with an answer. */
export type AnswerVerdict =
  | { readonly kind: "repeated" }
  /** To be stored; `isLast` when nothing is open after it. */
  | { readonly kind: "new"; readonly isLast: boolean };

const DECISIONS: Readonly<Record<PendingItem["kind"], readonly string[]>> = {
  approval: ["approve", "deny", "edit"],
  question: ["answer", "deny"],
};

/** The answer that a request gives; throws when it lacks a part or has one that its decision cannot have. */
export function toAnswer(request: {
  readonly call_id: string;
  readonly decision: string;
  readonly arguments: Readonly<Record<string, unknown>> | undefined;
  readonly text: string;
}): ItemAnswer {
  const { call_id, decision, text, arguments: args } = request;
  if (args !== undefined && decision !== "edit") throw invalid(`"arguments" belong to the decision edit`);
  if (text !== "" && decision !== "answer" && decision !== "deny") {
    throw invalid(`"text" belongs to the decisions answer and deny`);
  }
  switch (decision) {
    case "approve":
      return { call_id, decision };
    case "deny":
      return { call_id, decision, ...(text === "" ? {} : { text }) };
    case "edit":
      if (args === undefined)
        throw invalid(`the decision edit needs "arguments": what the tool is called with instead`);
      return { call_id, decision, arguments: args };
    case "answer":
      if (text === "") throw invalid(`the decision answer needs "text"`);
      return { call_id, decision, text };
    default:
      throw invalid(`"decision" must be approve, deny, edit or answer`);
  }
}

/** Judges an answer; throws when it cannot be taken. */
export function judgeAnswer(run: AskedRun, answer: ItemAnswer): AnswerVerdict {
  const question = run.questions.find(({ item }) => item.id === answer.call_id);
  if (question?.answered !== undefined) {
    if (canonicalJson({ ...question.answered.answer }) === canonicalJson({ ...answer })) return { kind: "repeated" };
    throw answeredOtherwise(question.item, question.answered);
  }
  if (run.state !== "waiting") {
    throw new MeshError(
      "failed_precondition",
      `run ${run.id} does not wait for an answer: it is ${run.state}; see yao runs show ${run.id}`,
    );
  }
  const open = run.questions.filter(({ isCurrent, answered }) => isCurrent && answered === undefined);
  if (question === undefined || !question.isCurrent) {
    throw new MeshError(
      "not_found",
      `run ${run.id} does not ask ${answer.call_id}; open: ${open.map(({ item }) => `${item.id} (${item.tool})`).join(", ")}`,
    );
  }
  const allowed = DECISIONS[question.item.kind];
  if (!allowed.includes(answer.decision)) {
    const what = question.item.kind === "approval" ? "an approval" : "a question";
    throw invalid(`${answer.call_id} is ${what}, which takes ${allowed.join(" or ")}, not ${answer.decision}`);
  }
  return { kind: "new", isLast: open.length === 1 };
}

function answeredOtherwise(item: PendingItem, answered: NonNullable<Question["answered"]>): MeshError {
  const { answer, by, at } = answered;
  const { call_id, decision, text } = answer;
  const said = text === undefined ? decision : `${decision}: ${text.slice(0, 200)}`;
  return new MeshError("already_exists", `${item.tool} ${call_id} was answered before, by ${by} at ${at}: ${said}`, {
    details: { decision, by, at, ...(text === undefined ? {} : { text }) },
  });
}

function invalid(message: string): MeshError {
  return new MeshError("invalid_argument", message);
}
