/**
 * Asks the person at the terminal what a run wants to know, one thing after the other.
 *
 * K1  What somebody else answers meanwhile is asked no longer.
 * K2  What is typed and makes no sense, or is refused, is asked again.
 */

import { errorText, MeshError } from "@mesh/kernel";
import type { AnswerRunResponse, PendingItem } from "@mesh/proto";

import { apiPath, type Client } from "../client/client.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { promptOf, questionText, readAnswer } from "./question.ts";

/** What asking needs. */
export interface AskerDeps {
  readonly client: Client;
  readonly terminal: Terminal;
  /** The person left these open. */
  readonly left: (items: readonly PendingItem[]) => void;
}

/** See the file comment. */
export class Asker {
  readonly #deps: AskerDeps;
  readonly #run: string;
  readonly #open = new Map<string, { readonly item: PendingItem; readonly over: AbortController }>();
  #isAsking = false;

  constructor(deps: AskerDeps, run: string) {
    this.#deps = deps;
    this.#run = run;
  }

  /** Asks these, after what is asked already; returns at once. */
  ask(items: readonly PendingItem[]): void {
    for (const item of items) this.#open.set(item.id, { item, over: new AbortController() });
    if (!this.#isAsking) void this.#askAll();
  }

  /** Somebody has answered it. */
  answered(callId: string): void {
    this.#open.get(callId)?.over.abort();
    this.#open.delete(callId);
  }

  /** Asks nothing more. */
  stop(): void {
    for (const id of this.#open.keys()) this.answered(id);
  }

  async #askAll(): Promise<void> {
    this.#isAsking = true;
    for (const { item, over } of this.#open.values()) {
      await this.#askOne(item, over.signal);
      this.#open.delete(item.id);
    }
    this.#isAsking = false;
  }

  async #askOne(item: PendingItem, over: AbortSignal): Promise<void> {
    const { terminal, left } = this.#deps;
    terminal.err(questionText(item));
    while (!over.aborted) {
      const line = await terminal.askLine(promptOf(item), over);
      if (over.aborted) return;
      if (line === undefined) {
        const open = [...this.#open.values()].map((each) => each.item);
        this.stop();
        left(open);
        return;
      }
      const answer = readAnswer(item, line);
      if (answer !== undefined && (await this.#send(answer))) return;
    }
  }

  async #send(answer: object): Promise<boolean> {
    try {
      await this.#deps.client.post<AnswerRunResponse>(apiPath`/v1/runs/${this.#run}/answer`, { body: answer });
      return true;
    } catch (error) {
      this.#deps.terminal.err(`yao: ${errorText(error)}\n`);
      // Answered or cancelled by somebody else: the events of the run tell how it goes on.
      return ["already_exists", "failed_precondition", "not_found"].includes(MeshError.from(error).code);
    }
  }
}
