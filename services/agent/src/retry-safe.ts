/**
 * For readers that cannot take back what they wrote: shows an attempt of the model only once it stands.
 *
 * A repeated attempt vanishes down to its `providerRetry`; a final failure keeps its start and end without deltas;
 * everything else passes at once, also ahead of an attempt that is held.
 */

import type { AgentEvent } from "./event.ts";

type Held =
  | { readonly kind: "nothing" }
  | { readonly kind: "open"; readonly events: AgentEvent[] }
  /** Ended as an error; the next event tells whether it is repeated. */
  | { readonly kind: "failed"; readonly start: AgentEvent; readonly end: AgentEvent };

/** Filters one stream of events; feed it in order and write what it returns. */
export class RetrySafeFilter {
  #held: Held = { kind: "nothing" };

  push(event: AgentEvent): readonly AgentEvent[] {
    const released = this.#settleFailed(event);
    if (event.type === "messageStart" && event.message.role === "assistant") {
      // A second start without an end: the attempt before it was left open and is dropped.
      this.#held = { kind: "open", events: [event] };
      return released;
    }
    if (this.#held.kind !== "open") return [...released, event];
    if (event.type === "messageUpdate") {
      this.#held.events.push(event);
      return released;
    }
    if (event.type === "messageEnd" && event.message.role === "assistant") {
      return [...released, ...this.#close(event, event.message.stopReason)];
    }
    if (event.type === "providerRetry") this.#held = { kind: "nothing" };
    return [...released, event];
  }

  /** The stream is over: what was left open is dropped, a final failure is released. */
  end(): readonly AgentEvent[] {
    const held = this.#held;
    this.#held = { kind: "nothing" };
    return held.kind === "failed" ? [held.start, held.end] : [];
  }

  #close(end: AgentEvent, stopReason: string): readonly AgentEvent[] {
    const events = this.#held.kind === "open" ? this.#held.events : [];
    const [start] = events;
    if (stopReason === "error" && start !== undefined) {
      this.#held = { kind: "failed", start, end };
      return [];
    }
    this.#held = { kind: "nothing" };
    if (stopReason === "aborted" && start !== undefined) return [start, end];
    return [...events, end];
  }

  #settleFailed(next: AgentEvent): readonly AgentEvent[] {
    if (this.#held.kind !== "failed") return [];
    const { start, end } = this.#held;
    this.#held = { kind: "nothing" };
    return next.type === "providerRetry" ? [] : [start, end];
  }
}

/** A retry-safe view of a stream of events. */
export async function* retrySafeEvents(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent, void> {
  const filter = new RetrySafeFilter();
  for await (const event of events) yield* filter.push(event);
  yield* filter.end();
}
