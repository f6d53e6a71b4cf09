/**
 * One run of one case, from its Before hook to its After hook.
 *
 * C1  The case has a place of its own; nothing of another case is in it.
 * C2  After runs whatever happened between, once Before was tried, also when the case is stopped; it has its own time.
 * C3  The verdict is the assertions'. What fails in After is a warning; what fails in Before, or in the assistant, is an error.
 * C4  A case whose eval is stopped has no result: it is run again when the eval goes on.
 */

import { type Clock, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { type Answer, textOfOutput } from "../assert/answer.ts";
import { evaluate, type Judges } from "../assert/evaluate.ts";
import type { Dialogue, EvalCase } from "../eval-case.ts";
import type { EvalHost, FunctionRef, Seat } from "../host.ts";
import { withAttachments } from "../load/attachment.ts";
import type { AssertionResult, CaseResult, Cause, Status, TurnResult } from "../result.ts";
import { holdDialogue, SimulatorError } from "./dialogue.ts";
import { identityOf, type IdentitySettings } from "./identity.ts";
import { askValidator } from "./judge.ts";
import { settle } from "./settle.ts";

/** What is the same for all cases of an eval. */
export interface CaseSettings {
  readonly agentId: string;
  readonly identity: IdentitySettings;
  /** Wins over the case's own. */
  readonly connector?: string;
  readonly timeoutMs: number;
  /** How often a case is tried again when something outside of it failed. */
  readonly retries: number;
  /** Directory that `file://` is relative to. */
  readonly baseDir: string;
  /** Answers that were given before: the assistant is not asked. */
  readonly stored?: (unit: CaseUnit) => Answer | undefined;
  /** The function behind a hook's name; all names were resolved before anything ran. */
  readonly hookOf: (name: string) => FunctionRef;
}

/** What a case runs with. */
export interface CaseDeps {
  readonly host: EvalHost;
  readonly clock: Clock;
  readonly onLog: (id: string, text: string) => void;
  readonly onTurn: (id: string, turn: TurnResult) => void;
}

/** One run of a case. */
export interface CaseUnit {
  readonly test: EvalCase;
  /** From 1. */
  readonly run: number;
}

const AFTER_MS = 30_000;
const PROVIDER_ERROR =
  /^\s*(?:error|exception)?:?\s*(?:upstream\s*)?(?:error\s*)?[:\s]*(?:429|5\d\d)\b|^\s*error:\s|rate limit exceeded/i;

type Verdict = Pick<CaseResult, "status" | "output"> & Partial<CaseResult>;

/** Runs it; undefined when `signal` stopped it. */
export async function runCase(
  unit: CaseUnit,
  settings: CaseSettings,
  deps: CaseDeps,
  signal: AbortSignal,
): Promise<CaseResult | undefined> {
  const { test, run } = unit;
  const { id, hash, raw } = test;
  const input = raw["input"] ?? null;
  const more = described(test);
  if (test.isSkipped) return { id, run, hash, input, status: "skipped", output: null, duration_ms: 0, ...more };
  const startedMs = deps.clock.monotonic();
  const identity = identityOf(unit, settings.identity);
  const log = (text: string): void => deps.onLog(test.id, text);
  const seat = deps.host.seat(settings.agentId, identity, log);
  try {
    const work = new CaseWork(unit, seat, settings, deps);
    const before = await work.before(signal);
    const verdict = before.verdict ?? (await work.judged(signal));
    const durationMs = Math.round((deps.clock.monotonic() - startedMs) * 100) / 100;
    // Named fields first: a spread that adds to a spread costs a hundred times as much.
    const result = { id, run, hash, input, duration_ms: durationMs, ...more, ...verdict };
    const warnings = [...(verdict.warnings ?? []), ...(await work.after(result, before.data))];
    if (signal.aborted && verdict.cause === "interrupt") return undefined;
    return warnings.length === 0 ? result : { ...result, warnings };
  } finally {
    await seat[Symbol.asyncDispose]();
  }
}

function described(test: EvalCase): Partial<CaseResult> {
  const { expected, options } = test.raw;
  return {
    ...(expected === undefined ? {} : { expected }),
    ...(options === undefined ? {} : { options: options as JsonObject }),
  };
}

/** The steps of one case. */
class CaseWork {
  readonly #unit: CaseUnit;
  readonly #test: EvalCase;
  readonly #seat: Seat;
  readonly #settings: CaseSettings;
  readonly #deps: CaseDeps;
  readonly #limitMs: number;

  constructor(unit: CaseUnit, seat: Seat, settings: CaseSettings, deps: CaseDeps) {
    const { test } = unit;
    this.#unit = unit;
    this.#test = test;
    this.#seat = seat;
    this.#settings = settings;
    this.#deps = deps;
    this.#limitMs = test.timeoutMs ?? settings.timeoutMs;
  }

  /** What Before returned, or why the case cannot run. */
  async before(signal: AbortSignal): Promise<{ readonly data?: Json | undefined; readonly verdict?: Verdict }> {
    const { before: name, raw } = this.#test;
    if (name === undefined) return {};
    const ref = this.#settings.hookOf(name);
    const ended = await settle((stopped) => this.#seat.hook(ref, [raw], stopped), this.#bounds(signal));
    switch (ended.kind) {
      case "done":
        return { data: ended.value };
      case "failed":
        return { verdict: errorOf("hook", `${name} failed: ${ended.error.message}`) };
      case "late":
        return { verdict: errorOf("hook", `${name} did not return within ${this.#limitMs} ms and was ended`) };
      case "stopped":
        return { verdict: errorOf("interrupt", "the eval was stopped") };
    }
  }

  /** Runs After; gives what went wrong with it. */
  async after(result: CaseResult, data: Json | undefined): Promise<readonly string[]> {
    const { after: name, raw } = this.#test;
    if (name === undefined) return [];
    const ref = this.#settings.hookOf(name);
    const args = [raw, result as unknown as Json, data];
    // Whoever stops the eval still gets the clean-up of what was begun.
    const { signal } = new AbortController();
    const ended = await settle((stopped) => this.#seat.hook(ref, args, stopped), {
      clock: this.#deps.clock,
      limitMs: AFTER_MS,
      signal,
    });
    if (ended.kind === "failed") return [`${name} failed: ${ended.error.message}`];
    return ended.kind === "late" ? [`${name} did not return within ${AFTER_MS} ms and was ended`] : [];
  }

  /** The case itself, within its time; tried again when something outside of it failed. */
  async judged(signal: AbortSignal): Promise<Verdict> {
    const retries: string[] = [];
    for (;;) {
      const verdict = await this.#once(signal);
      if (verdict.cause !== "transport" || retries.length >= this.#settings.retries || signal.aborted) {
        return retries.length === 0 ? verdict : { ...verdict, retries };
      }
      retries.push(verdict.error ?? "failed");
    }
  }

  async #once(signal: AbortSignal): Promise<Verdict> {
    const turns: TurnResult[] = [];
    const ended = await settle((stopped) => this.#verdict(turns, stopped), this.#bounds(signal));
    switch (ended.kind) {
      case "done":
        return ended.value;
      case "failed":
        return failureOf(ended.error);
      case "late": {
        const metadata = turns.length === 0 ? {} : { metadata: dialogueMetadata(turns, {}, "timeout") };
        return {
          status: "timeout",
          output: null,
          cause: "limit",
          error: `not done within ${this.#limitMs} ms`,
          ...metadata,
        };
      }
      case "stopped":
        return errorOf("interrupt", "the eval was stopped");
    }
  }

  async #verdict(turns: TurnResult[], signal: AbortSignal): Promise<Verdict> {
    const { dialogue } = this.#test;
    const judges: Judges = {
      script: (name, args, stopped) => this.#seat.process(name, args, stopped),
      agent: (question, stopped) => askValidator(this.#seat, question, stopped),
    };
    if (dialogue !== undefined) {
      const messages = await this.#messages();
      return this.#dialogue({ ...this.#test, dialogue }, { messages, judges, turns }, signal);
    }
    const answer = await this.#answer(signal);
    const input = this.#test.raw["input"] ?? null;
    const results = await evaluate(
      this.#test.assertions,
      { answer, input, metadata: this.#test.metadata },
      judges,
      signal,
    );
    return verdictOf(answer, results);
  }

  #messages(): Promise<EvalCase["messages"]> {
    return withAttachments(this.#test.messages, this.#settings.baseDir);
  }

  async #answer(signal: AbortSignal): Promise<Answer> {
    const { stored, agentId } = this.#settings;
    if (stored === undefined) {
      return this.#seat.ask({ agentId, messages: await this.#messages(), options: this.#options() }, signal);
    }
    const answer = stored(this.#unit);
    if (answer !== undefined) return answer;
    throw new MeshError("not_found", "there is no answer of this case to judge again; run it");
  }

  async #dialogue(
    test: EvalCase & { readonly dialogue: Dialogue },
    talk: { readonly messages: EvalCase["messages"]; readonly judges: Judges; readonly turns: TurnResult[] },
    signal: AbortSignal,
  ): Promise<Verdict> {
    const { host, clock } = this.#deps;
    const { agentId, identity } = this.#settings;
    const userSeat = host.seat(
      test.dialogue.simulator.agentId,
      identityOf({ test: { ...test, id: `${test.id}-user` }, run: 1 }, identity),
      () => undefined,
    );
    const onTurn = (turn: TurnResult): void => {
      talk.turns.push(turn);
      this.#deps.onTurn(test.id, turn);
    };
    try {
      const deps = {
        seat: this.#seat,
        userSeat,
        judges: talk.judges,
        clock,
        agentId,
        options: this.#options(),
        onTurn,
      };
      const { status, error, cause, stopReason, output, turns, checkpoints, usage } = await holdDialogue(
        test,
        talk.messages,
        deps,
        signal,
      );
      return {
        status,
        output,
        metadata: dialogueMetadata(turns, checkpoints, stopReason),
        ...(error === undefined ? {} : { error }),
        ...(cause === undefined ? {} : { cause }),
        ...(usage === undefined ? {} : { usage }),
      };
    } finally {
      await userSeat[Symbol.asyncDispose]();
    }
  }

  /** Call options: the case's, the connector of the flags before its own, and no history but what the case gives. */
  #options(): JsonObject {
    const { options } = this.#test;
    const { connector } = this.#settings;
    const skip = typeof options["skip"] === "object" ? (options["skip"] as JsonObject) : {};
    return { ...options, ...(connector === undefined ? {} : { connector }), skip: { ...skip, history: true } };
  }

  #bounds(signal: AbortSignal): Parameters<typeof settle>[1] {
    return { clock: this.#deps.clock, limitMs: this.#limitMs, signal };
  }
}

function dialogueMetadata(turns: readonly TurnResult[], checkpoints: object, stopReason: string): JsonObject {
  return {
    mode: "dynamic",
    total_turns: turns.length,
    stop_reason: stopReason,
    turns,
    checkpoints,
  } as unknown as JsonObject;
}

function verdictOf({ output, trace, usage }: Answer, results: readonly AssertionResult[]): Verdict {
  const failed = results.filter(({ status }) => status === "failed");
  const errors = results.filter(({ status }) => status === "error");
  // One claim that surely does not hold decides, whatever could not be judged beside it.
  const status: Status = failed.length > 0 ? "failed" : errors.length > 0 ? "error" : "passed";
  const error = [...failed, ...errors].map(({ type, message }) => `${type}: ${message ?? "does not hold"}`).join("; ");
  const isSuspicious = PROVIDER_ERROR.test(textOfOutput(output).slice(0, 200));
  return {
    status,
    output,
    ...(status === "passed" ? {} : { error }),
    ...(status === "error" ? { cause: "grader" as const } : {}),
    ...(results.length === 0 ? {} : { assertions: results }),
    ...(Object.keys(trace).length === 0 ? {} : { trace }),
    ...(usage === undefined ? {} : { usage }),
    ...(isSuspicious ? { warnings: ["the answer looks like an error of a provider"] } : {}),
  };
}

function failureOf(error: MeshError): Verdict {
  const { cause: thrown } = error;
  if (thrown instanceof SimulatorError) return errorOf("simulator", thrown.message);
  // A script that went over a limit is not somebody else's fault.
  if (error.details?.["limit"] !== undefined) return errorOf("limit", error.message);
  if (error.code === "unavailable" || error.code === "resource_exhausted") return errorOf("transport", error.message);
  return errorOf("agent", error.message);
}

function errorOf(cause: Cause, error: string): Verdict {
  return { status: "error", output: null, cause, error };
}
