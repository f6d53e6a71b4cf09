import { NodeEvent } from "@mesh/proto";
import * as fc from "fast-check";
import { expect, test } from "vitest";

import { foldBatch, type FoldRow, type RunChange } from "./run-fold.ts";

const ROW: FoldRow = {
  id: "run_1",
  state: "placed",
  lease_epoch: 2,
  committed_n: 0,
  node: "a",
  on_lost: "hold",
  attempt: 1,
  cancel_requested: false,
};

function event(n: number, kind: string, body: unknown = {}): NodeEvent {
  return NodeEvent.fromPartial({ n, kind, body: typeof body === "string" ? body : JSON.stringify(body) });
}

function fold(
  over: Partial<FoldRow>,
  events: readonly NodeEvent[],
  from: { node?: string; epoch?: number } = {},
): RunChange {
  return foldBatch({ ...ROW, ...over }, { parts: [{ node: from.node ?? "a", epoch: from.epoch ?? 2, events }] });
}

const ASKED = { pending: [{ id: "c", kind: "approval", tool: "bash", text: "bash needs you" }], duration_ms: 1500.4 };

const failed = (code: string): object => ({ state: "failed", output: "", error: { code, message: "why" } });

test.each<[string, Partial<FoldRow>, readonly NodeEvent[], Partial<RunChange>]>([
  [
    "accepted moves a placed run on",
    {},
    [event(1, "run.accepted")],
    { state: "accepted", committedN: 1, started: false },
  ],
  ["accepted does not move a running run back", { state: "running" }, [event(1, "run.accepted")], { state: "running" }],
  [
    "started sets it running",
    {},
    [event(1, "run.accepted"), event(2, "run.started")],
    { state: "running", started: true },
  ],
  [
    "the end ends it",
    { state: "running" },
    [event(1, "run.finished", { state: "succeeded", output: "x" })],
    { state: "succeeded", ended: true, freesSlot: true },
  ],
  [
    "a cancelled end is kept",
    { state: "running" },
    [event(1, "run.finished", { state: "cancelled" })],
    { state: "cancelled", ended: true },
  ],
  [
    "a made-up end is a failure",
    { state: "running" },
    [event(1, "run.finished", { state: "lost" })],
    { state: "failed" },
  ],
  ["an end that is no JSON is a failure", { state: "running" }, [event(1, "run.finished", "}{")], { state: "failed" }],
  [
    "what follows the end is not taken",
    { state: "running" },
    [event(1, "run.finished", {}), event(2, "message")],
    { committedN: 1 },
  ],
  [
    "an early event is asked for again from the first missing one",
    { committed_n: 3 },
    [event(6, "message")],
    { committedN: 3, resendFrom: 4 },
  ],
  [
    "events behind a gap are asked for again",
    { committed_n: 3 },
    [event(4, "message"), event(6, "message")],
    { committedN: 4, resendFrom: 5 },
  ],
  [
    "old events change nothing",
    { committed_n: 3, state: "running" },
    [event(2, "run.finished", {}), event(3, "message")],
    { committedN: 3, state: "running", ended: false, resendFrom: undefined },
  ],
  [
    "an ended run takes nothing, and its node is told again",
    { state: "lost", committed_n: 1 },
    [event(3, "message")],
    { state: "lost", committedN: 1, ended: true, freesSlot: false, resendFrom: undefined },
  ],
  [
    "a crash is an end when the run is held",
    { state: "running" },
    [event(1, "run.finished", failed("runner_crashed"))],
    { state: "failed", requeueReason: undefined },
  ],
  [
    "a crash sends a replaceable run back",
    { state: "running", on_lost: "replace" },
    [event(1, "run.finished", failed("runner_crashed"))],
    { state: "queued", requeueReason: "why", freesSlot: true, ended: false },
  ],
  [
    "a failure of the run itself is an end",
    { state: "running", on_lost: "replace" },
    [event(1, "run.finished", failed("invalid_argument"))],
    { state: "failed" },
  ],
  [
    "a cancelled run is not started again",
    { state: "running", on_lost: "replace", cancel_requested: true },
    [event(1, "run.finished", failed("handed_back"))],
    { state: "failed" },
  ],
  [
    "after five attempts a replaceable run ends",
    { state: "running", on_lost: "replace", attempt: 5 },
    [event(1, "run.finished", failed("runner_crashed"))],
    { state: "failed", ended: true },
  ],
  [
    "a question ends the epoch and frees the slot",
    { state: "running" },
    [event(1, "run.asked", ASKED), event(2, "message")],
    { state: "waiting", ended: true, freesSlot: true, committedN: 1, requeueReason: undefined, result: undefined },
  ],
  [
    "a question of a run that is being cancelled is its end",
    { state: "running", cancel_requested: true },
    [event(1, "run.asked", ASKED)],
    { state: "cancelled", ended: true, asked: undefined },
  ],
  [
    "a question that nobody can answer is a failure",
    { state: "running" },
    [event(1, "run.asked", { pending: [{ id: "" }] })],
    { state: "failed", asked: undefined },
  ],
  [
    "a waiting run takes nothing more of its epoch, and its node is told again",
    { state: "waiting", committed_n: 4 },
    [event(5, "message")],
    { state: "waiting", committedN: 4, ended: true, freesSlot: false, hasGrown: false, resendFrom: undefined },
  ],
])("%s", (_title, row, events, expected) => {
  expect(fold(row, events)).toMatchObject(expected);
});

test("N3: events of another epoch or another node are refused", () => {
  const all = [event(1, "run.accepted"), event(2, "run.finished", { state: "succeeded" })];
  expect(fold({}, all, { epoch: 1 }).events).toEqual([]);
  expect(fold({}, all, { epoch: 3 }).events).toEqual([]);
  expect(fold({}, all, { node: "b" }).events).toEqual([]);
});

test("an end that goes back to the queue does not look like an end to readers", () => {
  const change = fold({ state: "running", on_lost: "replace" }, [event(1, "run.finished", failed("handed_back"))]);
  expect(change.events.map((taken) => taken.kind)).toEqual(["run.handed_back"]);
});

test("pieces of a saved state are kept apart from the log, and count in the order of the node", () => {
  const change = fold({ state: "running", committed_n: 3 }, [
    event(4, "message"),
    event(5, "run.state", '{"a'),
    event(6, "run.state", '":1}'),
    event(7, "run.asked", ASKED),
  ]);
  expect(change.events.map((taken) => [taken.n, taken.kind])).toEqual([
    [4, "message"],
    [7, "run.asked"],
  ]);
  expect(change.stateParts.map(({ n, body }) => [n, body])).toEqual([
    [5, '{"a'],
    [6, '":1}'],
  ]);
  expect(change).toMatchObject({ committedN: 7, hasGrown: true, asked: { activeMs: 1500 } });
  const piecesOnly = fold({ state: "running", committed_n: 4 }, [event(5, "run.state", "x")]);
  expect(piecesOnly).toMatchObject({ events: [], committedN: 5, hasGrown: true, state: "running" });
});

test.each([
  ["a negative time", -5, 0],
  ["more than a run may take", 1e12, 604_800_000],
  ["no number", "long", 0],
])("%s is no time that a run took", (_what, duration_ms, expected) => {
  const change = fold({ state: "running" }, [event(1, "run.asked", { ...ASKED, duration_ms })]);
  expect(change.asked?.activeMs).toBe(expected);
});

test("readers see what is asked in one shape, and the end of a question that cannot be asked as an end", () => {
  const asked = fold({ state: "running" }, [event(1, "run.asked", { ...ASKED, more: "x" })]);
  expect(JSON.parse(asked.events[0]?.body ?? "")).toEqual({
    pending: [
      {
        id: "c",
        kind: "approval",
        tool: "bash",
        arguments: {},
        text: "bash needs you",
        choices: [],
        arguments_cut: false,
      },
    ],
  });
  for (const cancel_requested of [true, false]) {
    const ended = fold({ state: "running", cancel_requested }, [event(1, "run.asked", {})]);
    expect(ended.events.map((taken) => taken.kind)).toEqual(["run.finished"]);
  }
});

test("N1: however a run's events are cut, doubled and shuffled, each is taken once and in order, and the end is the same", () => {
  const length = fc.integer({ min: 3, max: 30 });
  const delivery = fc.record({ from: fc.nat(29), count: fc.integer({ min: 1, max: 8 }), isForeign: fc.boolean() });
  fc.assert(
    fc.property(
      length,
      fc.array(fc.array(delivery, { minLength: 1, maxLength: 4 }), { maxLength: 40 }),
      (total, deliveries) => {
        const log = Array.from({ length: total }, (_, i) => {
          if (i === 0) return event(1, "run.accepted");
          if (i === 1) return event(2, "run.started");
          return i === total - 1
            ? event(total, "run.finished", { state: "succeeded" })
            : event(i + 1, "message", { i });
        });
        let row = ROW;
        const taken: NodeEvent[] = [];
        const deliver = (parts: { node: string; epoch: number; events: readonly NodeEvent[] }[]): void => {
          const change = foldBatch(row, { parts });
          taken.push(...change.events);
          if (change.resendFrom !== undefined) expect(change.resendFrom).toBe(change.committedN + 1);
          expect(change.committedN).toBe(taken.length);
          row = { ...row, state: change.state, committed_n: change.committedN };
        };
        for (const parts of deliveries) {
          deliver(
            parts.map(({ from, count, isForeign }) => ({
              node: isForeign ? "b" : "a",
              epoch: 2,
              events: log.slice(from, from + count),
            })),
          );
        }
        deliver([{ node: "a", epoch: 2, events: log }]);
        expect(taken).toEqual(log);
        expect(row.state).toBe("succeeded");
      },
    ),
  );
});
