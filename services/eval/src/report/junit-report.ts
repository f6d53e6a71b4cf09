/** The report as JUnit XML: well formed whatever models say. */

import { cut, shown } from "../assert/json-equal.ts";
import type { AssertionResult, CaseResult } from "../result.ts";
import { type ReportForm, resultsOf } from "./report-source.ts";

const MAX_TEXT_CHARS = 10_000;
// Characters that XML 1.0 does not have at all, halves of characters among them.
const NO_XML =
  // oxlint-disable-next-line no-control-regex -- control characters are what this removes
  /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;
const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** See the file comment. */
export const junitReport: ReportForm = async (source, write) => {
  const { start, summary } = source;
  const runs = start.runs > 1;
  const count = { tests: 0, failures: 0, errors: 0, skipped: 0 };
  for await (const { status } of resultsOf(source)) {
    count.tests += 1;
    if (status === "failed") count.failures += 1;
    else if (status === "skipped") count.skipped += 1;
    else if (status !== "passed") count.errors += 1;
  }
  const attributes = `${Object.entries(count)
    .map(([name, value]) => `${name}="${value}"`)
    .join(" ")} time="${seconds(summary.duration_ms)}"`;
  write('<?xml version="1.0" encoding="UTF-8"?>\n');
  write(`<testsuites name="yao agent eval" ${attributes}>\n`);
  write(
    `<testsuite name="${xml(start.agent_id)}" file="${xml(start.input)}" timestamp="${xml(start.timestamp)}" ${attributes}>\n`,
  );
  for await (const result of resultsOf(source)) write(testCase(result, start.agent_id, runs));
  write("</testsuite>\n</testsuites>\n");
};

function testCase(result: CaseResult, agentId: string, hasRuns: boolean): string {
  const { id, run, copy, status, duration_ms: ms, error = "", cause, device } = result;
  const where = copy === undefined || device === undefined ? "" : ` on ${device}`;
  const name = `${id}${hasRuns ? ` (run ${run})` : ""}${where}`;
  const properties = [
    ...(hasRuns ? [["run", String(run)]] : []),
    ...(device === undefined ? [] : [["device", device]]),
  ].map(([key = "", value = ""]) => `<property name="${key}" value="${xml(value)}"/>`);
  const inner = [
    properties.length === 0 ? "" : `<properties>${properties.join("")}</properties>`,
    status === "skipped" ? "<skipped/>" : "",
    status === "failed"
      ? `<failure message="${xml(cut(error, 500))}" type="assertion">${xml(details(result))}</failure>`
      : "",
    status === "error" || status === "timeout"
      ? `<error message="${xml(cut(error, 500))}" type="${cause ?? status}">${xml(details(result))}</error>`
      : "",
  ].join("");
  return `<testcase classname="${xml(agentId)}" name="${xml(name)}" time="${seconds(ms)}">${inner}</testcase>\n`;
}

function details({ assertions = [], error = "", output }: CaseResult): string {
  const told = assertions.filter(({ status }) => status !== "passed").map(assertionText);
  return [...(told.length === 0 ? [error] : told), `output: ${shown(output, MAX_TEXT_CHARS)}`].join("\n");
}

function assertionText({ type, status, message = "", expected, actual }: AssertionResult): string {
  return [
    `${type} ${status}: ${message}`,
    ...(expected === undefined ? [] : [`  expected: ${shown(expected, MAX_TEXT_CHARS)}`]),
    ...(actual === undefined ? [] : [`  actual: ${shown(actual, MAX_TEXT_CHARS)}`]),
  ].join("\n");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** Text for XML. */
export function xml(text: string): string {
  return text.replaceAll(NO_XML, "\uFFFD").replaceAll(/[&<>"]/g, (char) => ENTITIES[char] ?? char);
}
