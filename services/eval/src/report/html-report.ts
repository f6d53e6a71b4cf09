/**
 * The report as one page that needs nothing else: no host is asked for anything.
 *
 * H1  What models and users wrote is text: escaped where it is markup, and never the end of a script element.
 * H2  The policy of the page lets only its own program run.
 */

import { createHash } from "node:crypto";

import { cut } from "../assert/json-equal.ts";
import type { CaseResult } from "../result.ts";
import { CaseDeviceTable, DeviceTally } from "../stat/device-tally.ts";
import { PAGE_PROGRAM, PAGE_STYLE } from "./html-page.ts";
import { type ReportForm, type ReportSource, resultsOf } from "./report-source.ts";
import { durationText, percentText, preview } from "./text-form.ts";

const PREVIEW_CHARS = 160;
const MAX_OUTPUT_CHARS = 100_000;
/** Those on which devices disagree are first. */
const MAX_CASE_ROWS = 500;
const STATUSES = ["passed", "failed", "error", "timeout", "skipped"];
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** See the file comment. */
export const htmlReport: ReportForm = async (source, write) => {
  const tally = new DeviceTally();
  const table = new CaseDeviceTable();
  for await (const result of resultsOf(source)) {
    tally.add(result);
    table.add(result);
  }
  write(headOf(source, { tally, table }));
  write('<script type="application/json" id="index">[');
  let separator = "\n";
  for await (const result of resultsOf(source)) {
    write(`${separator}${inScript(indexRow(result))}`);
    separator = ",\n";
  }
  write(']</script>\n<script type="application/json" id="rows">\n');
  for await (const result of resultsOf(source)) write(`${inScript(shortened(result))}\n`);
  write(`</script>\n<script>${PAGE_PROGRAM}</script>\n</body>\n</html>\n`);
};

function headOf(
  { start, summary }: ReportSource,
  { tally, table }: { readonly tally: DeviceTally; readonly table: CaseDeviceTable },
): string {
  const devices = tally.devices().map(({ device }) => device);
  const { total, passed, failed, errors, timeouts, skipped, pass_rate: rate, complete } = summary;
  const cards: readonly (readonly [string, string | number])[] = [
    ["total", total],
    ["passed", passed],
    ["failed", failed],
    ["errors", errors],
    ["timeouts", timeouts],
    ["skipped", skipped],
    ["pass rate", rate === null ? "none judged" : `${rate.toFixed(1)}%`],
    ["time", durationText(summary.duration_ms)],
  ];
  const program = createHash("sha256").update(PAGE_PROGRAM).digest("base64");
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${program}'; base-uri 'none'; form-action 'none'`;
  const title = `Agent Test Report: ${start.agent_id}`;
  const columns = ["Status", "Case", "Input", "Time", "Device"];
  const keys = [2, 0, 4, 3, 5];
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${html(title)}</h1>
<ul class="cards">${cards.map(([name, value]) => `<li><b>${html(String(value))}</b><span>${name}</span></li>`).join("")}</ul>
${complete ? "" : "<p class=failed>The eval was ended before all cases were run.</p>"}
${deviceTables(tally, table)}<form id="form"><label>Search<input id="text" type="search"></label>
<label>Status<select id="status"><option value="">all</option>${STATUSES.map((each) => `<option>${each}</option>`).join("")}</select></label>
<label>Device<select id="device"><option value="">all</option>${devices.map((each) => `<option>${html(each)}</option>`).join("")}</select></label>
<span role="status" id="count"></span></form>
<div id="scroll" tabindex="0" role="region" aria-label="Results"><div role="table" id="table" aria-label="Results">
<div class="head" role="row">${columns.map((name, at) => `<span role="columnheader"><button type="button" data-key="${keys[at] ?? 0}">${name}</button></span>`).join("")}</div>
<div id="body" role="rowgroup" style="position:relative"></div></div></div>
<p>${html(`Started ${start.timestamp}, input ${start.input}, version ${start.version}`)}</p>
</main>
<dialog id="case" aria-labelledby="title"><div class="bar"><h2 id="title">Case</h2><form method="dialog"><button>Close</button></form></div><div id="parts"></div></dialog>
`;
}

/** Pass rates of devices, and cases on them; nothing for an eval of one machine alone. */
function deviceTables(tally: DeviceTally, table: CaseDeviceTable): string {
  const all = tally.devices();
  if (all.length === 0) return "";
  const counts = all.map(({ device, total, passed, failed, errors, timeouts, skipped, rate }) => {
    const cells = [
      total,
      passed,
      failed,
      errors,
      timeouts,
      skipped,
      rate === undefined ? "none judged" : percentText(rate),
    ];
    return `<tr><th scope="row">${html(device)}</th>${cells.map((value) => `<td>${value}</td>`).join("")}</tr>`;
  });
  const names = ["Device", "Total", "Passed", "Failed", "Errors", "Timeouts", "Skipped", "Pass rate"];
  const devices = `<h2>Devices</h2>\n<div class="wide" tabindex="0" role="region" aria-label="Devices"><table><thead><tr>${headers(names)}</tr></thead><tbody>${counts.join("")}</tbody></table></div>\n`;
  return all.length === 1
    ? devices
    : `${devices}${caseTable(
        table,
        all.map(({ device }) => device),
      )}`;
}

function caseTable(table: CaseDeviceTable, devices: readonly string[]): string {
  const all = table.rows();
  const rows = all.slice(0, MAX_CASE_ROWS).map(({ id, on }) => {
    const cells = devices.map((device) => {
      const found = on.get(device);
      if (found === undefined) return "<td></td>";
      const times = found.total > 1 ? ` ${found.passed}/${found.total}` : "";
      return `<td class="${found.status}">${found.status}${times}</td>`;
    });
    return `<tr><th scope="row">${html(id)}</th>${cells.join("")}</tr>`;
  });
  const more = all.length > rows.length ? `<p>… and ${all.length - rows.length} more cases</p>` : "";
  return `<details><summary>Cases by device</summary>\n<div class="wide" tabindex="0" role="region" aria-label="Cases by device"><table><thead><tr>${headers(["Case", ...devices])}</tr></thead><tbody>${rows.join("")}</tbody></table></div>${more}</details>\n`;
}

function headers(names: readonly string[]): string {
  return names.map((name) => `<th scope="col">${html(name)}</th>`).join("");
}

function indexRow({ id, run, copy, status, duration_ms: ms, input, device }: CaseResult): readonly (string | number)[] {
  const row = [id, run, status, Math.round(ms), preview(input, PREVIEW_CHARS), device ?? ""];
  return copy === undefined ? row : [...row, copy];
}

/** A result without the texts that no page should hold. */
function shortened(result: CaseResult): CaseResult {
  const { output } = result;
  const text = typeof output === "string" ? output : JSON.stringify(output);
  if (text.length <= MAX_OUTPUT_CHARS) return result;
  return {
    ...result,
    output: `${cut(text, MAX_OUTPUT_CHARS)}\n… (${text.length} characters; all of them are in the log)`,
  };
}

function html(text: string): string {
  return text.replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

/** JSON that no text in it can end the element of. */
function inScript(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", String.raw`\u003c`)
    .replaceAll("\u2028", String.raw`\u2028`)
    .replaceAll("\u2029", String.raw`\u2029`);
}
