import type { Eval } from "@mesh/proto";
import { expect, test } from "vitest";

import { FakeEvals } from "../../testing/fake-evals.ts";
import { addResults, countsByNode, EMPTY_LOG, type EvalLog, isFlaky } from "./eval-log.ts";
import { columnsOf, type GridLook, lookOf, rowsOf } from "./grid-view.ts";

const LOOK: GridLook = { shown: "all", order: "written", axis: "run", node: "", text: "" };

/** An eval of 4 cases in 3 runs, with results as "ordinal run status node ms". */
function filled(...lines: readonly string[]): {
  readonly known: Eval;
  readonly log: EvalLog;
  readonly fake: FakeEvals;
} {
  const fake = new FakeEvals();
  const { id } = fake.add({ cases: 4, settings: { runs: 3 } as Eval["settings"] & object });
  for (const line of lines) {
    const [ordinal = "", run = "", status = "", node = "node_1", ms = "100"] = line.split(" ");
    const place = { ordinal: Number(ordinal), run: Number(run), status, node_id: node, node, duration_ms: Number(ms) };
    fake.result(id, place, status === "failed" ? { assertions: [{ status: "failed", message: "no greeting" }] } : {});
  }
  const known = fake.evals.get(id);
  if (known === undefined) throw new Error("no eval");
  return { known, log: addResults(EMPTY_LOG, fake.results.get(id) ?? []), fake };
}

const shown = (log: EvalLog, look: Partial<GridLook>): readonly number[] =>
  rowsOf(log, { cases: 4, unitsPerCase: 3 }, { ...LOOK, ...look }, (ordinal) => `case-${ordinal + 1}`).map(
    ({ ordinal }) => ordinal,
  );

test("L1 of each unit one result counts: a later one that counts takes its place, and observations count nowhere", () => {
  const { fake } = filled("0 1 error");
  const id = "eval_1";
  fake.result(id, { ordinal: 0, run: 1, status: "passed", observation: true });
  fake.result(id, { ordinal: 0, run: 1, status: "failed" });
  fake.result(id, { ordinal: 0, run: 2, status: "passed" });
  const log = addResults(EMPTY_LOG, fake.results.get(id) ?? []);
  expect(log.rows[0]?.cells.map(({ run, status }) => `${run} ${status}`)).toEqual(["1 failed", "2 passed"]);
  expect(log.rows[0]?.observations.map(({ status }) => status)).toEqual(["passed", "error"]);
  expect(log.counts).toEqual({ passed: 1, failed: 1, error: 0, timeout: 0, skipped: 0 });
});

test("L2 L3 what was folded is not folded again, and cases without news stay the same object", () => {
  const { log, fake } = filled("0 1 passed", "1 1 failed");
  const results = fake.results.get("eval_1") ?? [];
  expect(addResults(log, results)).toBe(log);
  fake.result("eval_1", { ordinal: 1, run: 2, status: "passed" });
  const next = addResults(log, fake.results.get("eval_1") ?? []);
  expect(next.rows[0]).toBe(log.rows[0]);
  expect(next.rows[1]).not.toBe(log.rows[1]);
  expect(next.counts).toEqual({ passed: 2, failed: 1, error: 0, timeout: 0, skipped: 0 });
});

test("devices have the counts of what counts on them", () => {
  const { log } = filled("0 1 passed a", "0 2 failed b", "1 1 timeout b");
  expect([...countsByNode(log)].map(([node, { passed, failed, timeout }]) => [node, passed, failed, timeout])).toEqual([
    ["a", 1, 0, 0],
    ["b", 0, 1, 1],
  ]);
});

test("a case is flaky when runs that could be judged disagree; an error is no disagreement", () => {
  const { log } = filled("0 1 passed", "0 2 error", "1 1 passed", "1 2 timeout");
  expect([0, 1].map((ordinal) => isFlaky(log.rows[ordinal]?.cells ?? []))).toEqual([false, true]);
});

test.each<[string, Partial<GridLook>, readonly number[]]>([
  ["all, with those that have no result", {}, [0, 1, 2, 3]],
  ["not passed", { shown: "bad" }, [1, 2]],
  ["flaky", { shown: "flaky" }, [1]],
  ["without all results", { shown: "open" }, [2, 3]],
  ["of a status", { shown: "error" }, [2]],
  ["of a device", { node: "b" }, [0, 1]],
  ["of a status on a device", { node: "b", shown: "passed" }, [0]],
  ["by id, also without a result", { text: " CASE-4 " }, [3]],
  ["by what went wrong", { text: "greeting" }, [1]],
  ["worst first", { order: "bad" }, [2, 1, 0, 3]],
  ["flaky first", { order: "flaky" }, [1, 0, 2, 3]],
  ["slowest first", { order: "slow" }, [1, 2, 0, 3]],
  ["fastest first", { order: "fast" }, [0, 2, 1, 3]],
])("rows are narrowed and ordered: %s", (_name, look, expected) => {
  const { log } = filled(
    "0 1 passed a 10",
    "0 2 passed b 10",
    "0 3 passed a 10",
    "1 1 failed b 900",
    "1 2 passed a 900",
    "1 3 passed a 900",
    "2 1 error a 100",
  );
  expect(shown(log, look)).toEqual(expected);
});

test("columns are runs, or the devices that take or took part; a device that is chosen is the only one", () => {
  const { known, log } = filled("0 1 passed");
  expect(columnsOf(known, log, { axis: "run", node: "" }).map(({ label }) => label)).toEqual(["1", "2", "3"]);
  expect(columnsOf(known, log, { axis: "device", node: "" }).map(({ label }) => label)).toEqual(["laptop"]);
  expect(columnsOf(known, log, { axis: "device", node: "node_2" }).map(({ label }) => label)).toEqual(["server"]);
  const later = filled("0 1 passed node_2");
  expect(columnsOf(later.known, later.log, { axis: "device", node: "" }).map(({ label }) => label)).toEqual([
    "laptop",
    "server",
  ]);
});

test("the look is read from the address; what is no look is the default", () => {
  expect(lookOf(new URLSearchParams("show=flaky&order=slow&by=device&device=n&q=x"), true)).toEqual({
    shown: "flaky",
    order: "slow",
    axis: "device",
    node: "n",
    text: "x",
  });
  expect(lookOf(new URLSearchParams("show=nothing&by=4"), true)).toEqual(LOOK);
  expect(lookOf(new URLSearchParams(), false).axis).toBe("device");
});
