/** What a run has told its user in words: the texts of its finished messages, in order. */

import { isObject } from "@mesh/kernel";

import type { OutputMessage } from "./message.ts";

// What is kept of one answer in a chat; the events have all of it.
const MAX_CHARS = 200_000;

/** Listens to the stream of the run itself; agents that it calls speak to it, not to the user. */
export class SpokenText {
  #text: string;

  /** `before`: what the segment before this one has told. */
  constructor(before = "") {
    this.#text = before;
  }

  get text(): string {
    return this.#text;
  }

  hear({ type, props }: OutputMessage): void {
    const { data } = props;
    if (type !== "event" || props["event"] !== "message_end" || !isObject(data) || data["type"] !== "text") return;
    const { extra } = data;
    const content: unknown = isObject(extra) ? extra["content"] : undefined;
    if (typeof content !== "string" || content === "" || this.#text.length > MAX_CHARS) return;
    this.#text = (this.#text === "" ? content : `${this.#text}\n\n${content}`).slice(0, MAX_CHARS);
  }
}
