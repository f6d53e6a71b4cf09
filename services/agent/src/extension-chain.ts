/**
 * All extensions of one run, in order: inherited, own tree extensions, ordinary ones.
 *
 * X1  A call is judged by everyone; a denial wins; whoever asked to recheck judges again what a later one rewrote.
 * X2  A failing required extension fails the run once; a failing advisory one is logged and skipped.
 * X3  A filter that fails withholds the output; a filter that cannot start fails the run whatever its mode.
 */

import { type Clock, errorText } from "@mesh/kernel";

import { ActiveExtension } from "./active-extension.ts";
import { raced } from "./cancel.ts";
import type { AgentEvent, EventMeta } from "./event.ts";
import type { Extension, PromptDecision, RunContext, RunEnd, RunHooks, ToolResult, TurnContext } from "./extension.ts";
import type { Log } from "./log.ts";
import { EXTENSION_MESSAGE_PREFIX } from "./marker.ts";
import { ALLOW, type ChainVerdict, type ToolCallRequest, type ToolDecision } from "./middleware.ts";
import { type AgentTool, textOutput } from "./tool.ts";

/** A failure that ends the run. */
export interface ExtensionFailure {
  readonly extension: string;
  readonly error: string;
}

/** What all extensions said before a request. */
export type ModelVerdict =
  | { readonly kind: "pass"; readonly notes: readonly string[] }
  | { readonly kind: "stop"; readonly reason: string }
  | ({ readonly kind: "fail" } & ExtensionFailure);

/** What all extensions said when the model was done. */
export type StopVerdict =
  | { readonly kind: "accept" }
  | { readonly kind: "continue"; readonly text: string; readonly required?: string }
  | ({ readonly kind: "fail" } & ExtensionFailure);

/** Which extensions take part. */
export interface ExtensionSet {
  readonly inherited: readonly Extension[];
  readonly tree: readonly Extension[];
  readonly own: readonly Extension[];
}

/** What the chain needs from its run. */
export interface ExtensionRun {
  readonly context: Omit<RunContext, "isInherited">;
  readonly clock: Clock;
  readonly log: Log;
}

const FINISH_TIMEOUT_MS = 5000;

/** The started extensions of one run. */
export class ExtensionChain {
  readonly #run: ExtensionRun;
  #active: readonly ActiveExtension[] = [];
  #failure: ExtensionFailure | undefined;

  constructor(run: ExtensionRun) {
    this.#run = run;
  }

  /** Whether nothing of a tool may be shown before an extension edited it. */
  get filtersToolOutput(): boolean {
    return this.#active.some((each) => each.extension.filtersToolOutput === true);
  }

  /** Starts every extension; what started stays started, also when another fails the run. */
  async start(set: ExtensionSet): Promise<void> {
    const all = [
      ...set.inherited.map((extension) => [extension, true] as const),
      ...[...set.tree, ...set.own].map((extension) => [extension, false] as const),
    ];
    const active: ActiveExtension[] = [];
    for (const [extension, isInherited] of all) {
      const hooks = await this.#startOne(extension, isInherited);
      if (hooks !== undefined) active.push(new ActiveExtension(extension, hooks, isInherited));
    }
    this.#active = active;
  }

  async #startOne(extension: Extension, isInherited: boolean): Promise<RunHooks | undefined> {
    const started = await raced(
      () => extension.startRun({ ...this.#run.context, isInherited }),
      this.#run.context.signal,
    );
    if (started.kind === "value") return started.value;
    if (started.kind === "cancelled") return undefined;
    const error = `could not start: ${errorText(started.error)}`;
    this.#run.log("warn", "extension failed", { extension: extension.name, err: error });
    if (extension.mode === "required" || extension.filtersToolOutput === true) {
      this.#failure ??= { extension: extension.name, error };
    }
    return undefined;
  }

  /** The tools of the run's own extensions; a child run is not offered its parent's. */
  async tools(): Promise<readonly AgentTool[]> {
    const tools: AgentTool[] = [];
    for (const each of this.#active) {
      if (each.isInherited || each.hooks.tools === undefined) continue;
      const outcome = await each.exclusive(() => each.hooks.tools?.() ?? [], this.#run.context.signal);
      if (outcome.kind === "value") tools.push(...outcome.value);
      else if (outcome.kind === "error") this.#recordFailure(each, `tools failed: ${errorText(outcome.error)}`);
    }
    return tools;
  }

  /** Judges the text of the prompts; a failing hook rejects, a cancellation lets the run start and end as cancelled. */
  async onInput(text: string): Promise<PromptDecision> {
    for (const each of this.#active) {
      if (each.hooks.onInput === undefined) continue;
      const outcome = await each.exclusive(
        () => each.hooks.onInput?.(text) ?? { kind: "pass" as const },
        this.#run.context.signal,
      );
      if (outcome.kind === "error") {
        return { kind: "reject", reason: `extension ${each.name} failed: ${errorText(outcome.error)}` };
      }
      if (outcome.kind === "value" && outcome.value.kind === "reject") return outcome.value;
    }
    return { kind: "pass" };
  }

  async beforeModel(turn: TurnContext): Promise<ModelVerdict> {
    const notes: string[] = [];
    for (const each of this.#active) {
      if (each.hooks.beforeModel === undefined) continue;
      const outcome = await each.exclusive(
        () => each.hooks.beforeModel?.(turn) ?? { kind: "pass" as const },
        this.#run.context.signal,
      );
      if (outcome.kind === "cancelled") break;
      if (outcome.kind === "error") {
        const error = `beforeModel failed: ${errorText(outcome.error)}`;
        if (each.isRequired) return { kind: "fail", extension: each.name, error };
        this.#logFailure(each, error);
        continue;
      }
      const decision = outcome.value;
      if (decision.kind === "stop") return decision;
      if (decision.kind === "fail") return { kind: "fail", extension: each.name, error: decision.error };
      if (decision.note !== undefined && decision.note !== "") notes.push(decision.note);
    }
    return { kind: "pass", notes };
  }

  /** Judges one call; see X1. */
  async beforeTool(request: ToolCallRequest): Promise<ChainVerdict> {
    let current = request;
    let ask: string | undefined;
    let lastModifier = -1;
    for (const [index, each] of this.#active.entries()) {
      const decision = await this.#judge(each, current);
      if (decision.kind === "deny") return decision;
      if (decision.kind === "ask") ask ??= decision.reason;
      if (decision.kind !== "modify") continue;
      current = current.withArgs(decision.args);
      lastModifier = index;
    }
    for (const each of this.#active.slice(0, Math.max(0, lastModifier))) {
      if (each.extension.rechecksModifiedCalls !== true) continue;
      const decision = await this.#judge(each, current);
      if (decision.kind === "deny") return decision;
      // Rewriting again would have to be judged again, without end.
      if (decision.kind === "modify") return { kind: "deny", reason: `${each.name} objects to the rewritten call` };
      if (decision.kind === "ask") ask ??= decision.reason;
    }
    return { kind: "allow", args: current.args, ...(ask === undefined ? {} : { ask }) };
  }

  async #judge(each: ActiveExtension, request: ToolCallRequest): Promise<ToolDecision> {
    if (each.hooks.beforeTool === undefined) return ALLOW;
    const outcome = await each.shared(() => each.hooks.beforeTool?.(request) ?? ALLOW, this.#run.context.signal);
    if (outcome.kind === "value") return outcome.value;
    if (outcome.kind === "cancelled") return { kind: "deny", reason: "the run was cancelled" };
    const error = `beforeTool failed: ${errorText(outcome.error)}`;
    this.#recordFailure(each, error);
    return { kind: "deny", reason: `extension ${each.name} failed` };
  }

  /** Lets extensions edit a result; see X3. */
  async afterTool(request: ToolCallRequest, result: ToolResult): Promise<ToolResult> {
    let current = result;
    for (const each of this.#active) {
      if (each.hooks.afterTool === undefined) continue;
      const before = current;
      const outcome = await each.shared(() => each.hooks.afterTool?.(request, before), this.#run.context.signal);
      if (outcome.kind === "value") {
        current = outcome.value ?? current;
        continue;
      }
      if (outcome.kind === "error") this.#recordFailure(each, `afterTool failed: ${errorText(outcome.error)}`);
      if (each.extension.filtersToolOutput !== true && outcome.kind === "error") continue;
      return { output: textOutput(`The output was withheld: extension ${each.name} did not pass it.`), isError: true };
    }
    return current;
  }

  /** Asks whether the run may end; every wish to go on is one line of one message. */
  async onStop(turn: TurnContext): Promise<StopVerdict> {
    const lines: string[] = [];
    let required: string | undefined;
    for (const each of this.#active) {
      if (each.hooks.onStop === undefined) continue;
      const outcome = await each.exclusive(
        () => each.hooks.onStop?.(turn) ?? { kind: "accept" as const },
        this.#run.context.signal,
      );
      if (outcome.kind === "cancelled") return { kind: "accept" };
      if (outcome.kind === "error") {
        const error = `onStop failed: ${errorText(outcome.error)}`;
        if (each.isRequired) return { kind: "fail", extension: each.name, error };
        this.#logFailure(each, error);
        continue;
      }
      const decision = outcome.value;
      if (decision.kind === "fail") return { kind: "fail", extension: each.name, error: decision.error };
      if (decision.kind !== "continue") continue;
      lines.push(`${EXTENSION_MESSAGE_PREFIX}${each.name}] ${decision.text}`);
      if (each.isRequired) required ??= each.name;
    }
    if (lines.length === 0) return { kind: "accept" };
    return { kind: "continue", text: lines.join("\n"), ...(required === undefined ? {} : { required }) };
  }

  notify(event: AgentEvent, meta: EventMeta): void {
    for (const each of this.#active) each.notify(event, meta);
  }

  /** Collects failures recorded off the decision path; the first of a required extension is the run's. */
  settle(): ExtensionFailure | undefined {
    for (const each of this.#active) {
      const error = each.takeFailure();
      if (error === undefined) continue;
      this.#logFailure(each, error);
      if (each.isRequired) this.#failure ??= { extension: each.name, error };
    }
    return this.#failure;
  }

  /** Whether no extension takes part in this run. */
  get isEmpty(): boolean {
    return this.#active.length === 0;
  }

  /** Whether calls that have not started must not start. */
  get hasFailed(): boolean {
    return this.#failure !== undefined || this.#active.some((each) => each.isRequired && each.hasFailure);
  }

  async finish(end: RunEnd): Promise<void> {
    if (this.isEmpty) return;
    const stop = new AbortController();
    const cancel = this.#run.clock.after(FINISH_TIMEOUT_MS, () => stop.abort());
    await Promise.all(
      this.#active.map(async (each) => {
        if (each.hooks.finish === undefined) return;
        const outcome = await each.exclusive(() => each.hooks.finish?.(end), stop.signal);
        if (outcome.kind === "error") this.#logFailure(each, `finish failed: ${errorText(outcome.error)}`);
        if (outcome.kind === "cancelled") this.#logFailure(each, "finish took too long");
      }),
    );
    cancel();
  }

  #recordFailure(each: ActiveExtension, error: string): void {
    if (each.isRequired) each.fail(error);
    else this.#logFailure(each, error);
  }

  #logFailure(each: ActiveExtension, error: string): void {
    this.#run.log("warn", "extension failed", { extension: each.name, err: error });
  }
}
