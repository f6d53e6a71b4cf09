/**
 * Between the loop, which never waits for its readers, and a reader, which takes one message at a time.
 *
 * Q1  Messages are taken one after the other, in order.
 * Q2  Once `JOIN_AFTER` messages wait, pieces of one text are joined: a slow reader costs no more than the text itself.
 * Q3  A reader that throws gets nothing more; `drained` rejects with what it threw.
 * Q4  What comes after `end` is dropped: nobody speaks after the last word, whatever still runs.
 */

import type { OutputMessage } from "./message.ts";

/** Takes one output message; the next one comes when it is done. */
export type Emit = (message: OutputMessage) => void | Promise<void>;

const JOIN_AFTER = 64;
// Well below what a device can keep as one event.
const MAX_JOINED_CHARS = 16_384;

/** See the file comment. */
export class OutputQueue {
  readonly #emit: Emit;
  #waiting: OutputMessage[] = [];
  #pump: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;
  #hasEnded = false;

  constructor(emit: Emit) {
    this.#emit = emit;
  }

  /** Hands a message on, now or when those before it were taken. */
  push(message: OutputMessage): void {
    if (this.#failure !== undefined || this.#hasEnded) return;
    const last = this.#waiting.at(-1);
    const joined = last !== undefined && this.#waiting.length >= JOIN_AFTER ? join(last, message) : undefined;
    if (joined === undefined) this.#waiting.push(message);
    else this.#waiting[this.#waiting.length - 1] = joined;
    this.#pump ??= this.#run();
  }

  /** Takes no more; resolves when everything so far was taken. */
  end(): Promise<void> {
    this.#hasEnded = true;
    return this.drained();
  }

  /** Resolves when everything so far was taken. */
  async drained(): Promise<void> {
    await this.#pump;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        for (const message of batch) await this.#emit(message);
      }
    } catch (error) {
      this.#failure = { error };
      this.#waiting = [];
    } finally {
      this.#pump = undefined;
    }
  }
}

function join(last: OutputMessage, next: OutputMessage): OutputMessage | undefined {
  if (last.delta !== true || next.delta !== true || last.message_id !== next.message_id) return undefined;
  if ((last.delta_action ?? "append") !== "append" || last.delta_action !== next.delta_action) return undefined;
  const [field, ...more] = Object.keys(next.props);
  if (field === undefined || more.length > 0) return undefined;
  const [before, after] = [last.props[field], next.props[field]];
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  if (before.length + after.length > MAX_JOINED_CHARS) return undefined;
  return { ...next, props: { [field]: before + after } };
}
