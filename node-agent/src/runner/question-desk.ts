/**
 * The questions of this runner's runs (about the state of their workspace, or whether a model may be called) and the answers that
 * come back from the agent.
 *
 * A question whose run has ended is forgotten; a late answer meets nobody.
 */

import { type Json, MeshError, toErrorCode } from "@mesh/kernel";
import type { StatePort } from "@mesh/runtime";

import type { FromRunner, PermitQuestion, StateReply } from "./protocol.ts";

interface Open {
  readonly resolve: (result: Json | undefined) => void;
  readonly reject: (error: MeshError) => void;
}

interface RunName {
  readonly runId: string;
  readonly epoch: number;
}

/** See the file comment. */
export class QuestionDesk {
  readonly #send: (message: FromRunner) => Promise<void>;
  readonly #open = new Map<number, Open>();
  #last = 0;

  constructor(send: (message: FromRunner) => Promise<void>) {
    this.#send = send;
  }

  /** The port of one run. */
  for({ runId, epoch }: RunName): StatePort {
    return {
      call: (service, method, args, signal) =>
        this.#ask((question) => ({ kind: "ask", runId, epoch, question, asked: { service, method, args } }), signal),
    };
  }

  /** Asks whether a batch of an eval may call a model. */
  permit({ runId, epoch }: RunName, asked: PermitQuestion, signal: AbortSignal): Promise<Json | undefined> {
    return this.#ask((question) => ({ kind: "permit", runId, epoch, question, asked }), signal);
  }

  /** Takes the answer to a question. */
  answer(question: number, reply: StateReply): void {
    const open = this.#open.get(question);
    if (open === undefined) return;
    if ("error" in reply) open.reject(new MeshError(toErrorCode(reply.error.code), reply.error.message));
    else open.resolve(reply.result);
  }

  async #ask(message: (question: number) => FromRunner, signal: AbortSignal): Promise<Json | undefined> {
    signal.throwIfAborted();
    const question = (this.#last += 1);
    const forget = (): void => {
      this.#open.get(question)?.reject(new MeshError("cancelled", "the run was cancelled"));
    };
    const answered = new Promise<Json | undefined>((resolve, reject) => {
      this.#open.set(question, { resolve, reject });
    });
    // It may be refused before anybody waits for it: a rejection that nobody hears would end the whole runner.
    answered.catch(() => undefined);
    signal.addEventListener("abort", forget, { once: true });
    try {
      await this.#send(message(question));
      return await answered;
    } finally {
      signal.removeEventListener("abort", forget);
      this.#open.delete(question);
    }
  }
}
