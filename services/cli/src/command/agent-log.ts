/** What is done with the log of an eval: `extract` and `compare`. */

import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import type { Comparison, ExtractForm, Flip } from "@mesh/eval";
import { InvalidArgumentError } from "commander";

import { type Cli, type CommonFlags, print } from "../cli.ts";
import { oneLine } from "../terminal/terminal.ts";

/** Flags of `extract`. */
export interface ExtractFlags extends CommonFlags {
  readonly output?: string;
  readonly format?: string;
}

/** Flags of `compare`. */
export interface CompareFlags extends CommonFlags {
  readonly failOn?: string;
}

const EXTENSIONS: Readonly<Record<ExtractForm, string>> = { markdown: "md", json: "json" };
const MAX_SHOWN = 20;

/** Writes one file a result. */
export async function extractResults(cli: Cli, [file = ""]: readonly string[], flags: ExtractFlags): Promise<void> {
  const { extracted, FileNames, readResults } = await import("@mesh/eval");
  const form = formOf(flags.format ?? "markdown");
  const source = resolve(file);
  const folder = resolve(flags.output ?? dirname(source));
  const hasRuns = await hasSeveralRuns(source);
  await mkdir(folder, { recursive: true });
  const names = new FileNames();
  const files: string[] = [];
  for await (const result of readResults(source)) {
    const path = join(folder, names.next(result, EXTENSIONS[form], hasRuns));
    await writeFile(path, extracted(result, form));
    files.push(path);
  }
  print(cli, flags, { files }, () => `${files.length} ${files.length === 1 ? "file" : "files"} in ${folder}\n`);
}

async function hasSeveralRuns(path: string): Promise<boolean> {
  const { readResults } = await import("@mesh/eval");
  for await (const { run } of readResults(path)) if (run > 1) return true;
  return false;
}

function formOf(text: string): ExtractForm {
  if (text === "markdown" || text === "json") return text;
  throw new InvalidArgumentError(`--format must be markdown or json, not "${text}".`);
}

/** Says what changed between two evals; exit code 1 for a regression where that is asked for. */
export async function compareEvals(
  cli: Cli,
  [before = "", after = ""]: readonly string[],
  flags: CompareFlags,
): Promise<number> {
  const { compareLogs } = await import("@mesh/eval");
  const { failOn } = flags;
  if (failOn !== undefined && failOn !== "regression") {
    throw new InvalidArgumentError(`--fail-on must be regression, not "${failOn}".`);
  }
  for (const path of [before, after]) {
    if ((await stat(path).catch(() => undefined))?.isFile() !== true)
      throw new InvalidArgumentError(`there is no file ${path}.`);
  }
  const comparison = await compareLogs(resolve(before), resolve(after));
  print(cli, flags, comparison, () => comparisonText(comparison));
  const isWorse = comparison.verdict === "regressed" || comparison.broken.some(({ isClear }) => isClear);
  return failOn === "regression" && isWorse ? 1 : 0;
}

function comparisonText(comparison: Comparison): string {
  const { compared, rateBefore, rateAfter, difference, pValue, method, verdict, broken, mended } = comparison;
  const { interval } = difference;
  const range = interval === undefined ? "" : ` (95%: ${points(interval.low)} to ${points(interval.high)})`;
  const chance = pValue === undefined ? "" : `, p = ${pValue.toPrecision(2)} (${method})`;
  return [
    `${verdict}: ${percent(rateBefore)} -> ${percent(rateAfter)} over ${compared} cases, ${points(difference.value)}${range}${chance}`,
    ...flipLines("broken", broken),
    ...flipLines("mended", mended),
    ...listLine("only in the first", comparison.removed),
    ...listLine("only in the second", comparison.added),
    ...listLine("changed between, not compared", comparison.changed),
    "",
  ].join("\n");
}

function flipLines(word: string, flips: readonly Flip[]): readonly string[] {
  const shown = flips.toSorted((a, b) => Number(b.isClear) - Number(a.isClear)).slice(0, MAX_SHOWN);
  const lines = shown.map(
    ({ id, before, after, isClear }) =>
      `  ${oneLine(id)}: ${percent(before)} -> ${percent(after)}${isClear ? "" : " (may be chance)"}`,
  );
  return flips.length === 0 ? [] : [`${word}: ${flips.length}`, ...lines];
}

function listLine(word: string, ids: readonly string[]): readonly string[] {
  if (ids.length === 0) return [];
  return [`${word}: ${ids.slice(0, MAX_SHOWN).map(oneLine).join(", ")}${ids.length > MAX_SHOWN ? ", …" : ""}`];
}

function percent(rate: number): string {
  return `${(rate * 100).toFixed(1)}%`;
}

function points(difference: number): string {
  return `${difference < 0 ? "" : "+"}${(difference * 100).toFixed(1)} points`;
}
