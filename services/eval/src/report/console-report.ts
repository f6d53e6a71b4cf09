/** The report that is printed while an eval runs. Pure but for `write`. */

import { textOfOutput } from "../assert/answer.ts";
import type { EvalCase } from "../eval-case.ts";
import type { CaseUnit } from "../run/case-run.ts";
import type { CaseResult, Status, TurnResult } from "../result.ts";
import { DeviceTally } from "../stat/device-tally.ts";
import { type CaseTally, type Summary } from "../stat/tally.ts";
import { stabilityName } from "../stat/stability.ts";
import type { EvalPlan, EvalReporter } from "./reporter.ts";
import { durationText, intervalText, percentText, plainText, preview } from "./text-form.ts";

const BAR = "═".repeat(60);
const PREVIEW_CHARS = 50;
const OUTPUT_CHARS = 100;
const BAR_CHARS = 20;

/** How an eval is shown. */
export interface ConsoleReportOptions {
  readonly isVerbose: boolean;
  /** Hears how far the eval is, in one line, after every result. */
  readonly progress?: (line: string) => void;
}

/** See the file comment. */
export class ConsoleReport implements EvalReporter {
  readonly #write: (text: string) => void;
  readonly #isVerbose: boolean;
  readonly #progress: ((line: string) => void) | undefined;
  /** Lines of cases that run, so that those of two cases do not mix. */
  readonly #held = new Map<string, string[]>();
  readonly #devices = new DeviceTally();
  #plan: EvalPlan | undefined;
  #done = 0;
  #bad = 0;

  constructor(write: (text: string) => void, options: ConsoleReportOptions) {
    this.#write = write;
    this.#isVerbose = options.isVerbose;
    this.#progress = options.progress;
  }

  onPlan(plan: EvalPlan): void {
    this.#plan = plan;
    if (this.#isDirect()) return;
    const { agentId, agentPath, connector, input, cases, runs, copies = 1, parallel } = plan;
    this.#line(BAR);
    this.#line("  Agent Test");
    this.#line(BAR);
    this.#line(`ℹ Agent: ${agentId}${agentPath === undefined ? "" : ` (${agentPath})`}`);
    if (connector !== undefined) this.#line(`ℹ Connector: ${connector}`);
    this.#line(`ℹ Input: ${plainText(input)}`);
    const more = [
      runs > 1 ? `${runs} runs each` : "",
      copies > 1 ? `on ${copies} devices each` : "",
      parallel > 1 ? `${parallel} at once` : "",
    ].filter((part) => part !== "");
    this.#line(`ℹ Cases: ${cases.length}${more.length === 0 ? "" : ` (${more.join(", ")})`}`);
    this.#line("");
  }

  onDryRun(cases: readonly EvalCase[]): void {
    for (const { id, raw } of cases)
      this.#line(`  ○ [${plainText(id)}] ${preview(raw["input"] ?? null, PREVIEW_CHARS)}`);
  }

  onStart({ test }: CaseUnit): void {
    const { id, dialogue } = test;
    if (dialogue === undefined) return;
    this.#say(id, `► [${plainText(id)}] (dynamic, ${dialogue.checkpoints.length} checkpoints)`);
    this.#say(id, `ℹ Dynamic test: ${plainText(id)} (max ${dialogue.maxTurns} turns)`);
  }

  onTurn(id: string, { turn, input, output, checkpoints_reached: reached }: TurnResult): void {
    this.#say(id, `ℹ   Turn ${turn}: User: ${preview(input, OUTPUT_CHARS)}`);
    this.#say(id, `ℹ   Turn ${turn}: Agent: ${preview(output, OUTPUT_CHARS)}`);
    for (const checkpoint of reached) this.#say(id, `ℹ     ✓ checkpoint: ${plainText(checkpoint)}`);
  }

  onLog(id: string, text: string): void {
    if (this.#isVerbose) this.#say(id, `  │ ${plainText(text)}`);
  }

  onResult(result: CaseResult, { test }: CaseUnit): void {
    const { status, output, error, warnings = [] } = result;
    if (this.#isDirect()) {
      this.#line(error === undefined ? plainText(textOfOutput(output)) : `✗ ${plainText(error)}`);
      return;
    }
    this.#verdict(result, test);
    this.#devices.add(result);
    this.#count(status);
    if (this.#isVerbose && output !== null) this.#line(`  └─ Output: ${preview(output, OUTPUT_CHARS)}`);
    if (error !== undefined && status !== "skipped") this.#line(`  └─ ${plainText(error).replaceAll("\n", "\n     ")}`);
    for (const warning of warnings) this.#line(`  └─ warning: ${plainText(warning)}`);
  }

  #count(status: Status): void {
    this.#done += 1;
    if (status !== "passed" && status !== "skipped") this.#bad += 1;
    if (this.#progress === undefined || this.#plan === undefined) return;
    const all = this.#plan.cases.length * this.#plan.runs * (this.#plan.copies ?? 1);
    const filled = Math.floor((this.#done / Math.max(1, all)) * BAR_CHARS);
    const bar = "█".repeat(Math.min(BAR_CHARS, filled)).padEnd(BAR_CHARS, "░");
    this.#progress(`${bar} ${this.#done}/${all}${this.#bad === 0 ? "" : `, ${this.#bad} did not pass`}`);
  }

  #verdict({ id, run, status, input, metadata, device, duration_ms: ms }: CaseResult, { dialogue }: EvalCase): void {
    const runs = this.#plan?.runs ?? 1;
    const verdict = status.toUpperCase();
    const where = device === undefined ? "" : ` on ${plainText(device)}`;
    if (dialogue === undefined || status === "skipped") {
      const which = runs > 1 ? ` run ${run}/${runs}` : "";
      const time = status === "skipped" ? "" : ` (${durationText(ms)})`;
      this.#line(`► [${plainText(id)}] ${preview(input, PREVIEW_CHARS)}${which} ${verdict}${time}${where}`);
      this.#flush(id);
      return;
    }
    this.#flush(id);
    const turns = Number(metadata?.["total_turns"] ?? 0);
    this.#line(
      `  └─ ${verdict} (${turns} turns, ${dialogue.checkpoints.length} checkpoints, ${durationText(ms)})${where}`,
    );
  }

  onCase(tally: CaseTally): void {
    const { id, passed, errors, stability, avgMs } = tally;
    if (stability.class === undefined || stability.passRate === undefined || stability.interval === undefined) return;
    const unjudged = errors === 0 ? "" : `, ${errors} not judged`;
    const undecided = stability.isUndecided ? ", undecided" : "";
    this.#line(
      `  [${plainText(id)}] ${percentText(stability.passRate)} (${passed}/${stability.scored}${unjudged}) ${stabilityName(stability.class)} ` +
        `(${intervalText(stability.interval)} at 95%${undecided}) avg:${durationText(avgMs)}`,
    );
  }

  onEnd(summary: Summary, warnings: readonly string[]): void {
    if (this.#isDirect()) return;
    for (const line of [...summaryLines(summary, this.#plan), ...deviceLines(this.#devices)]) this.#line(line);
    for (const warning of warnings) this.#line(`warning: ${plainText(warning)}`);
    this.#line("");
    this.#line(bannerOf(summary));
  }

  onFile(path: string): void {
    this.#line(`ℹ Output: ${path}`);
  }

  #isDirect(): boolean {
    return this.#plan?.isDirect === true && this.#plan.runs === 1;
  }

  #say(id: string, line: string): void {
    if ((this.#plan?.parallel ?? 1) <= 1) this.#line(line);
    else this.#held.set(id, [...(this.#held.get(id) ?? []), line]);
  }

  #flush(id: string): void {
    for (const line of this.#held.get(id) ?? []) this.#line(line);
    this.#held.delete(id);
  }

  #line(text: string): void {
    this.#write(`${text}\n`);
  }
}

function summaryLines(summary: Summary, plan: EvalPlan | undefined): readonly string[] {
  const { total, passed, failed, skipped, errors, timeouts, pass_rate: rate, scored } = summary;
  const judged = rate === null ? "none judged" : `${rate.toFixed(1)}% (${passed} of ${scored} judged, ${total} in all)`;
  const rare = (name: string, count: number): readonly string[] => (count === 0 ? [] : [row(name, count)]);
  return [
    "",
    BAR,
    "  Summary",
    BAR,
    row("Agent", plan?.agentId ?? ""),
    ...(plan?.connector === undefined ? [] : [row("Connector", plan.connector)]),
    row("Total", total),
    row("Passed", passed),
    row("Failed", failed),
    ...rare("Skipped", skipped),
    ...rare("Errors", errors),
    ...rare("Timeouts", timeouts),
    row("Pass Rate", judged),
    row("Duration", durationText(summary.duration_ms)),
    ...spentLines(summary),
    ...stabilityLines(summary),
  ];
}

function row(name: string, value: string | number): string {
  return `  ${`${name}:`.padEnd(12)} ${value}`;
}

function spentLines({ usage }: Summary): readonly string[] {
  if (usage === undefined) return [];
  const cost = usage.cost_usd === undefined ? "" : `, $${usage.cost_usd.toFixed(4)}`;
  return [row("Tokens", `${usage.total_tokens}${cost}`)];
}

function stabilityLines(summary: Summary): readonly string[] {
  const { runs_per_case: runs, total_runs: all = 0, overall_pass_rate: overall = 0 } = summary;
  if (runs === undefined) return [];
  const { stable_cases: stable = 0, unstable_cases: unstable = 0, undecided_cases: undecided = 0 } = summary;
  return [
    "",
    "  Stability Analysis",
    row("Runs", `${runs} per case, ${all} in all`),
    row("Pass Rate", `${overall.toFixed(1)}% of all runs`),
    row("Stable", stable),
    row("Unstable", unstable),
    row("Undecided", `${undecided} (more runs would tell)`),
  ];
}

function deviceLines(devices: DeviceTally): readonly string[] {
  const all = devices.devices();
  if (all.length === 0) return [];
  const width = Math.max(...all.map(({ device }) => device.length)) + 1;
  const lines = all.map(({ device, total, passed, scored, rate, unjudged }) => {
    const judged = rate === undefined ? "none judged" : `${percentText(rate)} (${passed}/${scored})`;
    return `  ${plainText(`${device}:`).padEnd(width)} ${judged}, ${total} in all${unjudged === 0 ? "" : `, ${unjudged} not judged`}`;
  });
  return ["", "  Devices", ...lines];
}

function bannerOf({ complete, failed, errors, timeouts, passed }: Summary): string {
  if (failed + errors + timeouts > 0) return "❌ TESTS FAILED";
  if (!complete) return "❌ NOT ALL TESTS RAN";
  return passed === 0 ? "⏭️ NOTHING WAS TESTED" : "✨ ALL TESTS PASSED ✨";
}
