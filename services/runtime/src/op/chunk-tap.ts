/**
 * `onChunk`: shows a script the messages of an agent or a model, one after the other, while the script waits for the result.
 *
 * K1  The function gets the messages in order; what it returns or throws concerns the work it watches only.
 * K2  A number other than 0, or a throw, stops that work; what was said until then is its result.
 */

import type { Json } from "@mesh/kernel";
import type { OpIo } from "@mesh/scripts";

import type { OutputMessage } from "../message.ts";

/** See the file comment. */
export class ChunkTap {
  readonly #call: ((args: readonly Json[]) => Promise<Json | undefined>) | undefined;
  readonly #head: readonly Json[];
  readonly #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();
  #said = "";

  /** `head` comes before the message: agent id and index where several are watched. */
  constructor(callback: number | null, io: OpIo, head: readonly Json[] = []) {
    this.#call = callback === null ? undefined : (args) => io.callback(callback, args);
    this.#head = head;
  }

  /** Aborts when the function wants no more. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** The text until now. */
  get said(): string {
    return this.#said;
  }

  /** Takes the next message; lifecycle events are not shown. */
  readonly take = (message: OutputMessage): void => {
    const { content } = message.props;
    if (message.type === "text" && message.delta === true && typeof content === "string") this.#said += content;
    const call = this.#call;
    if (call === undefined || message.type === "event" || message.type === "trace" || this.#stop.signal.aborted) return;
    this.#last = this.#last.then(async () => {
      if (this.#stop.signal.aborted) return;
      const answer = await call([...this.#head, message as unknown as Json]).catch(() => 1);
      if (typeof answer === "number" && answer !== 0) this.#stop.abort();
    });
  };

  /** Resolves when the function has seen everything. */
  seen(): Promise<void> {
    return this.#last;
  }
}
