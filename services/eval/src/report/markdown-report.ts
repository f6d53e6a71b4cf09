/** The report for people, as Markdown; also what a GitHub step shows. */

import type { Json } from "@mesh/kernel";

import { cut } from "../assert/json-equal.ts";
import type { CaseResult } from "../result.ts";
import { CaseDeviceTable, DeviceTally } from "../stat/device-tally.ts";
import { stabilityName } from "../stat/stability.ts";
import type { Tally } from "../stat/tally.ts";
import { type ReportForm, type ReportSource, resultsOf, runsOf, tallyOf } from "./report-source.ts";
import { durationText, intervalText, markOf, percentText, plainText } from "./text-form.ts";

const MAX_TEXT_CHARS = 20_000;
// What GitHub takes for a step, with room for others.
const STEP_BYTES = 900 * 1024;
/** Those on which devices disagree are first. */
const MAX_CASE_ROWS = 200;

/** See the file comment. */
export const markdownReport: ReportForm = async (source, write) => {
  write(headOf(source));
  write(await devicesText(source));
  write("## Results\n\n");
  for await (const result of resultsOf(source)) write(resultText(result, source.start.runs > 1));
  if (runsOf(source) > 1) write(stabilityText(await tallyOf(source)));
  write(footOf(source));
};

/** The summary of a step of GitHub Actions: totals and what did not pass. */
export async function stepSummary(source: ReportSource): Promise<string> {
  let text = `${headOf(source)}${await devicesText(source)}`;
  let hidden = 0;
  for await (const result of resultsOf(source)) {
    if (result.status === "passed" || result.status === "skipped") continue;
    const { id, run, status, device, error = "" } = result;
    const where = device === undefined ? "" : ` on ${inline(device)}`;
    const which = `${source.start.runs > 1 ? ` run ${run}` : ""}${where}`;
    const line = `- ${markOf(status)} ${code(id)}${which}: ${inline(cut(error, 500))}\n`;
    if (Buffer.byteLength(text) + Buffer.byteLength(line) > STEP_BYTES) hidden += 1;
    else text += line;
  }
  return hidden === 0 ? text : `${text}\n… and ${hidden} more\n`;
}

function headOf({ start, summary }: ReportSource): string {
  const rows: (readonly [string, string | number])[] = [
    ["Agent", code(start.agent_id)],
    ...(start.connector === undefined ? [] : [["Connector", code(start.connector)] as const]),
    ["Total", summary.total],
    ["Passed", summary.passed],
    ["Failed", summary.failed],
    ["Skipped", summary.skipped],
    ["Errors", summary.errors],
    ["Timeouts", summary.timeouts],
    [
      "Pass Rate",
      summary.pass_rate === null ? "none judged" : `${summary.pass_rate.toFixed(1)}% of ${summary.scored} judged`,
    ],
    ["Duration", durationText(summary.duration_ms)],
    ...(summary.complete ? [] : [["Complete", "no: the eval was ended before all cases were run"] as const]),
    ...(summary.usage === undefined ? [] : [["Tokens", summary.usage.total_tokens] as const]),
  ];
  const table = rows.map(([name, value]) => `| ${name} | ${value} |\n`).join("");
  return `# Agent Test Report\n\n## Summary\n\n| | |\n| --- | --- |\n${table}\n`;
}

function resultText(result: CaseResult, hasRuns: boolean): string {
  const { id, run, status, duration_ms: ms, error, input, output, device } = result;
  const where = device === undefined ? "" : ` on ${inline(device)}`;
  const which = `${hasRuns ? ` (run ${run})` : ""}${where}`;
  return [
    `### ${markOf(status)} ${inline(id)}${which} - ${status} (${durationText(ms)})\n\n`,
    error === undefined ? "" : `**Error**: ${inline(error)}\n\n`,
    `**Input**\n\n${fenced(input)}\n`,
    output === null ? "" : `**Output**\n\n${fenced(output)}\n`,
    status === "passed" ? "" : assertionTable(result) + toolTable(result),
  ].join("");
}

function assertionTable({ assertions = [] }: CaseResult): string {
  if (assertions.length === 0) return "";
  const rows = assertions.map(({ type, status, message = "" }) => `| ${type} | ${status} | ${cell(message)} |\n`);
  return `| Assertion | Status | Message |\n| --- | --- | --- |\n${rows.join("")}\n`;
}

function toolTable({ trace }: CaseResult): string {
  const calls = trace?.tool_calls ?? [];
  if (calls.length === 0) return "";
  const rows = calls.map(({ tool, arguments: args, result, error }) => {
    const gave = error ?? JSON.stringify(result ?? null);
    return `| ${cell(tool)} | ${cell(JSON.stringify(args ?? {}))} | ${cell(gave)} |\n`;
  });
  return `| Tool | Arguments | Result |\n| --- | --- | --- |\n${rows.join("")}\n`;
}

/** Devices, and cases on them; nothing for an eval of this machine alone. */
async function devicesText(source: ReportSource): Promise<string> {
  const tally = new DeviceTally();
  const table = new CaseDeviceTable();
  for await (const result of resultsOf(source)) {
    tally.add(result);
    table.add(result);
  }
  const devices = tally.devices();
  if (devices.length === 0) return "";
  const rows = devices.map(({ device, total, passed, failed, errors, timeouts, skipped, rate }) => {
    const shown = rate === undefined ? "none judged" : percentText(rate);
    return `| ${cell(device)} | ${total} | ${passed} | ${failed} | ${errors} | ${timeouts} | ${skipped} | ${shown} |\n`;
  });
  const head = "| Device | Total | Passed | Failed | Errors | Timeouts | Skipped | Pass Rate |\n";
  const counts = `## Devices\n\n${head}| --- | --- | --- | --- | --- | --- | --- | --- |\n${rows.join("")}\n`;
  return devices.length === 1
    ? counts
    : `${counts}${caseTable(
        table,
        devices.map(({ device }) => device),
      )}`;
}

function caseTable(table: CaseDeviceTable, devices: readonly string[]): string {
  const all = table.rows();
  const rows = all.slice(0, MAX_CASE_ROWS).map(({ id, on }) => {
    const cells = devices.map((device) => {
      const found = on.get(device);
      if (found === undefined) return "";
      return `${markOf(found.status)}${found.total > 1 ? ` ${found.passed}/${found.total}` : ""}`;
    });
    return `| ${cell(id)} | ${cells.join(" | ")} |\n`;
  });
  const more = all.length > rows.length ? `\n… and ${all.length - rows.length} more cases\n` : "";
  const line = devices.map(() => "---").join(" | ");
  return `### Cases by device\n\n| Case | ${devices.map(cell).join(" | ")} |\n| --- | ${line} |\n${rows.join("")}${more}\n`;
}

function stabilityText(tally: Tally): string {
  const rows = [...tally.cases()].map(({ id, passed, stability, avgMs }) => {
    const { passRate, interval, class: band, scored } = stability;
    if (passRate === undefined || interval === undefined || band === undefined)
      return `| ${cell(id)} | | | not judged | |\n`;
    return `| ${cell(id)} | ${percentText(passRate)} (${passed}/${scored}) | ${intervalText(interval)} | ${stabilityName(band)} | ${durationText(avgMs)} |\n`;
  });
  return `## Stability\n\n| Case | Pass Rate | 95% | Class | Average |\n| --- | --- | --- | --- | --- |\n${rows.join("")}\n`;
}

function footOf({ start }: ReportSource): string {
  const rows = [
    ["Started", start.timestamp],
    ["Input", code(start.input)],
    ["Suite", code(start.suite)],
    ["Version", start.version],
  ];
  return `## Metadata\n\n| | |\n| --- | --- |\n${rows.map(([name, value]) => `| ${name} | ${value} |\n`).join("")}`;
}

/** A value in a fence that nothing in it can close. */
export function fenced(value: Json): string {
  const text = plainText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const ticks = [...text.matchAll(/`{3,}/g)].reduce((most, [run]) => Math.max(most, run.length + 1), 3);
  const fence = "`".repeat(ticks);
  const body = text.length <= MAX_TEXT_CHARS ? text : `${cut(text, MAX_TEXT_CHARS)}\n… (${text.length} characters)`;
  return `${fence}${typeof value === "string" ? "" : "json"}\n${body}\n${fence}\n`;
}

/** Text as text: nothing of it is markup. */
export function inline(text: string): string {
  return plainText(text)
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[\\`*_[\]<>|#]/g, String.raw`\$&`);
}

function cell(text: string): string {
  return inline(cut(text, 500));
}

function code(text: string): string {
  return `\`${plainText(text).replaceAll("`", "'").replaceAll("|", "¦").replaceAll(/\s+/g, " ")}\``;
}
