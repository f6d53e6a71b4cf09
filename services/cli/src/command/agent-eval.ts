/** `yao agent eval`: flags become a request, the eval becomes an exit code. */

import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setFlagsFromString } from "node:v8";

import type { EvalDeps, EvalInput, EvalRequest } from "@mesh/eval/local";
import { errorText, MeshError } from "@mesh/kernel";
import { InvalidArgumentError } from "commander";

import type { Cli } from "../cli.ts";
import { exitCodeOf, type StopSignal } from "../terminal/interrupt.ts";
import { wantsDevices } from "../eval/placement.ts";
import { LiveOutput } from "../terminal/live-output.ts";
import type { FleetFlags } from "./agent-eval-fleet.ts";
import { openModels } from "./agent-model.ts";
import { packageVersion } from "./version.ts";

/** Flags of the command. */
export interface EvalFlags extends FleetFlags {
  readonly input?: string;
  readonly name?: string;
  readonly app?: string;
  readonly env?: string;
  readonly scripts?: string;
  readonly output?: string;
  readonly connector?: string;
  readonly user?: string;
  readonly team?: string;
  readonly locale?: string;
  readonly reporter?: string;
  readonly verbose?: boolean;
  readonly ctx?: string;
  readonly simulator?: string;
  readonly before?: string;
  readonly after?: string;
  readonly beforeAll?: string;
  readonly afterAll?: string;
  readonly runs?: number;
  readonly run?: string;
  readonly timeout?: number;
  readonly parallel?: number;
  readonly retries?: number;
  readonly failFast?: boolean;
  readonly dryRun?: boolean;
  readonly resume?: string;
  readonly regrade?: string;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_STDIN_BYTES = 256 * 1024 * 1024;

/**
 * Cases leave much garbage and little else. Left alone, V8 lets its heap grow to several times of what lives; these two, which it
 * reads at each collection, halve the memory of an eval for no more processor time. A V8 that does not know one ignores it.
 */
const HEAP_FLAGS = ["--heap-growing-percent=80", "--semi-space-growth-factor=1"];

/** What an eval is prepared and shown with. */
export type EvalSetting = EvalDeps;

/** Runs it. */
export async function evalAgent(cli: Cli, args: readonly string[], flags: EvalFlags): Promise<number> {
  for (const flag of HEAP_FLAGS) setFlagsFromString(flag);
  const { ConsoleReport, EventReport } = await import("@mesh/eval/local");
  const { input, inputText, agent } = await inputOf(cli, args, flags);
  const isVerbose = flags.verbose === true;
  const live = new LiveOutput(cli.terminal, cli.clock);
  const write = (text: string): void => live.write(text);
  const progress = (line: string): void => live.progress(line);
  const reporter =
    flags.json === true ? new EventReport(write, { isVerbose }) : new ConsoleReport(write, { isVerbose, progress });
  const request = requestOf({ input, inputText, ...(agent === undefined ? {} : { agent }) }, flags);
  const scratchDir = await mkdtemp(join(tmpdir(), "yao-eval-"));
  const models = openModels(cli.clock, scratchDir);
  try {
    const setting: EvalSetting = {
      clock: cli.clock,
      nonce: randomBytes(4).toString("hex"),
      version: packageVersion(),
      env: cli.env,
      variables: await variablesOf(flags.env),
      scratchDir,
      reporter,
      models: models.forApp,
    };
    if (!wantsDevices(flags)) return await evalHere(cli, request, setting, live);
    const { evalOnDevices } = await import("./agent-eval-fleet.ts");
    return await evalOnDevices(cli, flags, request, { setting, live });
  } finally {
    live.close();
    await models[Symbol.asyncDispose]();
    await rm(scratchDir, { recursive: true, force: true });
  }
}

async function evalHere(cli: Cli, request: EvalRequest, setting: EvalSetting, live: LiveOutput): Promise<number> {
  const { runEval } = await import("@mesh/eval/local");
  const stop = new AbortController();
  let stopped: StopSignal | undefined;
  const unlisten = cli.interrupts.listen((signal, count) => {
    stopped ??= signal;
    stop.abort(new MeshError("cancelled", "interrupted"));
    // What is being cleaned up is left behind.
    live.close();
    if (count > 1) process.exit(exitCodeOf(signal));
  });
  try {
    const { exitCode } = await runEval(request, setting, AbortSignal.any([stop.signal, cli.terminal.closed]));
    return stopped === undefined ? exitCode : exitCodeOf(stopped);
  } finally {
    unlisten();
  }
}

interface Asked {
  readonly input: EvalInput;
  readonly inputText: string;
  readonly agent?: string;
}

/** Both grammars: `eval AGENT INPUT`, and `eval -i INPUT -n AGENT`. */
async function inputOf(cli: Cli, args: readonly string[], flags: EvalFlags): Promise<Asked> {
  const { inputFromText, parseInput } = await import("@mesh/eval/local");
  const { agent, text } = wordsOf(args, flags);
  const about = agent === undefined ? {} : { agent };
  const { scripts } = flags;
  if (scripts !== undefined) {
    if (text !== undefined) throw new InvalidArgumentError("--scripts and an input exclude each other.");
    const inputText = `scripts.${agent === undefined ? "" : `${agent}.`}${scripts}`;
    return { input: { kind: "tests", module: scripts }, inputText, ...about };
  }
  if (text === undefined) {
    throw new InvalidArgumentError(
      'nothing to test: give a message, @FILE, or -i INPUT, such as yao agent eval myagent "Hello".',
    );
  }
  if (text !== "-") return { input: parseInput(text, isFile), inputText: text, ...about };
  return { input: inputFromText(await cli.terminal.readAll(MAX_STDIN_BYTES)), inputText: "-", ...about };
}

function wordsOf(
  args: readonly string[],
  { scripts, input, name }: EvalFlags,
): { readonly agent: string | undefined; readonly text: string | undefined } {
  const words = [...args];
  // One word that is a file of cases needs no assistant: it is found above the file.
  const isAlone = words.length === 1 && input === undefined && scripts === undefined;
  const isFileAlone = isAlone && /^@|\.(?:jsonl|ndjson)$/i.test(words[0] ?? "");
  const agent = name ?? (isFileAlone ? undefined : words.shift());
  const text = input ?? words.shift();
  const [extra] = words;
  if (extra !== undefined) throw new InvalidArgumentError(`"${extra}" is one argument too many.`);
  return { agent, text };
}

function requestOf(asked: Asked, flags: EvalFlags): EvalRequest {
  const { app, connector, user, team, locale, ctx, simulator, run, output, resume, regrade, reporter } = flags;
  const before = flags.before ?? flags.beforeAll;
  const after = flags.after ?? flags.afterAll;
  const optional = {
    appDir: app,
    connector,
    user,
    team,
    locale,
    contextFile: ctx,
    simulator,
    only: run,
    output,
    resume,
    regrade,
    reporter,
    before,
    after,
  };
  return {
    ...asked,
    cwd: process.cwd(),
    timeoutMs: flags.timeout ?? DEFAULT_TIMEOUT_MS,
    runs: flags.runs ?? 1,
    parallel: flags.parallel ?? 1,
    retries: flags.retries ?? 0,
    failFast: flags.failFast === true,
    isDryRun: flags.dryRun === true,
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<EvalRequest>),
  };
}

function isFile(path: string): boolean {
  return statSync(resolve(path), { throwIfNoEntry: false })?.isFile() === true;
}

/** Variables of a file: NAME=VALUE a line, quotes around a value are not part of it. */
async function variablesOf(path: string | undefined): Promise<Readonly<Record<string, string>>> {
  if (path === undefined) return {};
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new MeshError("not_found", `cannot read the variables in ${path}: ${errorText(error)}`, { cause: error });
  });
  const variables: Record<string, string> = {};
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    const match = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line);
    if (match === null) throw new MeshError("invalid_argument", `${path}:${index + 1}: a line must be NAME=VALUE`);
    const [, name = "", value = ""] = match;
    variables[name] = /^(["']).*\1$/s.test(value) ? value.slice(1, -1) : value;
  }
  return variables;
}
