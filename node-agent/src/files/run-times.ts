/** When the runs of a workspace worked here, so that a file that changed is known to be theirs. */

// Files bear the time of the system's last tick, which may lie a little before the start.
const TICK_MS = 50;
const MAX_RUNS = 1_000;

interface Span {
  readonly runId: string;
  readonly fromMs: number;
  toMs: number;
}

/** See the file comment. Times are of the wall clock, as those of files are. */
export class RunTimes {
  #spans: Span[] = [];

  began(runId: string, atMs: number): void {
    this.#spans = [
      ...this.#spans.filter((span) => span.runId !== runId),
      { runId, fromMs: atMs, toMs: Number.POSITIVE_INFINITY },
    ].slice(-MAX_RUNS);
  }

  ended(runId: string, atMs: number): void {
    for (const span of this.#spans) if (span.runId === runId) span.toMs = Math.min(span.toMs, atMs);
  }

  /** The run that worked at that time, the latest begun where there were several; empty where there was none. */
  at(ms: number): string {
    return this.#spans.findLast(({ fromMs, toMs }) => ms >= fromMs - TICK_MS && ms <= toMs + TICK_MS)?.runId ?? "";
  }

  /** Forgets runs that had ended by then: what they wrote has been told. */
  forgetBefore(ms: number): void {
    this.#spans = this.#spans.filter(({ toMs }) => toMs >= ms);
  }
}
