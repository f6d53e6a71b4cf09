/** Public reports about the loop itself: cancelling, pausing, resuming, failing. */

import { broken, resultText, type Scenario, type Session, type StageTool } from "./scenario.ts";
import { chatCalls, chatText } from "./script.ts";

const protocol = "openai-completions";
const never = (): Promise<string> => new Promise(() => undefined);

/** Resolves when a signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Aborts and tells how long the prompt still took. */
async function abortAndWait<T>(
  session: Session,
  running: Promise<T>,
): Promise<{ readonly end: T; readonly settledMs: number }> {
  const start = performance.now();
  session.abort();
  const end = await running;
  return { end, settledMs: performance.now() - start };
}

const isQuick = (settledMs: unknown): boolean => typeof settledMs === "number" && settledMs < 1000;

/** The rows. */
export const LOOP_SCENARIOS: readonly Scenario[] = [
  {
    row: 1,
    name: "finished-and-stalled",
    title: "cancelled while one of two parallel calls has finished: its result is kept, the next request is valid",
    protocol,
    needs: ["abort"],
    answers: [
      chatCalls([
        { id: "call_a", name: "quick" },
        { id: "call_b", name: "stuck" },
      ]),
      chatText("fine"),
    ],
    async play(stage) {
      const quick: StageTool = { name: "quick", run: () => (stage.did("quick"), "the quick result") };
      const stuck: StageTool = { name: "stuck", run: () => (stage.did("stuck"), never()) };
      const session = stage.open({ tools: [quick, stuck] });
      const running = session.prompt("go");
      await Promise.all([stage.until("quick"), stage.until("stuck")]);
      await settledResults();
      const { end, settledMs } = await abortAndWait(session, running);
      return { session, ends: [end, await session.prompt("go on")], facts: { settledMs } };
    },
    judge: ({ ends, requests, facts }) =>
      broken({
        "the cancelled run settles although a tool ignores its signal": isQuick(facts["settledMs"]),
        "it ends as cancelled": ends[0]?.kind === "cancelled",
        "the next prompt is answered": ends[1]?.kind === "completed",
        "the finished result is in the next request": JSON.stringify(requests.at(-1) ?? {}).includes(
          "the quick result",
        ),
      }),
  },
  {
    row: 2,
    name: "gate-cancels",
    title: "the gate of the second call cancels after the first was allowed: none starts, both are answered",
    protocol,
    needs: ["abort", "gate"],
    answers: [
      chatCalls([
        { id: "call_a", name: "act" },
        { id: "call_b", name: "act" },
      ]),
      chatText("fine"),
    ],
    async play(stage) {
      const act: StageTool = { name: "act", run: () => (stage.did("act"), "done") };
      const session = stage.open({
        tools: [act],
        gate: (callId) => {
          stage.did(`gate ${callId}`);
          if (callId === "call_b") session.abort();
        },
      });
      return { session, ends: [await session.prompt("go")] };
    },
    judge: ({ ends, done, history, requests }) =>
      broken({
        "no call is run": !done.includes("act"),
        "both calls are answered": ["call_a", "call_b"].every((id) => resultText(history, id) !== undefined),
        "it ends as cancelled": ends[0]?.kind === "cancelled",
        "nothing more is asked": requests.length === 1,
      }),
  },
  {
    row: 7,
    name: "hook-throws",
    title: "an exception inside the loop is a failure that says why, not an empty answer",
    protocol,
    needs: ["turnHook"],
    answers: [chatCalls([{ id: "call_a", name: "act" }]), chatText("fine")],
    async play(stage) {
      const session = stage.open({
        tools: [{ name: "act", run: () => "done" }],
        beforeTurn: (turn) => {
          if (turn === 1) throw new Error("boom in the loop");
        },
      });
      return { session, ends: [await session.prompt("go")] };
    },
    judge: ({ ends, history }) => {
      const last = history.at(-1);
      const isEmpty =
        last?.role === "assistant" && last.text === "" && last.calls.length === 0 && last.error === undefined;
      return broken({
        "it ends as failed": ends[0]?.kind === "failed",
        "the failure says why": ends[0]?.error?.includes("boom in the loop") === true,
        "no empty answer stands in the history": !isEmpty,
      });
    },
  },
  {
    row: 14,
    name: "late-result",
    title: "a result that comes after its run was cancelled changes nothing and is no unhandled rejection",
    protocol,
    needs: ["abort"],
    answers: [
      chatCalls([
        { id: "call_a", name: "late" },
        { id: "call_b", name: "fails" },
      ]),
      chatText("fine"),
    ],
    async play(stage) {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const late: StageTool = {
        name: "late",
        run: async () => {
          stage.did("late");
          await released;
          stage.did("late end");
          return "too late";
        },
      };
      const fails: StageTool = {
        name: "fails",
        run: async () => {
          stage.did("fails");
          await released;
          throw new Error("failed too late");
        },
      };
      const session = stage.open({ tools: [late, fails] });
      const running = session.prompt("go");
      await Promise.all([stage.until("late"), stage.until("fails")]);
      const { end, settledMs } = await abortAndWait(session, running);
      const before = JSON.stringify(session.history());
      release();
      await stage.until("late end");
      await settledResults();
      return { session, ends: [end], facts: { settledMs, isSame: JSON.stringify(session.history()) === before } };
    },
    judge: ({ ends, facts, requests }) =>
      broken({
        "the cancelled run settles before its tools do": isQuick(facts["settledMs"]),
        "it ends as cancelled": ends[0]?.kind === "cancelled",
        "the history stays as it was": facts["isSame"] === true,
        "nothing more is asked": requests.length === 1,
      }),
  },
  {
    row: 19,
    name: "abandoned-call",
    title: "a history that ends in a call nobody answered can be gone on with",
    protocol,
    needs: ["seed"],
    isHistoryFree: true,
    answers: [chatText("fine")],
    async play(stage) {
      const session = stage.open({
        tools: [{ name: "act", run: () => (stage.did("act"), "done") }],
        seed: [
          { role: "user", text: "go" },
          { role: "assistant", text: "", calls: [{ id: "call_a", name: "act", arguments: { n: 1 } }] },
        ],
      });
      return { session, ends: [await session.prompt("go on")] };
    },
    judge: ({ ends, done, requests }) =>
      broken({
        "the prompt is answered": ends[0]?.kind === "completed",
        "the old call is not run": done.length === 0,
        "one request is enough": requests.length === 1,
      }),
  },
  {
    row: 20,
    name: "approval-of-one",
    title: "one of three parallel calls waits for approval: nothing is run twice when it comes",
    protocol,
    needs: ["approval"],
    answers: [
      chatCalls([
        { id: "call_a", name: "first" },
        { id: "call_b", name: "asks" },
        { id: "call_c", name: "third" },
      ]),
      chatText("fine"),
    ],
    async play(stage) {
      const tool = (name: string, needsApproval = false): StageTool => ({
        name,
        ...(needsApproval ? { needsApproval } : {}),
        run: () => (stage.did(name), `${name} result`),
      });
      const session = stage.open({ tools: [tool("first"), tool("asks", true), tool("third")] });
      const paused = await session.prompt("go");
      const before = [...stage.done];
      const waiting = session.waiting();
      const end = await session.answer(Object.fromEntries(waiting.map((id) => [id, true as const])));
      return { session, ends: [paused, end], facts: { before, waiting } };
    },
    judge: ({ ends, done, requests, facts, history }) =>
      broken({
        "it waits": ends[0]?.kind === "waiting",
        "only the call that asks waits": JSON.stringify(facts["waiting"]) === '["call_b"]',
        "what asks is not run before": !(facts["before"] as readonly string[]).includes("asks"),
        "each call is run once": done.toSorted().join() === "asks,first,third",
        "the prompt is answered": ends[1]?.kind === "completed",
        "the model is asked twice": requests.length === 2,
        "all results are there": ["call_a", "call_b", "call_c"].every((id) => resultText(history, id) !== undefined),
      }),
  },
  {
    row: 22,
    name: "client-tools",
    title: "two calls that the application answers: nothing is asked before both are, and their arguments stay",
    protocol,
    needs: ["external"],
    answers: [
      chatCalls([
        { id: "call_a", name: "pick", args: { from: "left" } },
        { id: "call_b", name: "pick", args: { from: "right" } },
      ]),
      chatText("fine"),
    ],
    async play(stage) {
      const session = stage.open({ tools: [{ name: "pick" }] });
      const ends = [await session.prompt("go")];
      const waiting = session.waiting();
      ends.push(await session.answer({ call_a: "apple" }));
      const between = stage.requests();
      ends.push(await session.answer({ call_b: "pear" }));
      return { session, ends, facts: { between, waiting } };
    },
    judge: ({ ends, requests, facts }) => {
      const sent = JSON.stringify(requests.at(-1) ?? {});
      return broken({
        "both calls wait": JSON.stringify(facts["waiting"]) === '["call_a","call_b"]',
        "nothing is asked while one is unanswered": facts["between"] === 1,
        "the prompt is answered": ends.at(-1)?.kind === "completed",
        "both results are sent": sent.includes("apple") && sent.includes("pear"),
        "the arguments are sent as the model wrote them": sent.includes("left") && sent.includes("right"),
      });
    },
  },
  {
    row: 29,
    name: "interrupted-tool",
    title: "a tool that fails because it was interrupted is told as cancelled, not as failed",
    protocol,
    needs: ["abort"],
    answers: [chatCalls([{ id: "call_a", name: "long" }]), chatText("fine")],
    async play(stage) {
      const long: StageTool = {
        name: "long",
        run: async (_args, signal) => {
          stage.did("long");
          await aborted(signal);
          throw new Error("interrupted system call");
        },
      };
      const session = stage.open({ tools: [long] });
      const running = session.prompt("go");
      await stage.until("long");
      const { end, settledMs } = await abortAndWait(session, running);
      return { session, ends: [end], facts: { settledMs } };
    },
    judge: ({ ends, history, facts }) =>
      broken({
        "it settles": isQuick(facts["settledMs"]),
        "it ends as cancelled": ends[0]?.kind === "cancelled",
        "the result does not blame the tool": !JSON.stringify(history).includes("interrupted system call"),
      }),
  },
  {
    row: 34,
    name: "one-completion-id",
    title: "a server that repeats one completion id for every answer: the history ends with the last of them",
    protocol,
    needs: [],
    answers: [chatCalls([{ id: "call_a", name: "act" }], "chatcmpl-1"), chatText("the last answer", "chatcmpl-1")],
    async play(stage) {
      const session = stage.open({ tools: [{ name: "act", run: () => (stage.did("act"), "0") }] });
      return { session, ends: [await session.prompt("go")] };
    },
    judge: ({ ends, history, requests }) => {
      const last = history.at(-1);
      return broken({
        "the prompt is answered": ends[0]?.kind === "completed",
        "the history ends with the last answer": last?.role === "assistant" && last.text === "the last answer",
        "the call stands with its result": resultText(history, "call_a") === "0",
        "the model is asked twice": requests.length === 2,
      });
    },
  },
];

/** Lets results that are there reach whoever waits for them. */
async function settledResults(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
