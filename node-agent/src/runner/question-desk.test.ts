import { systemClock } from "@mesh/kernel";
import { expect, test } from "vitest";

import type { FromRunner } from "./protocol.ts";
import { QuestionDesk } from "./question-desk.ts";

const RUN = { runId: "run_1", epoch: 2 };

function desk(): { readonly questions: QuestionDesk; readonly sent: FromRunner[] } {
  const sent: FromRunner[] = [];
  const questions = new QuestionDesk(async (message) => void sent.push(message));
  return { questions, sent };
}

test("each question gets its own answer, in whatever order they come", async () => {
  const { questions, sent } = desk();
  const port = questions.for(RUN);
  const { signal } = new AbortController();
  const first = port.call("memory", "Get", ["user", "a"], signal);
  const second = port.call("memory", "Get", ["user", "b"], signal);
  questions.answer(2, { result: "b" });
  questions.answer(1, { error: { code: "not_found", message: "no a" } });
  expect(await second).toBe("b");
  await expect(first).rejects.toMatchObject({ code: "not_found", message: "no a" });
  expect(sent).toMatchObject([
    { kind: "ask", ...RUN, question: 1, asked: { service: "memory", method: "Get", args: ["user", "a"] } },
    { kind: "ask", ...RUN, question: 2 },
  ]);
});

test("the end of the run ends its questions, and a late answer meets nobody", async () => {
  const { questions } = desk();
  const stop = new AbortController();
  const asked = questions.for(RUN).call("chat", "History", [], stop.signal);
  stop.abort();
  await expect(asked).rejects.toMatchObject({ code: "cancelled" });
  questions.answer(1, { result: [] });
  await expect(questions.for(RUN).call("chat", "History", [], stop.signal)).rejects.toThrow();
});

test("a run that ends while its question is still being sent takes nothing with it", async () => {
  const unheard: unknown[] = [];
  const hear = (reason: unknown): void => void unheard.push(reason);
  process.on("unhandledRejection", hear);
  try {
    let sent = (): void => undefined;
    const questions = new QuestionDesk(() => new Promise((resolve) => (sent = resolve)));
    const stop = new AbortController();
    const asked = questions.for(RUN).call("memory", "Get", ["user", "a"], stop.signal);
    stop.abort();
    await systemClock.sleep(20);
    sent();
    await expect(asked).rejects.toMatchObject({ code: "cancelled" });
    expect(unheard).toEqual([]);
  } finally {
    process.off("unhandledRejection", hear);
  }
});
