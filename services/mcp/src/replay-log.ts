/**
 * The last messages of one session, so that a client whose connection broke can go on where it was.
 *
 * Event ids name their stream, so a resumed stream gets its own messages and no others, also after a second break. What has been
 * dropped to keep the bound cannot be resumed: the client is told, and never given a stream with a gap.
 */

import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

interface Entry {
  readonly streamId: string;
  readonly seq: number;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

const MAX_ENTRIES = 1000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Messages by the order they were sent in. */
export class ReplayLog implements EventStore {
  readonly #entries = new Map<string, Entry>();
  #seq = 0;
  #bytes = 0;

  storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    this.#seq += 1;
    const id = `${streamId}.${this.#seq}`;
    const bytes = JSON.stringify(message).length;
    this.#entries.set(id, { streamId, seq: this.#seq, message, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#entries.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
    return Promise.resolve(id);
  }

  getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return Promise.resolve(this.#entries.get(eventId)?.streamId);
  }

  async replayEventsAfter(
    lastEventId: string,
    { send }: { readonly send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#entries.get(lastEventId);
    if (last === undefined) throw new Error(`event ${lastEventId} is no longer kept`);
    for (const [id, { streamId, seq, message }] of this.#entries) {
      // A priming event has no message.
      if (streamId === last.streamId && seq > last.seq && "jsonrpc" in message) await send(id, message);
    }
    return last.streamId;
  }
}
