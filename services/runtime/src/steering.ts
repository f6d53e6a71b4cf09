/**
 * What people say to a run while it works.
 *
 * S1  A message is read by the agent that answers the run, before its next question to the model; agents that it calls do not
 *     hear it.
 * S2  The stream tells which messages were read (`steered`), each once, no later than the question that holds it. What the
 *     stream does not tell was not read, and whoever sent it may give it to another run.
 */

import { type AgentMessage, userMessage } from "@mesh/agent";

import type { RunShared } from "./run-shared.ts";

/** One message of a person. */
export interface SteeringMessage {
  readonly id: string;
  readonly text: string;
}

/** Where they come from. */
export interface SteeringPort {
  /** Takes what has come since the last call, oldest first. */
  readonly take: () => readonly SteeringMessage[];
}

/** The messages that one talk with a model takes up. */
export class Steering {
  readonly #shared: RunShared;
  readonly #turns: { readonly used: number; readonly most: number };
  #asked = 0;
  #unread: readonly SteeringMessage[] = [];

  /** `turns` says how often the model was asked already, and how often it may be. */
  constructor(shared: RunShared, turns: { readonly used: number; readonly most: number }) {
    this.#shared = shared;
    this.#turns = turns;
  }

  /** For the loop: what to go on with. Nothing, when the model will not be asked again. */
  readonly poll = (): readonly AgentMessage[] => {
    if (this.#turns.used + this.#asked >= this.#turns.most) return [];
    const taken = this.#shared.ports.steering?.take() ?? [];
    this.#unread = [...this.#unread, ...taken];
    return taken.map(({ text }) => userMessage(text, this.#shared.ports.clock.now()));
  };

  /** The model is about to be asked: what was polled is in the question. */
  read(): void {
    this.#asked += 1;
    const read = this.#unread;
    this.#unread = [];
    for (const message of read) this.#shared.steered(message);
  }
}
