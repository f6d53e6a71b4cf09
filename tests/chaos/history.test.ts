import { expect, test } from "vitest";

import { checkHistory, type EventRow, type History, type RunRow, type Transition } from "./history.ts";

const A = "run_a";

function event(seq: number, kind: string, more: Partial<EventRow> = {}): EventRow {
  return { runId: A, seq, epoch: 1, n: undefined, kind, atMs: 1000 + seq, ...more };
}

function row(more: Partial<RunRow> = {}): RunRow {
  return {
    runId: A,
    key: "k1",
    state: "succeeded",
    reason: "",
    epoch: 1,
    lastSeq: 7,
    nodeId: "node_a",
    output: "1 2 3",
    error: undefined,
    count: 3,
    ...more,
  };
}

function transition(atMs: number, state: string, more: Partial<Transition> = {}): Transition {
  return { atMs, runId: A, state, epoch: 1, nodeId: "node_a", committedN: 0, armed: true, ...more };
}

const EVENTS = [
  event(1, "run.queued", { epoch: 0 }),
  event(2, "run.placed"),
  event(3, "run.accepted", { n: 1 }),
  event(4, "run.started", { n: 2 }),
  event(5, "message", { n: 3, text: "1" }),
  event(6, "message", { n: 4, text: " 2 3" }),
  event(7, "run.finished", { n: 5, state: "succeeded" }),
];

/** One run on one device, all promises kept. */
const GOOD: History = {
  runs: [row()],
  events: EVENTS,
  journals: [{ node: "a", runId: A, epoch: 1, n: 4 }],
  transitions: [transition(1000, "placed"), transition(1100, "running"), transition(1200, "succeeded")],
  held: [{ nodeId: "node_a", runs: 1, slots: 1 }],
  readers: [{ runId: A, seqs: [1, 2, 3, 4, 5, 6, 7], ended: true }],
  creations: [{ key: "k1", runIds: [A] }],
  cancels: [],
  nodes: [{ id: "node_a", name: "a", status: "online" }],
  removals: [],
};

function without(seq: number): EventRow[] {
  return EVENTS.filter((candidate) => candidate.seq !== seq);
}

function replaced(seq: number, change: Partial<EventRow>): EventRow[] {
  return EVENTS.map((candidate) => (candidate.seq === seq ? { ...candidate, ...change } : candidate));
}

function broken(mutant: Partial<History>): readonly string[] {
  return [...new Set(checkHistory({ ...GOOD, ...mutant }).map((violation) => violation.invariant))];
}

test("a history in which every promise was kept has no violations", () => {
  expect(checkHistory(GOOD)).toEqual([]);
});

test("a run that was replaced, with events of both epochs in order, has no violations", () => {
  const events = [
    ...EVENTS.slice(0, 5),
    event(6, "run.requeued"),
    event(7, "run.placed", { epoch: 2 }),
    event(8, "run.accepted", { epoch: 2, n: 1 }),
    event(9, "message", { epoch: 2, n: 2, text: "1 2 3" }),
    event(10, "run.finished", { epoch: 2, n: 3, state: "succeeded" }),
  ];
  const seqs = events.map(({ seq }) => seq);
  const stale = { node: "a", runId: A, epoch: 1, n: 9 };
  const history = {
    ...GOOD,
    events,
    runs: [row({ epoch: 2, lastSeq: 10 })],
    readers: [{ runId: A, seqs, ended: true }],
    journals: [stale],
  };
  expect(checkHistory(history)).toEqual([]);
});

const MUTANTS: readonly (readonly [name: string, invariant: string, mutant: Partial<History>])[] = [
  ["I1: an event of the device is stored twice", "I1", { events: replaced(6, { n: 3, text: "" }) }],
  ["I1: an event of the device is missing", "I1", { events: replaced(6, { n: 6 }) }],
  ["I1: a journaled event never arrived", "I1", { journals: [{ node: "a", runId: A, epoch: 1, n: 9 }] }],
  ["I1: a number is lost", "I1", { events: replaced(6, { text: " 3" }) }],
  ["I1: a number is doubled", "I1", { events: replaced(6, { text: " 2 2 3" }) }],
  ["I1: a run succeeded before it had counted all", "I1", { events: replaced(6, { text: " 2" }) }],
  ["I1: the output is not what was counted", "I1", { runs: [row({ output: "1 2" })] }],
  [
    "I2: an older epoch appends after a newer one began",
    "I2",
    { events: replaced(4, { epoch: 2, n: undefined, kind: "run.placed" }) },
  ],
  ["I3: a run ended twice", "I3", { events: replaced(4, { kind: "run.finished", state: "failed" }) }],
  ["I3: a run ended without a terminal event", "I3", { events: replaced(7, { kind: "message" }) }],
  ["I3: something follows the terminal event", "I3", { runs: [row({ lastSeq: 8 })] }],
  ["I3: the log and the row disagree", "I3", { events: replaced(7, { state: "cancelled" }) }],
  [
    "I3: a terminal state changed",
    "I3",
    { transitions: [transition(1000, "lost"), transition(1100, "running"), transition(1200, "succeeded")] },
  ],
  ["I3: a terminal state changed after the last look", "I3", { transitions: [transition(1200, "failed")] }],
  ["I4: a stored seq is missing", "I4", { events: without(2) }],
  ["I4: a reader missed an event", "I4", { readers: [{ runId: A, seqs: [1, 2, 4, 5, 6, 7], ended: true }] }],
  ["I4: a reader saw an event twice", "I4", { readers: [{ runId: A, seqs: [1, 2, 2, 3], ended: false }] }],
  ["I4: a reader saw events out of order", "I4", { readers: [{ runId: A, seqs: [1, 3, 2], ended: false }] }],
  ["I4: a stream ended before the run", "I4", { readers: [{ runId: A, seqs: [1, 2, 3], ended: true }] }],
  ["I5: nobody watched a run", "I5", { transitions: [transition(1100, "running", { armed: false })] }],
  [
    "I5: a run is stuck",
    "I5",
    { runs: [row({ state: "running" })], events: EVENTS.slice(0, 6), readers: [], transitions: [] },
  ],
  ["I6: a device did not come back", "I6", { nodes: [{ id: "node_a", name: "a", status: "offline" }] }],
  [
    "I6: a queued run does not say why",
    "I6",
    { runs: [row({ state: "queued" })], events: EVENTS.slice(0, 6), readers: [], transitions: [] },
  ],
  [
    "I7: a removed device still appends",
    "I7",
    {
      removals: [{ nodeId: "node_a", atMs: 1000 }],
      transitions: [transition(900, "running", { committedN: 2 }), transition(2500, "running", { committedN: 5 })],
    },
  ],
  ["I8: a cancelled run goes on", "I8", { cancels: [{ runId: A, atMs: 900, boundMs: 100 }] }],
  [
    "I8: a cancel was ignored",
    "I8",
    { cancels: [{ runId: A, atMs: 900, boundMs: 100 }], events: replaced(7, { atMs: 9000 }) },
  ],
  ["I9: a device held more runs than slots", "I9", { held: [{ nodeId: "node_a", runs: 3, slots: 2 }] }],
  ["I10: one key made two runs", "I10", { runs: [row(), { ...row(), runId: "run_b" }] }],
  ["I11: a device that came back had forgotten its run", "I11", { runs: [row({ state: "lost" })] }],
  [
    "I11: a fault of the system became the run's",
    "I11",
    { runs: [row({ state: "failed", error: { code: "internal", message: "oops" } })] },
  ],
  ["I10: a client was given a run that is not there", "I10", { creations: [{ key: "k1", runIds: [A, "run_x"] }] }],
];

test.each(MUTANTS)("is found: %s", (_name, invariant, mutant) => {
  expect(broken(mutant)).toContain(invariant);
});

test("I8: a cancel that arrived within its bound is kept", () => {
  expect(broken({ cancels: [{ runId: A, atMs: 900, boundMs: 500 }] })).toEqual([]);
});

test("I7: what a device appended before its removal counts", () => {
  const transitions = [transition(900, "running", { committedN: 2 }), transition(1200, "succeeded", { committedN: 5 })];
  expect(broken({ removals: [{ nodeId: "node_a", atMs: 1000 }], transitions })).toEqual([]);
});
