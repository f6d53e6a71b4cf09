/**
 * Runs all cases of an eval, each as often as wanted.
 *
 * S1  A result is handed out once per case and run, when it is complete; those a log already has are not run again.
 * S2  `parallel`, `runs` and `failFast` hold together. Failing fast stops new cases; those that run are finished.
 * S3  AfterAll runs exactly once if BeforeAll was tried, however the eval ends.
 */

import { type Clock, type Json, MeshError } from "@mesh/kernel";

import type { EvalCase } from "../eval-case.ts";
import type { EvalHost, FunctionRef } from "../host.ts";
import type { CaseResult, TurnResult } from "../result.ts";
import { breather } from "./breather.ts";
import { type CaseSettings, type CaseUnit, runCase } from "./case-run.ts";
import { identityOf } from "./identity.ts";
import { settle } from "./settle.ts";

/** How an eval runs. */
export interface SessionSettings extends CaseSettings {
  readonly runs: number;
  readonly parallel: number;
  readonly failFast: boolean;
  readonly beforeAll?: FunctionRef;
  readonly afterAll?: FunctionRef;
}

/** The hooks around an eval, as whom they run, and how long BeforeAll may take. */
export type AroundSettings = Pick<SessionSettings, "agentId" | "identity" | "timeoutMs" | "beforeAll" | "afterAll">;

/** What the hooks around an eval run with. */
export interface AroundDeps extends Pick<SessionDeps, "host" | "clock"> {
  readonly observer: Pick<SessionObserver, "onLog">;
}

/** What BeforeAll returned, or why nothing may run. */
export interface BeforeAllEnd {
  readonly data?: Json | undefined;
  readonly error?: string;
}

/** Hears what happens. */
export interface SessionObserver {
  onStart?(unit: CaseUnit): void;
  onTurn?(id: string, turn: TurnResult): void;
  onLog?(id: string, text: string): void;
  onResult(result: CaseResult, unit: CaseUnit): void;
}

/** What an eval runs with. */
export interface SessionDeps {
  readonly host: EvalHost;
  readonly clock: Clock;
  readonly observer: SessionObserver;
  /** Whether a log has this result already. */
  readonly isDone?: (unit: CaseUnit) => boolean;
  /** All results, for AfterAll. */
  readonly results: () => Promise<readonly CaseResult[]>;
}

/** How an eval ended. */
export interface SessionEnd {
  /** All that was to run did. */
  readonly isComplete: boolean;
  /** BeforeAll failed, so nothing ran. */
  readonly error?: string;
  readonly warnings: readonly string[];
}

const AFTER_ALL_MS = 60_000;
const MAX_HOOK_RESULTS_CHARS = 4 * 1024 * 1024;

/** Runs the cases; never rejects because of one. */
export async function runSession(
  cases: readonly EvalCase[],
  settings: SessionSettings,
  deps: SessionDeps,
  signal: AbortSignal,
): Promise<SessionEnd> {
  const before = await callBeforeAll(cases, settings, deps, signal);
  const warnings: string[] = [];
  let isComplete = false;
  if (before.error === undefined) isComplete = await runUnits(cases, settings, deps, signal);
  const late = await callAfterAll(before.data, settings, deps);
  if (late !== undefined) warnings.push(late);
  return { isComplete, warnings, ...(before.error === undefined ? {} : { error: before.error }) };
}

async function runUnits(
  cases: readonly EvalCase[],
  settings: SessionSettings,
  deps: SessionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const { observer, clock, host } = deps;
  const units = unitsOf(cases, settings.runs, deps.isDone ?? (() => false));
  let hasFailed = false;
  let isCut = false;
  const breathe = breather(clock);
  const caseDeps = {
    host,
    clock,
    onTurn: (id: string, turn: TurnResult) => observer.onTurn?.(id, turn),
    onLog: (id: string, text: string) => observer.onLog?.(id, text),
  };
  const worker = async (): Promise<void> => {
    for (const unit of units) {
      if (signal.aborted || (settings.failFast && hasFailed)) {
        isCut = true;
        return;
      }
      observer.onStart?.(unit);
      const result = await runCase(unit, settings, caseDeps, signal);
      if (result === undefined) {
        isCut = true;
        return;
      }
      hasFailed ||= result.status !== "passed" && result.status !== "skipped";
      observer.onResult(result, unit);
      await breathe();
    }
  };
  // The workers take units from one generator: a unit is run by whoever is free.
  await Promise.all(Array.from({ length: Math.max(1, settings.parallel) }, worker));
  return !isCut;
}

/** The runs of the cases that are still to be made, in order. */
export function* unitsOf(
  cases: readonly EvalCase[],
  runs: number,
  isDone: (unit: CaseUnit) => boolean,
): Generator<CaseUnit, undefined> {
  for (const test of cases) {
    for (let run = 1; run <= runs; run += 1) {
      const unit = { test, run };
      if (!isDone(unit)) yield unit;
    }
  }
  return undefined;
}

/** Calls the hook before all cases, if there is one; never rejects because of it. */
export async function callBeforeAll(
  cases: readonly Pick<EvalCase, "raw">[],
  settings: AroundSettings,
  deps: AroundDeps,
  signal: AbortSignal,
): Promise<BeforeAllEnd> {
  const { beforeAll } = settings;
  if (beforeAll === undefined) return {};
  const raws = cases.map(({ raw }) => raw);
  const ended = await callHook({ ref: beforeAll, args: [raws], limitMs: settings.timeoutMs, signal }, settings, deps);
  switch (ended.kind) {
    case "done":
      return { data: ended.value };
    case "failed":
      return { error: `${beforeAll.fn} failed: ${ended.error.message}` };
    case "late":
      return { error: `${beforeAll.fn} did not return within ${settings.timeoutMs} ms and was ended` };
    case "stopped":
      return { error: "the eval was stopped" };
  }
}

/** Calls the hook after all cases, if there is one; gives what went wrong with it, as a warning. */
export async function callAfterAll(
  data: Json | undefined,
  settings: AroundSettings,
  deps: AroundDeps & Pick<SessionDeps, "results">,
): Promise<string | undefined> {
  const { afterAll } = settings;
  if (afterAll === undefined) return undefined;
  const results = fitting(await deps.results());
  // Clean-up is not stopped by what stopped the eval.
  const { signal } = new AbortController();
  const ended = await callHook({ ref: afterAll, args: [results, data], limitMs: AFTER_ALL_MS, signal }, settings, deps);
  if (ended.kind === "failed") return `${afterAll.fn} failed: ${ended.error.message}`;
  return ended.kind === "late" ? `${afterAll.fn} did not return within ${AFTER_ALL_MS} ms and was ended` : undefined;
}

interface GlobalHook {
  readonly ref: FunctionRef;
  readonly args: readonly (Json | undefined)[];
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

async function callHook(
  { ref, args, limitMs, signal }: GlobalHook,
  { agentId, identity }: AroundSettings,
  { host, clock, observer }: AroundDeps,
): ReturnType<typeof settle<Json | undefined>> {
  const seat = host.seat(agentId, identityOf({ run: 1 }, identity), (text) => observer.onLog?.(ref.fn, text));
  try {
    return await settle((stopped) => seat.hook(ref, args, stopped), { clock, limitMs, signal });
  } finally {
    await seat[Symbol.asyncDispose]();
  }
}

/** Results as far as a script can be handed them: without their texts when they are too many. */
function fitting(results: readonly CaseResult[]): Json {
  let chars = 0;
  const whole = results.every((result) => (chars += JSON.stringify(result).length) <= MAX_HOOK_RESULTS_CHARS);
  if (whole) return results as unknown as Json;
  return results.map(({ id, run, status, duration_ms, error }) => ({
    id,
    run,
    status,
    duration_ms,
    input: null,
    output: null,
    ...(error === undefined ? {} : { error: error.slice(0, 200) }),
  }));
}

/** The function behind a name that was resolved before. */
export function hookLookup(refs: ReadonlyMap<string, FunctionRef>): (name: string) => FunctionRef {
  return (name) => {
    const ref = refs.get(name);
    if (ref === undefined) throw new MeshError("internal", `the hook ${name} was not resolved`);
    return ref;
  };
}
