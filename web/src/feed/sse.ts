/** Server-sent events out of a body that arrives in pieces. Pure but for its state. */

/** One event. */
export interface SseEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

const MAX_PENDING_CHARS = 8 * 1024 * 1024;

/** Cuts a stream of text into events, as the HTML standard says. */
export class SseParser {
  #rest = "";
  #id = "";
  #event = "";
  #data: string[] = [];

  /** The events that this piece completes. */
  push(piece: string): SseEvent[] {
    this.#rest += piece;
    const events: SseEvent[] = [];
    for (;;) {
      const end = /\r\n|\n|\r(?!$)/.exec(this.#rest);
      if (end === null) break;
      const line = this.#rest.slice(0, end.index);
      this.#rest = this.#rest.slice(end.index + end[0].length);
      const event = this.#line(line);
      if (event !== undefined) events.push(event);
    }
    if (this.#rest.length > MAX_PENDING_CHARS) throw new Error("an event of the stream is too large");
    return events;
  }

  #line(line: string): SseEvent | undefined {
    if (line === "") return this.#end();
    if (line.startsWith(":")) return undefined;
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id") this.#id = value;
    return undefined;
  }

  #end(): SseEvent | undefined {
    const data = this.#data;
    const event = this.#event;
    this.#data = [];
    this.#event = "";
    return data.length === 0 ? undefined : { id: this.#id, event, data: data.join("\n") };
  }
}
