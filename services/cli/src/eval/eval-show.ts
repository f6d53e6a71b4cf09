/** What `yao evals follow` and `yao evals report` do. */

import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";

import type { EvalReporter, ReportSource } from "@mesh/eval/local";
import { MeshError } from "@mesh/kernel";
import type { Eval } from "@mesh/proto";

import { type Cli, clientOf, type CommonFlags, print } from "../cli.ts";
import { packageVersion } from "../command/version.ts";
import { LiveOutput } from "../terminal/live-output.ts";
import { endOf, followResults, readCases, readEval, startRowOf, storedResults } from "./eval-follow.ts";
import { EvalWatch } from "./eval-watch.ts";

/** Flags of what follows. */
export interface FollowFlags extends CommonFlags {
  readonly output?: string;
  readonly verbose?: boolean;
  readonly watch?: boolean;
}

/** Flags of what reports. */
export interface ReportFlags extends CommonFlags {
  readonly output?: string;
}

/** Writes the report of an eval as it is now. */
export async function reportEval(cli: Cli, id: string, flags: ReportFlags): Promise<undefined> {
  const { output } = flags;
  const isPrinted = output === undefined && flags.json === true;
  if (output === undefined && !isPrinted) {
    throw new MeshError("invalid_argument", "say where the report goes with -o FILE, or print it with --json");
  }
  const { ConsoleReport, printJsonReport, RemoteBook, writeReport } = await import("@mesh/eval/local");
  const client = clientOf(cli, flags);
  const state = await readEval(client, id);
  const start = startRowOf(state, packageVersion());
  const scratch = join(tmpdir(), `yao-report-${randomBytes(6).toString("hex")}`);
  const isLog = output !== undefined && isLogPath(output);
  const log = isLog ? resolve(output) : `${scratch}.jsonl`;
  try {
    const reporter = new ConsoleReport(() => undefined, { isVerbose: false });
    const book = new RemoteBook({ start, cases: [], reporter, clock: cli.clock, log });
    for await (const { ordinal, result } of storedResults(client, id)) book.add(ordinal, result);
    const summary = book.end(endOf(state, cli.clock.now()));
    if (isLog) cli.terminal.out(`${log}\n`);
    else if (output !== undefined) {
      await writeReport({ log, start, summary }, resolve(output));
      print(cli, flags, { output: resolve(output), summary }, () => `${resolve(output)}\n`);
    } else await printJsonReport({ log, start, summary }, (text) => cli.terminal.out(text));
  } finally {
    if (!isLog) await rm(log, { force: true });
  }
  return undefined;
}

function isLogPath(path: string): boolean {
  return [".jsonl", ".ndjson"].includes(extname(path).toLowerCase());
}

/** Shows an eval from its beginning to its end; returns the exit code. */
export async function showEvalLive(cli: Cli, id: string, flags: FollowFlags): Promise<number> {
  const { casesOf, ConsoleReport, EventReport, exitCodeOf, planOf, RemoteBook } = await import("@mesh/eval/local");
  const client = clientOf(cli, flags);
  const first = await readEval(client, id);
  const start = startRowOf(first, packageVersion());
  const { cases } = casesOf(await readCases(client, id), id, simulatorOf(first));
  const live = new LiveOutput(cli.terminal, cli.clock);
  const isJson = flags.json === true;
  const isVerbose = flags.verbose === true;
  const write = (text: string): void => live.write(text);
  const progress = (line: string): void => live.progress(line);
  const reporter: EvalReporter = isJson
    ? new EventReport(write, { isVerbose })
    : new ConsoleReport(write, { isVerbose, progress });
  const watch = new EvalWatch({ cli, client, isOurs: false, showsDevices: flags.watch === true, isJson, live });
  watch.begun(first);
  const output = flags.output === undefined ? undefined : resolve(flags.output);
  const log = output === undefined ? undefined : isLogPath(output) ? output : `${output}.partial.jsonl`;
  try {
    reporter.onPlan(planOf(start, { cases, isDirect: false, parallel: first.settings?.parallel ?? 1 }));
    const book = new RemoteBook({ start, cases, reporter, clock: cli.clock, ...(log === undefined ? {} : { log }) });
    const onEval = (state: Eval): void => watch.changed(state);
    const onConnection = (lost: MeshError | undefined): void =>
      cli.terminal.progress(lost === undefined ? "connected again" : `connection lost, trying again: ${lost.message}`);
    const followed = followResults({ client, clock: cli.clock, id, signal: watch.signal, onEval, onConnection });
    for await (const { ordinal, result } of followed) book.add(ordinal, result);
    const end = endOf(watch.signal.aborted ? first : await readEval(client, id), cli.clock.now());
    const summary = book.end(end);
    reporter.onEnd(summary, [...(end.error === undefined ? [] : [end.error]), ...end.warnings]);
    if (output !== undefined && log !== undefined) await writeOutput({ log, start, summary }, output, reporter);
    return watch.exitCode(exitCodeOf(summary, end, watch.signal));
  } finally {
    live.close();
    watch.close();
  }
}

async function writeOutput(source: ReportSource, output: string, reporter: EvalReporter): Promise<void> {
  if (source.log !== output) {
    const { writeReport } = await import("@mesh/eval/local");
    await writeReport(source, output);
    if (source.summary.complete) await rm(source.log, { force: true });
    else reporter.onFile(source.log);
  }
  reporter.onFile(output);
}

function simulatorOf({ settings }: Eval): { readonly simulator?: string } {
  return settings === undefined || settings.simulator === "" ? {} : { simulator: settings.simulator };
}
