/**
 * Keeps one part of the system alive.
 *
 * K1  A failure of the first start is final: `run` rejects with it, and so does `first`.
 * K2  After that, a part that ends is started again, with growing delays, until it is told to stop.
 * K3  After `kill` it stays down, without a word.
 * K4  An end that the part declares final is reported once; the part then rests until it is told to stop, so that the others go on.
 */

import { Backoff, type Clock, errorText, MeshError, type Service } from "@mesh/kernel";

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running part. */
export interface Instance<Ready> {
  /** What others need to know about it. */
  readonly ready: Ready;
  /** Resolves when it has ended, whether asked to or not. */
  readonly exited: Promise<Exit>;
  /** Ends it in good order; resolves when it has ended. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** How to start a part, and what its end means. */
export interface Part<Ready> {
  readonly name: string;
  readonly start: (signal: AbortSignal) => Promise<Instance<Ready>>;
  /** Called at every start, with what was ready before. */
  readonly started?: (ready: Ready, before: Ready | undefined) => void;
  /** The reason why it must not be started again, in words; undefined when it may. */
  readonly finalReason?: (exit: Exit) => string | undefined;
}

/** What a supervisor works with. */
export interface SupervisedDeps {
  readonly clock: Clock;
  /** Tells people. */
  readonly say: (line: string) => void;
}

/** A part under supervision; see the guarantees above. */
export class Supervised<Ready> implements Service {
  readonly name: string;
  /** The part's first readiness. */
  readonly first: Promise<Ready>;
  readonly #part: Part<Ready>;
  readonly #deps: SupervisedDeps;
  readonly #backoff: Backoff;
  #resolveFirst: (ready: Ready) => void = () => undefined;
  #rejectFirst: (error: unknown) => void = () => undefined;
  #instance: Instance<Ready> | undefined;
  #ready: Ready | undefined;
  #isRestarting = false;
  #isKilled = false;

  constructor(part: Part<Ready>, deps: SupervisedDeps) {
    this.name = part.name;
    this.#part = part;
    this.#deps = deps;
    this.#backoff = new Backoff(deps.clock, { firstMs: 250, maxMs: 15_000 });
    this.first = new Promise((resolve, reject) => {
      this.#resolveFirst = resolve;
      this.#rejectFirst = reject;
    });
    // Whoever needs it sees the failure; a part nobody waits for must not end the process.
    this.first.catch(() => undefined);
  }

  /** What the newest instance told. */
  get ready(): Ready | undefined {
    return this.#ready;
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        const instance = await this.#start(signal);
        if (instance === undefined) await this.#backoff.wait(signal);
        else if (!(await this.#serve(instance, signal))) await aborted(signal);
      }
    } finally {
      this.#rejectFirst(new MeshError("cancelled", `stopped before ${this.name} was ready`));
    }
  }

  /** Stops the instance, so that it is started again without delay. */
  async restart(): Promise<void> {
    this.#isRestarting = true;
    await this.#instance?.stop();
  }

  /** Ends the instance at once, for good. */
  kill(): void {
    this.#isKilled = true;
    this.#instance?.kill();
  }

  async #start(signal: AbortSignal): Promise<Instance<Ready> | undefined> {
    try {
      const instance = await this.#part.start(signal);
      const before = this.#ready;
      this.#instance = instance;
      this.#ready = instance.ready;
      this.#resolveFirst(instance.ready);
      if (before !== undefined) this.#deps.say(`${this.name} runs again`);
      this.#part.started?.(instance.ready, before);
      return instance;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (this.#ready === undefined) {
        this.#rejectFirst(error);
        throw error;
      }
      this.#deps.say(`${this.name} could not be started again: ${errorText(error)}`);
      return undefined;
    }
  }

  // Whether it may be started again.
  async #serve(instance: Instance<Ready>, signal: AbortSignal): Promise<boolean> {
    this.#backoff.succeeded();
    const exit = await Promise.race([instance.exited, aborted(signal)]);
    if (exit === undefined) {
      await instance.stop();
      return true;
    }
    this.#instance = undefined;
    if (this.#isKilled) return false;
    if (this.#isRestarting) {
      this.#isRestarting = false;
      return true;
    }
    const reason = this.#part.finalReason?.(exit);
    if (reason !== undefined) {
      this.#deps.say(reason);
      return false;
    }
    const delayMs = this.#backoff.nextDelayMs();
    this.#deps.say(`${this.name} ended (${exitText(exit)}); starting it again`);
    await this.#deps.clock.sleep(delayMs, signal);
    return true;
  }
}

/** An exit in words. */
export function exitText(exit: Exit): string {
  if (exit.signal !== null) return `killed by ${exit.signal}`;
  return exit.code === null ? "cause unknown" : `exit code ${exit.code}`;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
