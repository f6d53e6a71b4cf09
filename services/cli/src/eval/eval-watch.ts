/**
 * Stopping and showing an eval that runs elsewhere.
 *
 * X1  The first interrupt of an eval that was started here cancels it and waits for its end, so that nothing goes on costing and the
 *     report has what there is; the second leaves at once. Of one that is only watched, the first leaves, and it goes on.
 * X2  A terminal that is closed (SIGHUP) leaves: the eval goes on.
 * X3  The exit code after an interrupt is never 0.
 */

import { errorText, MeshError } from "@mesh/kernel";
import type { Eval, EvalNode } from "@mesh/proto";

import type { Cli } from "../cli.ts";
import { apiPath, type Client } from "../client/client.ts";
import { exitCodeOf, type StopSignal } from "../terminal/interrupt.ts";
import type { LiveOutput } from "../terminal/live-output.ts";
import { table } from "../terminal/table.ts";
import { oneLine, plain } from "../terminal/terminal.ts";

/** What a watch is opened with. */
export interface EvalWatchOptions {
  readonly cli: Cli;
  readonly client: Client;
  /** Whether leaving stops the eval. */
  readonly isOurs: boolean;
  /** Every change of a device is told. */
  readonly showsDevices: boolean;
  readonly isJson: boolean;
  readonly live: Pick<LiveOutput, "write" | "flush" | "close">;
}

/** See the file comment. */
export class EvalWatch {
  readonly #options: EvalWatchOptions;
  readonly #leave = new AbortController();
  readonly #unlisten: () => void;
  readonly #gone: () => void;
  #id: string | undefined;
  #stopped: StopSignal | undefined;
  #isCancelling = false;
  #told = "";
  readonly #states = new Map<string, string>();

  constructor(options: EvalWatchOptions) {
    this.#options = options;
    const { interrupts, terminal } = options.cli;
    this.#unlisten = interrupts.listen((signal, count) => this.#interrupted(signal, count));
    this.#gone = () => {
      if (options.isOurs) void this.#cancel();
      this.#leave.abort();
    };
    terminal.closed.addEventListener("abort", this.#gone, { once: true });
  }

  /** Aborts when nobody waits for the eval here any more. */
  get signal(): AbortSignal {
    return this.#leave.signal;
  }

  /** The exit code in place of the eval's own, after an interrupt. */
  exitCode(code: number): number {
    if (this.#options.cli.terminal.closed.aborted) return 141;
    return this.#stopped === undefined ? code : exitCodeOf(this.#stopped);
  }

  /** The eval has begun. */
  begun({ id }: Pick<Eval, "id">): void {
    this.#id = id;
    if (this.#stopped !== undefined && this.#options.isOurs) void this.#cancel();
  }

  /** Something about the eval has changed. */
  changed(state: Eval): void {
    const { isJson, showsDevices, live } = this.#options;
    const said = state.state === "running" && state.reason !== "" ? state.reason : "";
    if (said !== this.#told && said !== "") this.#say(said);
    this.#told = said;
    if (!showsDevices) return;
    if (isJson) live.write(`${JSON.stringify({ type: "devices", counts: state.counts, nodes: state.nodes })}\n`);
    else for (const node of state.nodes) this.#device(node);
  }

  close(): void {
    this.#unlisten();
    this.#options.cli.terminal.closed.removeEventListener("abort", this.#gone);
  }

  #device({ node_id: id, name, state, reason, running }: EvalNode): void {
    const text = `${state === "" ? "gone" : state}${reason === "" ? "" : `: ${reason}`}`;
    const before = this.#states.get(id);
    if (before === text || (before === undefined && state === "unfit")) return;
    this.#states.set(id, text);
    this.#say(`${name} is ${text}${running > 0 ? `, ${running} at work` : ""}`);
  }

  #say(text: string): void {
    this.#options.live.flush();
    this.#options.cli.terminal.progress(plain(oneLine(text)));
  }

  #interrupted(signal: StopSignal, count: number): void {
    const { isOurs, live } = this.#options;
    this.#stopped ??= signal;
    live.flush();
    if (isOurs && signal !== "SIGHUP" && count === 1) {
      this.#say("cancelling; press Ctrl-C again to leave at once");
      if (this.#id !== undefined) void this.#cancel();
      return;
    }
    if (count > 2) process.exit(exitCodeOf(signal));
    if (this.#id !== undefined) {
      const fate = this.#isCancelling ? "is being cancelled" : `goes on; stop it with \`yao evals cancel ${this.#id}\``;
      this.#say(`${this.#id} ${fate}; watch it with \`yao evals follow ${this.#id}\``);
    }
    this.#leave.abort(new MeshError("cancelled", "interrupted"));
  }

  async #cancel(): Promise<void> {
    const id = this.#id;
    if (id === undefined || this.#isCancelling) return;
    this.#isCancelling = true;
    try {
      await this.#options.client.post(apiPath`/v1/evals/${id}/cancel`, { timeoutMs: 10_000 });
    } catch (error) {
      this.#options.cli.terminal.err(
        `yao: ${id} could not be cancelled: ${oneLine(errorText(error))} — try \`yao evals cancel ${id}\`\n`,
      );
      this.#leave.abort();
    }
  }
}

/** Devices of an eval or a plan, for people. */
export function devicesText(nodes: readonly EvalNode[], hasResults: boolean): string {
  const count = (title: string, value: (node: EvalNode) => number): { title: string; value: typeof value } => ({
    title,
    value,
  });
  return table(
    nodes,
    [
      { title: "device", value: ({ name }) => name },
      { title: "state", value: ({ state }) => (state === "" ? "-" : state) },
      { title: "system", value: ({ os, arch }) => `${os}/${arch}` },
      { title: "slots", value: ({ slots }) => slots },
      ...(hasResults
        ? [
            count("running", ({ running }) => running),
            count("passed", ({ passed }) => passed),
            count("failed", ({ failed, timeouts }) => failed + timeouts),
            count("errors", ({ errors }) => errors),
          ]
        : []),
      { title: "why", value: ({ reason }) => reason },
    ],
    "no device serves this workspace; let one join with `yao node token create`",
  );
}
