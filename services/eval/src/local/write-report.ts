/** Writes the report of a finished eval in the form that its name asks for. */

import { appendFile } from "node:fs/promises";
import { extname } from "node:path";

import { isObject, type Json, MeshError } from "@mesh/kernel";

import { textOfOutput } from "../assert/answer.ts";
import { htmlReport } from "../report/html-report.ts";
import { jsonReport } from "../report/json-report.ts";
import { junitReport } from "../report/junit-report.ts";
import { markdownReport, stepSummary } from "../report/markdown-report.ts";
import { type ReportForm, type ReportSource, resultsOf, writeWhole } from "../report/report-source.ts";
import type { EvalHost } from "../host.ts";
import { identityOf, type IdentitySettings } from "../run/identity.ts";
import { agentId } from "./app-root.ts";

const FORMS: Readonly<Record<string, ReportForm>> = {
  ".json": jsonReport,
  ".md": markdownReport,
  ".markdown": markdownReport,
  ".html": htmlReport,
  ".htm": htmlReport,
  ".xml": junitReport,
};
const MAX_AGENT_CHARS = 2 * 1024 * 1024;
const AGENT_MS = 300_000;

/** Writes the report; an extension that is not known means JSON. */
export async function writeReport(source: ReportSource, path: string): Promise<void> {
  const form = FORMS[extname(path).toLowerCase()] ?? jsonReport;
  await writeWhole(path, (write) => form(source, write));
}

/** The JSON report, piece by piece, for a pipe. */
export async function printJsonReport(source: ReportSource, write: (text: string) => void): Promise<void> {
  await jsonReport(source, (piece) => write(typeof piece === "string" ? piece : Buffer.from(piece).toString()));
}

/** Adds to the summary of a step of GitHub Actions. */
export async function writeStepSummary(source: ReportSource, path: string): Promise<void> {
  await appendFile(path, `${await stepSummary(source)}\n`);
}

/** Lets an assistant write the report. */
export async function agentReport(
  source: ReportSource,
  path: string,
  run: {
    readonly host: EvalHost;
    readonly identity: IdentitySettings;
    readonly request: { readonly reporter?: string };
  },
): Promise<void> {
  const id = agentId(run.request.reporter ?? "", run.host.app);
  const format =
    { ".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown" }[extname(path).toLowerCase()] ??
    "json";
  const content = JSON.stringify({ report: await documentOf(source), format, options: { include_outputs: true } });
  if (content.length > MAX_AGENT_CHARS) {
    throw new MeshError(
      "resource_exhausted",
      `the report has ${content.length} characters, too many for the assistant ${id}; leave -r out`,
    );
  }
  await using seat = run.host.seat(id, identityOf({ run: 1 }, run.identity), () => undefined);
  const options = { skip: { history: true, output: true } };
  const answer = await seat.ask(
    { agentId: id, messages: [{ role: "user", content }], options },
    AbortSignal.timeout(AGENT_MS),
  );
  await writeWhole(path, async (write) => write(textOf(answer.output)));
}

async function documentOf(source: ReportSource): Promise<Json> {
  const results: Json[] = [];
  for await (const result of resultsOf(source)) results.push(result as unknown as Json);
  const { start, summary } = source;
  return {
    summary: { agent_id: start.agent_id, ...summary } as unknown as Json,
    environment: start.environment,
    results,
  };
}

function textOf(output: Json): string {
  const inner = isObject(output) ? (output["content"] ?? output["report"]) : undefined;
  return typeof inner === "string" ? inner : textOfOutput(output);
}
