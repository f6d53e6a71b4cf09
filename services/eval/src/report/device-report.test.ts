/** Reports of evals that ran on devices; those of this machine alone say nothing about devices. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { EvalCase } from "../eval-case.ts";
import { casesOf } from "../load/load-cases.ts";
import { RemoteBook } from "../local/remote-eval.ts";
import type { CaseResult, Status } from "../result.ts";
import { CaseDeviceTable, DeviceTally } from "../stat/device-tally.ts";
import { ConsoleReport } from "./console-report.ts";
import { EventReport } from "./event-report.ts";
import { htmlReport } from "./html-report.ts";
import { jsonReport } from "./json-report.ts";
import { junitReport } from "./junit-report.ts";
import { logRows } from "./log-file.ts";
import type { LogRow, StartRow } from "./log-row.ts";
import { markdownReport, stepSummary } from "./markdown-report.ts";
import { type ReportForm, type ReportSource, writeWhole } from "./report-source.ts";

const dir = mkdtempSync(join(tmpdir(), "yao-devices-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const ODD = "pi|<b>";
const start: StartRow = {
  type: "start",
  schema: 1,
  timestamp: "2026-01-01T00:00:00.000Z",
  agent_id: "echo",
  input: "cases.jsonl",
  total_cases: 3,
  runs: 1,
  copies: 2,
  eval_id: "eval_1",
  suite: "s",
  environment: {},
  version: "0",
};
const cases: readonly EvalCase[] = casesOf(
  ["agrees", "differs", "fails"].map((id) => ({ id, input: id })),
  "test",
).cases;
const result = (id: string, copy: number, status: Status): CaseResult => ({
  id,
  run: 1,
  status,
  input: id,
  output: "out",
  ...(status === "passed" ? {} : { error: "because" }),
  duration_ms: 5,
  hash: "h",
  device: copy === 1 ? "laptop" : ODD,
  ...(copy === 1 ? {} : { copy }),
});
const RESULTS: readonly (readonly [number, CaseResult])[] = [
  [0, result("agrees", 1, "passed")],
  [0, result("agrees", 2, "passed")],
  [1, result("differs", 1, "passed")],
  [1, result("differs", 2, "error")],
  [2, result("fails", 1, "failed")],
  [2, result("fails", 2, "failed")],
];

let source: ReportSource;
let told = "";
let events: readonly Readonly<Record<string, unknown>>[] = [];

beforeAll(() => {
  const log = join(dir, "log.jsonl");
  const reporter = new ConsoleReport((text) => (told += text), { isVerbose: false });
  reporter.onPlan({ agentId: "echo", input: "cases.jsonl", cases, runs: 1, copies: 2, parallel: 1, isDirect: false });
  const book = new RemoteBook({ start, cases, reporter, clock: systemClock, log });
  for (const [ordinal, each] of RESULTS) book.add(ordinal, each);
  const summary = book.end({ isComplete: true, durationMs: 30 });
  reporter.onEnd(summary, []);
  source = { log, start, summary };
  let text = "";
  const json = new EventReport((line) => (text += line), { isVerbose: false });
  for (const [ordinal, each] of RESULTS) json.onResult(each, { test: cases[ordinal]!, run: 1 });
  events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
});

async function textOf(form: ReportForm, of = source): Promise<string> {
  const path = join(dir, "out");
  await writeWhole(path, (write) => form(of, write));
  return readFileSync(path, "utf8");
}

async function rowsOf(log: string): Promise<readonly LogRow[]> {
  const rows: LogRow[] = [];
  for await (const row of logRows(log)) rows.push(row);
  return rows;
}

describe("a report of several devices", () => {
  test("Y1 counts each copy of a run", () => {
    expect(source.summary).toMatchObject({
      total: 3,
      passed: 1,
      failed: 1,
      errors: 1,
      runs_per_case: 2,
      total_runs: 6,
    });
  });

  test("on the console says where each was made, and how each device did", () => {
    expect(told).toContain("ℹ Cases: 3 (on 2 devices each)");
    expect(told).toContain("► [differs] differs PASSED (5ms) on laptop");
    expect(told).toContain("► [differs] differs ERROR (5ms) on pi|<b>");
    expect(told).toMatch(
      / {2}Devices\n {2}laptop: 66\.7% \(2\/3\), 3 in all\n {2}pi\|<b>: 50% \(1\/2\), 3 in all, 1 not judged/,
    );
  });

  test("as Markdown has a table of devices, and of cases by device with those that differ first", async () => {
    const text = await textOf(markdownReport);
    expect(text).toContain(String.raw`| pi\|\<b\> | 3 | 1 | 1 | 1 | 0 | 0 | 50% |`);
    const rows = text.slice(text.indexOf("### Cases by device")).split("\n").slice(4, 7);
    expect(rows).toEqual(["| differs | ✅ | 💥 |", "| fails | ❌ | ❌ |", "| agrees | ✅ | ✅ |"]);
    expect(await stepSummary(source)).toContain(String.raw`- 💥 ${"`differs`"} on pi\|\<b\>: because`);
  });

  test("as a page has both tables, and tells copies of a case apart", async () => {
    const page = await textOf(htmlReport);
    expect(page).toContain('<th scope="row">pi|&lt;b&gt;</th><td>3</td>');
    expect(page).toContain('<th scope="row">differs</th><td class="passed">passed</td><td class="error">error</td>');
    const index = JSON.parse(/id="index">([^]*?)<\/script>/.exec(page)?.[1] ?? "") as readonly unknown[][];
    expect(index.map((row) => [row[0], row[5], row[6]])[1]).toEqual(["agrees", ODD, 2]);
  });

  test("as JUnit XML has the device as a property, and in the names of copies", async () => {
    const xml = await textOf(junitReport);
    expect(xml).toContain('<property name="device" value="laptop"/>');
    expect(xml).toContain('name="differs on pi|&lt;b&gt;"');
    expect(xml).toContain('name="differs"');
  });

  test("as JSON and as events has the device of each result; the document has the rates", async () => {
    const report = JSON.parse(await textOf(jsonReport)) as Record<string, readonly Record<string, unknown>[]>;
    expect(report["devices"]).toEqual([
      expect.objectContaining({ device: "laptop", passed: 2, scored: 3 }),
      expect.objectContaining({ device: ODD, errors: 1, pass_rate: 50 }),
    ]);
    expect(report["results"]?.[1]).toMatchObject({ device: ODD, copy: 2 });
    expect(events.filter(({ type }) => type === "test_result")[1]).toMatchObject({ device: ODD, copy: 2 });
  });
});

test("a report of this machine alone says nothing about devices", async () => {
  const { copies: _copies, eval_id: _id, ...local } = start;
  const log = join(dir, "local.jsonl");
  let text = "";
  const reporter = new ConsoleReport((line) => (text += line), { isVerbose: false });
  const book = new RemoteBook({ start: local, cases, reporter, clock: systemClock, log });
  for (const [ordinal, { device: _device, copy, ...each }] of RESULTS) if (copy === undefined) book.add(ordinal, each);
  const summary = book.end({ isComplete: true, durationMs: 30 });
  reporter.onEnd(summary, []);
  const here = { log, start: local, summary };
  expect(text).not.toContain("Devices");
  for (const form of [markdownReport, junitReport, jsonReport]) expect(await textOf(form, here)).not.toMatch(/device/i);
  expect(await textOf(htmlReport, here)).not.toContain("<h2>Devices");
  const rows = await rowsOf(log);
  expect(rows.map(({ type }) => type)).toEqual(["start", "result", "result", "result", "summary"]);
});

test("devices that only skipped have no rate; a result without a device is not counted", () => {
  const tally = new DeviceTally();
  const table = new CaseDeviceTable();
  for (const each of [
    { id: "a", status: "passed" as const },
    { id: "b", device: "d", status: "skipped" as const },
  ]) {
    tally.add(each);
    table.add(each);
  }
  expect(tally.devices()).toEqual([expect.objectContaining({ device: "d", total: 1, skipped: 1, rate: undefined })]);
  expect(table.rows().map(({ id }) => id)).toEqual(["b"]);
});
