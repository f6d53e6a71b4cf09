/**
 * Watches one run to its end.
 *
 * W1  The exit code is the run's: 0 succeeded, 1 failed or lost, 130 cancelled; 3 when it is ours and waits for an answer that
 *     nobody here gives.
 * W2  The first interrupt cancels the run on the coordinator (when it is ours to cancel) and waits for its end; the second leaves at once.
 * W3  What our run asks is asked at the terminal, and the run goes on in place. Where nobody can be asked, the question and the
 *     command that answers it go to stderr, and the run waits.
 * W4  A reader that went away ends the session quietly, and cancels the run when it is ours.
 */

import { type Clock, errorText, MeshError } from "@mesh/kernel";
import type { CancelRunResponse, GetRunResponse, PendingItem, Run } from "@mesh/proto";

import { apiPath, type Client } from "../client/client.ts";
import { followRun } from "../client/event-stream.ts";
import { exitCodeOf, type Interrupts, type StopSignal } from "../terminal/interrupt.ts";
import { oneLine, plain, type Terminal } from "../terminal/terminal.ts";
import { Asker } from "./asker.ts";
import { pendingOf, questionsText } from "./question.ts";
import { RunView } from "./run-view.ts";

/** What a session works with. */
export interface SessionDeps {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
  readonly clock: Clock;
}

/** Which run, and how. */
export interface SessionOptions {
  readonly run: string;
  readonly isJson: boolean;
  /** Whether leaving cancels the run. */
  readonly isOurs: boolean;
  readonly afterSeq?: number;
  /** Asked to stop before the session began. */
  readonly stopped?: StopSignal | undefined;
}

// How long a cancelled run may take to end before the command stops waiting for it.
const CANCEL_WAIT_MS = 30_000;
const CLOSED_EXIT_CODE = 141;
const WAITING_EXIT_CODE = 3;

/** Follows a run to its end and returns the exit code. */
export async function watchRun(deps: SessionDeps, options: SessionOptions): Promise<number> {
  return await new RunSession(deps, options).watch();
}

class RunSession {
  readonly #deps: SessionDeps;
  readonly #options: SessionOptions;
  readonly #leave = new AbortController();
  readonly #view = new RunView();
  readonly #asker: Asker | undefined;
  #isLeftWaiting = false;
  #stopped: StopSignal | undefined;
  #isHurried = false;
  #cancelling: Promise<void> | undefined;
  #stopWaiting: (() => void) | undefined;

  constructor(deps: SessionDeps, options: SessionOptions) {
    this.#deps = deps;
    this.#options = options;
    const { client, terminal } = deps;
    const canAsk = options.isOurs && !options.isJson && terminal.isTty && terminal.canAsk;
    this.#asker = canAsk
      ? new Asker({ client, terminal, left: (items) => this.#leaveWaiting(items) }, options.run)
      : undefined;
  }

  async watch(): Promise<number> {
    const { terminal, interrupts } = this.#deps;
    const unlisten = interrupts.listen((signal, count) => this.#interrupted(signal, count));
    const gone = (): void => this.#readerGone();
    terminal.closed.addEventListener("abort", gone, { once: true });
    if (terminal.closed.aborted) gone();
    if (this.#options.stopped !== undefined) this.#interrupted(this.#options.stopped, 1);
    try {
      await this.#follow();
      if (!this.#isHurried) await this.#cancelling;
      return await this.#exitCode();
    } finally {
      unlisten();
      this.#stopWaiting?.();
      this.#asker?.stop();
      terminal.closed.removeEventListener("abort", gone);
    }
  }

  async #follow(): Promise<void> {
    const { client, clock, terminal } = this.#deps;
    const events = followRun(client, clock, this.#options.run, {
      afterSeq: this.#options.afterSeq ?? 0,
      signal: this.#leave.signal,
      isPatient: this.#options.isOurs,
      onConnection: (lost) =>
        terminal.progress(lost === undefined ? "connected again" : `connection lost, trying again: ${lost.message}`),
    });
    for await (const event of events) {
      if (this.#options.isJson) terminal.out(`${JSON.stringify(event)}\n`);
      else for (const piece of this.#view.pieces(event)) this.#show(piece);
      if (event.kind === "run.asked") this.#asked(pendingOf(event.data));
      else if (event.kind === "run.answered") this.#asker?.answered(String(event.data?.["call_id"]));
    }
    for (const piece of this.#view.end()) this.#show(piece);
  }

  #asked(items: readonly PendingItem[]): void {
    for (const piece of this.#view.end()) this.#show(piece);
    if (this.#asker !== undefined) this.#asker.ask(items);
    else if (this.#options.isOurs) this.#leaveWaiting(items);
    else this.#deps.terminal.progress(questionsText(this.#options.run, items).trimEnd());
  }

  #leaveWaiting(items: readonly PendingItem[]): void {
    const { run } = this.#options;
    this.#deps.terminal.err(`yao: ${run} waits for an answer:\n${questionsText(run, items)}`);
    this.#isLeftWaiting = true;
    this.#leave.abort();
  }

  #show(piece: { readonly kind: "text" | "thinking" | "status"; readonly text: string }): void {
    const { terminal } = this.#deps;
    if (piece.kind === "status") terminal.progress(piece.text);
    else if (piece.kind === "thinking") terminal.dim(piece.text);
    else terminal.out(terminal.isTty ? plain(piece.text) : piece.text);
  }

  async #exitCode(): Promise<number> {
    if (this.#deps.terminal.closed.aborted) return CLOSED_EXIT_CODE;
    if (this.#isLeftWaiting) return WAITING_EXIT_CODE;
    if (this.#leave.signal.aborted) return this.#stopped === undefined ? 0 : exitCodeOf(this.#stopped);
    const { run } = await this.#deps.client.get<GetRunResponse>(apiPath`/v1/runs/${this.#options.run}`);
    if (run === undefined) throw new MeshError("data_loss", `the coordinator told nothing about ${this.#options.run}`);
    const code = this.#report(run);
    return this.#stopped === undefined ? code : exitCodeOf(this.#stopped);
  }

  #report(run: Run): number {
    const { terminal } = this.#deps;
    switch (run.state) {
      case "succeeded":
        if (!this.#options.isJson && !this.#view.hasText && run.output !== "") {
          terminal.out(`${terminal.isTty ? plain(run.output) : run.output}\n`);
        }
        return 0;
      case "cancelled":
        terminal.err(`yao: ${run.id} was cancelled\n`);
        return 130;
      default: {
        const why = run.error?.message ?? run.reason;
        terminal.err(`yao: ${run.id} ${run.state}: ${oneLine(why)} — see \`yao runs show ${run.id}\`\n`);
        return 1;
      }
    }
  }

  #interrupted(signal: StopSignal, count: number): void {
    const { terminal, clock } = this.#deps;
    const { run, isOurs } = this.#options;
    this.#stopped ??= signal;
    if (!isOurs || count > 1 || this.#cancelling !== undefined) {
      if (!isOurs) terminal.progress(`${run} goes on; stop it with \`yao runs cancel ${run}\``);
      this.#isHurried = true;
      this.#leave.abort();
      return;
    }
    this.#asker?.stop();
    for (const piece of this.#view.end()) this.#show(piece);
    terminal.progress("cancelling; press Ctrl-C again to leave at once");
    this.#cancelling = this.#cancel();
    this.#stopWaiting = clock.after(CANCEL_WAIT_MS, () => {
      terminal.err(`yao: ${run} has not ended yet — see \`yao runs show ${run}\`\n`);
      this.#leave.abort();
    });
  }

  #readerGone(): void {
    if (this.#options.isOurs) this.#cancelling ??= this.#cancel();
    this.#leave.abort();
  }

  async #cancel(): Promise<void> {
    const { client, terminal } = this.#deps;
    const { run } = this.#options;
    try {
      await client.post<CancelRunResponse>(apiPath`/v1/runs/${run}/cancel`, { timeoutMs: 10_000 });
    } catch (error) {
      terminal.err(
        `yao: ${run} could not be cancelled: ${oneLine(errorText(error))} — try \`yao runs cancel ${run}\`\n`,
      );
      this.#leave.abort();
    }
  }
}
