/**
 * One fresh V8 context for one call, without any object of this thread's realm in it.
 *
 * S1  The context gets one function, text in and text out; its prototype is cut off, and it never throws.
 * S2  Code generation from strings and from WebAssembly is off; `import()` has been rewritten by the bundler.
 * S3  What comes out of the context is text, or a handle that is only ever passed back in.
 */

import { type Context, constants, createContext, Script } from "node:vm";

import type { Guest } from "../guest/main.ts";
import type { HostFunction } from "../guest/bridge.ts";

type Boot = (host: HostFunction) => Guest;

/** Runs the microtasks of a context: they run when an evaluation ends. */
const DRAIN = new Script("0");

/** A context with the guest in it, ready for a script. */
export class Sandbox {
  readonly #context: Context;
  readonly #guest: Guest;
  #serve: HostFunction | undefined;

  constructor(guest: Script) {
    const options = { codeGeneration: { strings: false, wasm: false }, microtaskMode: "afterEvaluate" } as const;
    this.#context = createContext(constants.DONT_CONTEXTIFY, options);
    const boot = guest.runInContext(this.#context) as Boot;
    const host: HostFunction = (op, args) => {
      try {
        return typeof op === "string" && typeof args === "string" ? (this.#serve?.(op, args) ?? "") : "";
      } catch {
        return '-{"message":"The operation could not be handed to the host","code":"internal"}';
      }
    };
    this.#guest = boot(Object.freeze(Object.setPrototypeOf(host, null)) as HostFunction);
  }

  /** Connects the context to a call; `serve` must not throw. */
  connect(serve: HostFunction): void {
    this.#serve = serve;
  }

  /** Loads the script and calls one of its functions; gives the outcome (see the guest). */
  run(program: Script, fn: string, args: string): string {
    let exports: unknown;
    try {
      exports = program.runInContext(this.#context);
    } catch (error) {
      return this.#guest.failed(error);
    }
    const outcome = this.#guest.begin(exports, fn, args);
    if (outcome !== "") return outcome;
    DRAIN.runInContext(this.#context);
    const settled = this.#guest.settled();
    return settled === "" ? NEVER_SETTLED : settled;
  }

  callback(id: number, args: string): string {
    return this.#guest.callback(id, args);
  }

  takeChanges(): string {
    return this.#guest.takeChanges();
  }

  loadMemory(entries: string): void {
    this.#guest.loadMemory(entries);
  }

  /** Cuts the context off: whatever of it lives on reaches nobody. */
  close(): void {
    this.#serve = undefined;
  }
}

const NEVER_SETTLED = `-${JSON.stringify({
  name: "Error",
  message:
    "The function returned a promise that nothing will ever settle: operations are synchronous, there are no timers",
})}`;
