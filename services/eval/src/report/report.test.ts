/** Reports of answers that try to be more than text. */

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "@mesh/kernel";
import { afterAll, expect, test } from "vitest";

import { extracted, FileNames } from "../extract.ts";
import type { CaseResult } from "../result.ts";
import { Tally } from "../stat/tally.ts";
import { htmlReport } from "./html-report.ts";
import { jsonReport } from "./json-report.ts";
import { junitReport } from "./junit-report.ts";
import { LogFile, readLogState } from "./log-file.ts";
import { readRow, rowLine, type StartRow } from "./log-row.ts";
import { markdownReport, stepSummary } from "./markdown-report.ts";
import { type ReportForm, type ReportSource, writeWhole } from "./report-source.ts";
import { resultBytes } from "./result-bytes.ts";

const dir = mkdtempSync(join(tmpdir(), "yao-report-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const HOSTILE = '<img src=x onerror=alert(1)> \uD83D \u001B[2J </script> ]]> "q" & ``` | ::error::x';
const start: StartRow = {
  type: "start",
  schema: 1,
  timestamp: "2026-01-01T00:00:00.000Z",
  agent_id: "echo",
  input: "cases.jsonl",
  total_cases: 2,
  runs: 1,
  suite: "s",
  environment: { user_id: "u" },
  version: "0",
};
const results: readonly CaseResult[] = [
  {
    id: "a\u0001</script>",
    run: 1,
    status: "failed",
    input: HOSTILE,
    output: HOSTILE,
    error: HOSTILE,
    duration_ms: 12,
    hash: "h",
    assertions: [{ type: "contains", status: "failed", message: HOSTILE, expected: "]]>", actual: HOSTILE }],
    trace: { tool_calls: [{ id: "1", server: "s", tool: "t|", arguments: { a: HOSTILE }, result: HOSTILE }] },
  },
  {
    id: "T001-销售分析师-月末周五",
    run: 1,
    status: "passed",
    input: "你好",
    output: { a: 1 },
    duration_ms: 3,
    hash: "h",
  },
];

function sourceOf(name: string, rows: readonly CaseResult[] = results): ReportSource {
  const log = LogFile.create(join(dir, `${name}.jsonl`), systemClock);
  const tally = new Tally();
  log.write(start);
  for (const each of rows) {
    log.write({ type: "result", ...each });
    tally.add(each);
  }
  log.close();
  return { log: log.path, start, summary: tally.summary({ durationMs: 15, isComplete: true, runs: 1 }) };
}

async function textOf(form: ReportForm, name: string): Promise<string> {
  const path = join(dir, name);
  await writeWhole(path, (write) => form(sourceOf(name), write));
  return readFileSync(path, "utf8");
}

test("the log has no half of a character and can be read again", async () => {
  const line = rowLine({ type: "result", ...results[0]! });
  expect(line).not.toMatch(/\\ud83d/i);
  expect(rowLine({ type: "result", ...results[0]!, output: "C:\\ud83d and 👍" })).toContain("C:\\\\ud83d and 👍");
  expect(readRow(line)).toMatchObject({ type: "result", status: "failed" });
  const seen: string[] = [];
  const state = await readLogState(sourceOf("again").log, ({ id }) => seen.push(id));
  expect(seen).toHaveLength(2);
  expect(state.done.size).toBe(2);
});

test("JUnit XML is well formed and has what was expected", async () => {
  const xml = await textOf(junitReport, "r.xml");
  // oxlint-disable-next-line no-control-regex -- that there is none is the claim
  expect(xml).not.toMatch(/[\u0000-\u0008\u000B\u000C\u000E-\u001F]/);
  expect(Buffer.from(xml).toString()).toBe(xml);
  expect(xml).not.toContain("<img");
  expect(xml).toContain("expected: &quot;]]&gt;&quot;");
  expect(xml).toContain('tests="2" failures="1" errors="0" skipped="0"');
  expect(
    [...xml.matchAll(/<(\/?)(\w+)[^<>]*?(\/?)>/g)].reduce(
      (depth, [, close, , self]) => depth + (close === "/" ? -1 : self === "/" ? 0 : 1),
      0,
    ),
  ).toBe(0);
});

test("the page holds hostile text as data: no element of it, no end of a script", async () => {
  const page = await textOf(htmlReport, "r.html");
  expect(page).not.toContain("<img");
  expect(page.match(/<\/script>/g)).toHaveLength(3);
  expect(page).toMatch(
    /Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-/,
  );
  expect(page).not.toMatch(/https?:\/\//);
  const index = /id="index">([^]*?)<\/script>/.exec(page)?.[1] ?? "";
  expect(JSON.parse(index)).toHaveLength(2);
});

test("Markdown shows hostile text as text, in a fence it cannot close", async () => {
  const text = await textOf(markdownReport, "r.md");
  expect(text).toContain("````\n<img src=x");
  expect(text).toContain(String.raw`**Error**: \<img`);
  expect(text).not.toContain("\u001B");
  expect(text).toContain("### ✅ T001-销售分析师-月末周五 - passed (3ms)");
  expect(await stepSummary(sourceOf("step"))).toContain("- ❌");
});

test("the JSON report is one document with all results", async () => {
  const report = JSON.parse(await textOf(jsonReport, "r.json")) as {
    readonly summary: object;
    readonly results: readonly object[];
  };
  expect(report.summary).toMatchObject({ agent_id: "echo", total: 2, failed: 1, passed: 1 });
  expect(report.results).toHaveLength(2);
});

test("a report that fails leaves no file behind", async () => {
  const path = join(dir, "broken.json");
  const broken = writeWhole(path, async (write) => {
    write("{");
    throw new Error("no");
  });
  await expect(broken).rejects.toThrow("no");
  expect(() => statSync(path)).toThrow();
});

test("a large report is written without being held", { timeout: 60_000 }, async () => {
  const rows = Array.from({ length: 700 }, (_none, n): CaseResult => ({
    ...results[1]!,
    id: `c${n}`,
    output: "x".repeat(150_000),
  }));
  const source = sourceOf("large", rows);
  const before = process.memoryUsage().heapUsed;
  await writeWhole(join(dir, "large.json"), (write) => jsonReport(source, write));
  expect(statSync(join(dir, "large.json")).size).toBeGreaterThan(100_000_000);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(80_000_000);
});

test("results of a log are taken as they are: of any length, of an older order, without what a crash has left", async () => {
  const long = "é".repeat(400_000);
  const rows = [
    { type: "result", ...results[1]!, id: "first" },
    { type: "summary", total: 1 },
    // Another order of fields, and lines that are no rows.
    { id: "older", type: "result", run: 2, status: "failed", output: long },
    { type: "result", ...results[1]!, id: "long", output: long },
  ];
  const path = join(dir, "bytes.jsonl");
  const text = `${rows.map((row) => JSON.stringify(row)).join("\n\n")}\nnot a row\n{"type":"result","id":"torn","trace":{}`;
  writeFileSync(path, text);
  const read: { readonly id: string; readonly output: unknown }[] = [];
  for await (const bytes of resultBytes(path))
    read.push(JSON.parse(Buffer.from(bytes).toString()) as (typeof read)[number]);
  expect(read.map(({ id }) => id)).toEqual(["first", "older", "long"]);
  expect(read.map(({ output }) => output)).toEqual([{ a: 1 }, long, long]);
  // A last row without an end of its line, as an editor leaves it.
  writeFileSync(path, JSON.stringify(rows[0]));
  const last: Uint8Array[] = [];
  for await (const bytes of resultBytes(path)) last.push(bytes);
  expect(last).toHaveLength(1);
});

test("files of results are named safely, and no two alike", () => {
  const names = new FileNames();
  const next = (id: string): string => names.next({ id, run: 1 }, "md", false);
  expect([next("a/b"), next("a:b"), next("A_B"), next("con"), next(".."), next(""), next("T001-销售分析师")]).toEqual([
    "a_b.md",
    "a_b-2.md",
    "A_B-3.md",
    "_con.md",
    "_.md",
    "_-2.md",
    "T001-销售分析师.md",
  ]);
  expect(Buffer.byteLength(next("销".repeat(400)))).toBeLessThan(200);
});

test("a result's file says how it went, what was asked and what was answered", () => {
  expect(extracted(results[1]!, "markdown")).toBe(
    '# T001-销售分析师-月末周五\n\n**Status**: ✅ PASSED\n\n**Duration**: 3ms\n\n## Input\n\n```\n你好\n```\n\n## Output\n\n```json\n{\n  "a": 1\n}\n```\n',
  );
  expect(JSON.parse(extracted(results[0]!, "json"))).toMatchObject({ status: "failed" });
});
