/** `fetch` whose answers are bounded, and which tells when the stream of an answer has ended. */

import { MeshError } from "@mesh/kernel";
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";

/** What is bounded and who is told. */
export interface BoundedFetchOptions {
  readonly fetch: typeof fetch;
  /** Of one request, of one JSON answer, of one event in a stream. */
  readonly maxBytes: number;
  /** An event stream ended, by itself or with an error. */
  readonly ended: (request: RequestInit | undefined) => void;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Wraps `fetch`. */
export function boundedFetch(options: BoundedFetchOptions): FetchLike {
  return async (url, init) => {
    if (typeof init?.body === "string" && init.body.length > options.maxBytes)
      throw tooLong("the message", options.maxBytes);
    const response = await options.fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const body = isStream
      ? watched(response.body, new EventMeter(options.maxBytes), () => options.ended(init))
      : watched(response.body, new TotalMeter(options.maxBytes), () => undefined);
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  };
}

interface Meter {
  /** Throws when there was too much. */
  count(chunk: Uint8Array): void;
}

class TotalMeter implements Meter {
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  count(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw tooLong("the answer", this.#maxBytes);
  }
}

/** Counts since the last empty line, which ends an event: a parser keeps no more than one event. */
class EventMeter implements Meter {
  readonly #maxBytes: number;
  #bytes = 0;
  #lineLength = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  count(chunk: Uint8Array): void {
    for (const byte of chunk) {
      this.#bytes += 1;
      if (byte === NEWLINE) {
        if (this.#lineLength === 0) this.#bytes = 0;
        this.#lineLength = 0;
      } else if (byte !== RETURN) {
        this.#lineLength += 1;
      }
    }
    if (this.#bytes > this.#maxBytes) throw tooLong("an event", this.#maxBytes);
  }
}

function watched(body: ReadableStream<Uint8Array>, meter: Meter, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
            ended();
            return;
          }
          meter.count(value);
          controller.enqueue(value);
        } catch (error) {
          controller.error(error);
          ended();
          await reader.cancel(error).catch(() => undefined);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function tooLong(what: string, maxBytes: number): MeshError {
  return new MeshError("resource_exhausted", `${what} is longer than ${maxBytes} bytes`);
}
