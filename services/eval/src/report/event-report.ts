/** The report for programs: one JSON object a line. Pure but for `write`. */

import type { EvalCase } from "../eval-case.ts";
import type { CaseUnit } from "../run/case-run.ts";
import type { CaseResult, TurnResult } from "../result.ts";
import type { CaseTally, Summary } from "../stat/tally.ts";
import type { EvalPlan, EvalReporter } from "./reporter.ts";
import { inputText } from "./text-form.ts";
import { cut } from "../assert/json-equal.ts";

const MAX_INPUT_CHARS = 200;

/** See the file comment. */
export class EventReport implements EvalReporter {
  readonly #write: (text: string) => void;
  readonly #isVerbose: boolean;
  #isDirect = false;
  #agentId = "";
  #connector: string | undefined;

  constructor(write: (text: string) => void, options: { readonly isVerbose: boolean }) {
    this.#write = write;
    this.#isVerbose = options.isVerbose;
  }

  onPlan({ agentId, connector, input, cases, runs, copies, isDirect }: EvalPlan): void {
    this.#isDirect = isDirect && runs === 1;
    this.#agentId = agentId;
    this.#connector = connector;
    this.#event({
      type: "start",
      agent_id: agentId,
      ...optional({ connector }),
      input,
      total: cases.length,
      runs,
      ...optional({ copies }),
    });
  }

  onDryRun(cases: readonly EvalCase[]): void {
    for (const { id, raw } of cases) this.#event({ type: "dry_run_case", id, input: raw["input"] });
  }

  onStart({ test, run }: CaseUnit): void {
    const { id, raw, dialogue } = test;
    this.#event({ type: "test_start", id, run, input: cut(inputText(raw["input"] ?? null), MAX_INPUT_CHARS) });
    if (dialogue !== undefined) this.#event({ type: "dynamic_start", id, checkpoints: dialogue.checkpoints.length });
  }

  onTurn(id: string, turn: TurnResult): void {
    if (this.#isVerbose) this.#event({ type: "dynamic_turn", id, ...turn });
  }

  onLog(id: string, text: string): void {
    this.#event({ type: "log", level: "info", id, message: text });
  }

  onResult(result: CaseResult, { test }: CaseUnit): void {
    if (this.#isDirect && result.error === undefined) {
      const { output, duration_ms, trace } = result;
      this.#event({
        type: "direct_output",
        output,
        duration_ms,
        ...optional({ trace: this.#isVerbose ? trace : undefined }),
      });
      return;
    }
    const { id, run, copy, status, duration_ms, error, cause, output, assertions, device } = result;
    if (test.dialogue !== undefined) {
      const turns = Number(result.metadata?.["total_turns"] ?? 0);
      this.#event({
        type: "dynamic_result",
        id,
        run,
        status,
        turns,
        checkpoints: test.dialogue.checkpoints.length,
        duration_ms,
      });
    }
    if (error !== undefined) this.#event({ type: "test_error", id, run, error, ...optional({ cause }) });
    if (this.#isVerbose) this.#event({ type: "test_output", id, run, output });
    this.#event({
      type: "test_result",
      id,
      run,
      status,
      duration_ms,
      ...optional({ copy, device, error, cause, assertions }),
      output,
    });
  }

  onCase({ id, runs, passed, stability, avgMs, errors }: CaseTally): void {
    this.#event({
      type: "stability",
      id,
      runs,
      passed,
      errors,
      pass_rate: stability.passRate === undefined ? null : stability.passRate * 100,
      stability_class: stability.class ?? null,
      interval: stability.interval === undefined ? null : { ...stability.interval, method: "wilson", level: 0.95 },
      undecided: stability.isUndecided,
      avg_duration_ms: Math.round(avgMs),
    });
  }

  onEnd(summary: Summary, warnings: readonly string[]): void {
    const about = { agent_id: this.#agentId, ...optional({ connector: this.#connector }) };
    this.#event({ type: "summary", ...about, ...summary, ...(warnings.length === 0 ? {} : { warnings }) });
  }

  onFile(path: string): void {
    this.#event({ type: "output_file", path });
  }

  #event(event: object): void {
    this.#write(`${JSON.stringify(event)}\n`);
  }
}

function optional(values: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}
