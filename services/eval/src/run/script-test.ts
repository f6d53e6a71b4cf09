/**
 * Test functions of a module, run one after the other (or several at once), each in a place of its own.
 *
 * T1  A claim that does not hold fails the test, which goes on; what is thrown fails it and ends it; `skip` marks it.
 * T2  A test that never ends is ended when its time is over, and keeps what it had recorded.
 */

import type { MeshError } from "@mesh/kernel";
import { type Clock, isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { EvalHost, TestRecord } from "../host.ts";
import { identityOf, type IdentitySettings } from "./identity.ts";
import { settle } from "./settle.ts";

/** How one test function went. */
export interface TestFunctionResult {
  readonly name: string;
  readonly run: number;
  readonly status: "passed" | "failed" | "skipped" | "timeout" | "error";
  readonly duration_ms: number;
  readonly error?: string;
  readonly stack_trace?: string;
  /** The first claim that did not hold. */
  readonly assertion?: JsonObject;
  /** All of them. */
  readonly failures?: readonly Json[];
  readonly logs?: readonly string[];
}

/** Which tests, for whom. */
export interface TestModule {
  readonly agentId: string;
  readonly path: string;
  readonly names: readonly string[];
}

/** How tests run. */
export interface TestSettings {
  readonly identity: IdentitySettings;
  readonly timeoutMs: number;
  readonly runs: number;
  readonly parallel: number;
  readonly failFast: boolean;
}

/** What tests run with. */
export interface TestDeps {
  readonly host: EvalHost;
  readonly clock: Clock;
  readonly onResult: (result: TestFunctionResult) => void;
  readonly onStart?: (name: string) => void;
}

const MAX_RECORDS = 1_000;
const WAIT_MS = 500;

/** Runs the tests; gives whether all of them ran. */
export async function runTests(
  module: TestModule,
  settings: TestSettings,
  deps: TestDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const queue = unitsOf(module.names, settings.runs);
  let hasFailed = false;
  let isCut = false;
  const worker = async (): Promise<void> => {
    for (const { name, run } of queue) {
      if (signal.aborted || (settings.failFast && hasFailed)) {
        isCut = true;
        return;
      }
      deps.onStart?.(name);
      const result = await runTest({ module, name, run }, settings, deps, signal);
      if (result === undefined) {
        isCut = true;
        return;
      }
      hasFailed ||= result.status !== "passed" && result.status !== "skipped";
      deps.onResult(result);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, settings.parallel) }, worker));
  return !isCut;
}

function* unitsOf(
  names: readonly string[],
  runs: number,
): Generator<{ readonly name: string; readonly run: number }, undefined> {
  for (const name of names) for (let run = 1; run <= runs; run += 1) yield { name, run };
  return undefined;
}

async function runTest(
  { module, name, run }: { readonly module: TestModule; readonly name: string; readonly run: number },
  { identity, timeoutMs }: TestSettings,
  { host, clock }: TestDeps,
  signal: AbortSignal,
): Promise<TestFunctionResult | undefined> {
  const notes = new Notes();
  const test = { id: name, contextMetadata: {} };
  const seat = host.seat(module.agentId, identityOf({ test, run }, identity), (text) => notes.log(text));
  const startedMs = clock.monotonic();
  const call = {
    path: module.path,
    fn: name,
    name,
    limitMs: timeoutMs,
    onRecord: (record: TestRecord) => notes.add(record),
  };
  try {
    // A script that runs for too long is ended by its own limit, which knows the line; this ends one that waits.
    const ended = await settle((stopped) => seat.test(call, stopped), { clock, limitMs: timeoutMs + WAIT_MS, signal });
    if (ended.kind === "stopped") return undefined;
    const outcome =
      ended.kind === "late"
        ? lateOutcome(timeoutMs)
        : ended.kind === "failed"
          ? notes.thrown(ended.error)
          : notes.outcome();
    return { name, run, duration_ms: Math.round(clock.monotonic() - startedMs), ...outcome, ...notes.kept() };
  } finally {
    await seat[Symbol.asyncDispose]();
  }
}

type Outcome = Pick<TestFunctionResult, "status"> & Partial<TestFunctionResult>;

function lateOutcome(timeoutMs: number): Outcome {
  return { status: "timeout", error: `not done within ${timeoutMs} ms` };
}

/** What a test has recorded. */
class Notes {
  readonly #failures: JsonObject[] = [];
  readonly #logs: string[] = [];
  #skipped: string | undefined;
  #hasHeld = false;

  add({ what, details }: TestRecord): void {
    if (what === "held") this.#hasHeld = true;
    else if (what === "skip") this.#skipped ??= textOf(details);
    else if (what === "log") this.log(textOf(details));
    else if (what === "failed" && isObject(details) && this.#failures.length < MAX_RECORDS) {
      this.#failures.push(details);
    }
  }

  log(text: string): void {
    if (this.#logs.length < MAX_RECORDS) this.#logs.push(text);
  }

  outcome(): Outcome {
    const [first] = this.#failures;
    if (first !== undefined) return { status: "failed", error: failureText(first), assertion: first };
    if (this.#skipped !== undefined)
      return { status: "skipped", ...(this.#skipped === "" ? {} : { error: this.#skipped }) };
    return this.#hasHeld ? { status: "passed" } : { status: "passed", logs: [...this.#logs, "no assertion was made"] };
  }

  /** What the function threw; after `fatal` that is what was recorded already. */
  thrown(error: MeshError): Outcome {
    if (error.details?.["limit"] === "runMs") return { status: "timeout", error: error.message };
    const stack = error.details?.["frames"];
    const trace = typeof stack === "string" ? { stack_trace: stack } : {};
    const [first] = this.#failures;
    if (first !== undefined) return { status: "failed", error: failureText(first), assertion: first, ...trace };
    return { status: "failed", error: error.message, ...trace };
  }

  kept(): Partial<TestFunctionResult> {
    return {
      ...(this.#failures.length === 0 ? {} : { failures: this.#failures }),
      ...(this.#logs.length === 0 ? {} : { logs: this.#logs }),
    };
  }
}

function failureText({ type, message, reason, expected, actual }: JsonObject): string {
  const kind = textOf(type ?? "");
  const said = [message, reason].flatMap((part) => (typeof part === "string" && part !== "" ? [part] : []));
  const isBare = expected === null && actual === null;
  const values =
    isBare || ["error", "fail", "fatal", "Agent"].includes(kind)
      ? []
      : [`expected ${textOf(expected ?? null)}, got ${textOf(actual ?? null)}`];
  return `${kind}: ${[...said, ...values].join(": ")}`;
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
