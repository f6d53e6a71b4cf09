/** One extension in one run: its hooks, called safely and one at a time where they must be. */

import { errorText } from "@mesh/kernel";

import { type Raced, raced } from "./cancel.ts";
import type { AgentEvent, EventMeta } from "./event.ts";
import type { Extension, RunHooks } from "./extension.ts";

/** Hooks of one started extension. */
export class ActiveExtension {
  readonly extension: Extension;
  readonly isInherited: boolean;
  readonly hooks: RunHooks;
  readonly #shared = new Set<Promise<unknown>>();
  #isListening = true;
  #failure: string | undefined;

  constructor(extension: Extension, hooks: RunHooks, isInherited: boolean) {
    this.extension = extension;
    this.hooks = hooks;
    this.isInherited = isInherited;
  }

  get name(): string {
    return this.extension.name;
  }

  get isRequired(): boolean {
    return this.extension.mode === "required";
  }

  /** Calls a hook that may overlap with itself. */
  async shared<T>(hook: () => T | Promise<T>, signal: AbortSignal): Promise<Raced<T>> {
    const outcome = raced(hook, signal);
    this.#shared.add(outcome);
    try {
      return await outcome;
    } finally {
      this.#shared.delete(outcome);
    }
  }

  /** Calls a hook after every overlapping one has settled. */
  async exclusive<T>(hook: () => T | Promise<T>, signal: AbortSignal): Promise<Raced<T>> {
    while (this.#shared.size > 0 && !signal.aborted) await Promise.all(this.#shared);
    return raced(hook, signal);
  }

  /** Passes an event on; a throw is the last this run hears from `onEvent`. */
  notify(event: AgentEvent, meta: EventMeta): void {
    if (!this.#isListening || this.hooks.onEvent === undefined) return;
    try {
      this.hooks.onEvent(event, meta);
    } catch (thrown) {
      this.#isListening = false;
      this.fail(`onEvent failed: ${errorText(thrown)}`);
    }
  }

  /** Records a failure that happened off the decision path; the first one counts. */
  fail(error: string): void {
    this.#failure ??= error;
  }

  /** The recorded failure, once. */
  takeFailure(): string | undefined {
    let own: string | undefined;
    try {
      own = this.hooks.takeFailure?.();
    } catch (thrown) {
      own = `takeFailure failed: ${errorText(thrown)}`;
    }
    const failure = this.#failure ?? own;
    this.#failure = undefined;
    return failure;
  }

  /** Whether a failure is recorded and not yet taken. */
  get hasFailure(): boolean {
    return this.#failure !== undefined;
  }
}
