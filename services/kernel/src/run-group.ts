/**
 * Starts and stops a set of services as one.
 *
 * G1  The first service that ends, for whatever reason, stops all the others.
 * G2  `run` settles only when every service has ended.
 * G3  Services are told to stop in reverse order of addition (user-facing ones are added last), each after the one before has ended or its grace has passed.
 */

import { MeshError } from "./errors.ts";

/** Something that runs until its signal aborts, then releases what it holds and returns. */
export interface Service {
  readonly name: string;
  /** Resolves after a clean stop; rejects when it cannot go on. */
  run(signal: AbortSignal): Promise<void>;
}

interface Member {
  readonly service: Service;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/** Runs services together; see the guarantees above. */
export class RunGroup {
  readonly #services: Service[] = [];
  readonly #graceMs: number;

  constructor(options: { readonly graceMs?: number } = {}) {
    this.#graceMs = options.graceMs ?? 10_000;
  }

  /** Adds a service; order matters for stopping. Returns the group for chaining. */
  add(service: Service): this {
    this.#services.push(service);
    return this;
  }

  /** Runs all until `signal` aborts or one of them ends. Rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const failures: unknown[] = [];
    let wake: () => void = () => undefined;
    const firstEnd = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const members = this.#services.map((service): Member => {
      const stop = new AbortController();
      const ended = runOne(service, stop.signal).then(
        () => wake(),
        (error: unknown) => {
          failures.push(error);
          wake();
        },
      );
      return { service, stop, ended };
    });
    signal.addEventListener("abort", wake, { once: true });
    if (signal.aborted) wake();
    if (members.length > 0 || !signal.aborted) await firstEnd;
    signal.removeEventListener("abort", wake);
    for (const member of members.toReversed()) {
      member.stop.abort();
      await this.#settle(member);
    }
    await Promise.all(members.map((member) => member.ended));
    if (failures.length > 0) throw MeshError.from(failures[0]);
  }

  async #settle(member: Member): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const grace = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#graceMs);
    });
    await Promise.race([member.ended, grace]);
    clearTimeout(timer);
  }
}

async function runOne(service: Service, signal: AbortSignal): Promise<void> {
  await service.run(signal);
}
