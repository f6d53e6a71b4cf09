/**
 * The bytes of an OpenAI chat completions answer as {@link ChatEvent}s: pure, whatever way the bytes are cut.
 *
 * S1  The last event is one `finish`; anything that is not a finished answer throws.
 * S2  A body that ends without `[DONE]` and without a finish reason is a cut stream: an error, never a success.
 * S3  After a finish reason the answer is complete: a connection lost later changes nothing, for it is paid for.
 * S4  Lines and totals are bounded.
 */

import { createParser, type EventSourceParser } from "eventsource-parser";

import { isObject } from "@mesh/kernel";

import type { ChatEvent } from "./chat.ts";
import { OpenAiAnswer } from "./openai-answer.ts";
import { faultOf, ProviderFaultError } from "./openai-failure.ts";

/** Bounds and hooks of the parser. */
export interface OpenAiStreamOptions {
  /** Longest line or document, in characters. */
  readonly maxLineChars?: number;
  /** Whole body, in bytes. */
  readonly maxBytes?: number;
  /** Called when the answer is complete: by its finish reason (usage may follow), then by `[DONE]`. */
  readonly onComplete?: (by: "reason" | "done") => void;
}

const MAX_LINE_CHARS = 8 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_DISCARDED_BYTES = 64 * 1024;

type BodyKind = "unknown" | "sse" | "json" | "html";

/** Parses one answer: server-sent events, or the plain JSON of a server that does not stream. */
export async function* parseOpenAiStream(
  bytes: AsyncIterable<Uint8Array>,
  options: OpenAiStreamOptions = {},
): AsyncGenerator<ChatEvent> {
  const reader = new BodyReader(options);
  try {
    for await (const chunk of bytes) {
      if (reader.isEnded) {
        if (reader.discard(chunk)) return;
        continue;
      }
      yield* reader.feed(chunk);
      // Not left at once: a body that is read to its end gives its connection back.
      if (reader.isDone) yield* reader.end();
    }
  } catch (error) {
    if (!reader.isComplete || error instanceof ProviderFaultError) throw error;
  }
  if (!reader.isEnded) yield* reader.end();
}

class BodyReader {
  readonly #maxLineChars: number;
  readonly #maxBytes: number;
  readonly #onComplete: (by: "reason" | "done") => void;
  readonly #decoder = new TextDecoder();
  readonly #answer = new OpenAiAnswer();
  readonly #sse: EventSourceParser;
  #kind: BodyKind = "unknown";
  #document: string[] = [];
  #documentChars = 0;
  #bytes = 0;
  #payloads: string[] = [];
  #isDone = false;
  #isEnded = false;
  #toldComplete = false;
  #discarded = 0;

  constructor(options: OpenAiStreamOptions) {
    this.#maxLineChars = options.maxLineChars ?? MAX_LINE_CHARS;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
    this.#onComplete = options.onComplete ?? ((): void => undefined);
    this.#sse = createParser({
      maxBufferSize: this.#maxLineChars,
      onEvent: (event) => this.#payloads.push(event.data),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") throw this.#tooLong();
      },
    });
  }

  /** `[DONE]` was read. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** The finish event was given. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  get isComplete(): boolean {
    return this.#isDone || this.#answer.isFinished;
  }

  *feed(chunk: Uint8Array): Generator<ChatEvent> {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) {
      throw fault(
        "resource_exhausted",
        `the answer is longer than ${this.#maxBytes} bytes; ask for less or set max_tokens`,
      );
    }
    yield* this.#take(this.#decoder.decode(chunk, { stream: true }), false);
  }

  /** Counts bytes after the end; true when they are too many to go on reading. */
  discard(chunk: Uint8Array): boolean {
    this.#discarded += chunk.length;
    return this.#discarded > MAX_DISCARDED_BYTES;
  }

  *end(): Generator<ChatEvent> {
    if (!this.#isDone) {
      yield* this.#take(this.#decoder.decode(), true);
      // Some servers forget the blank line after the last event.
      if (this.#kind === "sse") yield* this.#take("\n\n", true);
      if (this.#kind === "json") yield* this.#plainAnswer(this.#document.join(""));
    }
    if (this.#kind === "html") throw fault("failed_precondition", htmlText(this.#document.join("")));
    if (this.#kind === "unknown") throw fault("unavailable", "the server answered nothing", true);
    if (!this.isComplete) throw fault("unavailable", "the answer was cut off before its end", true);
    if (this.#answer.isEmpty) throw fault("unavailable", "the server ended the stream without an answer", true);
    this.#isEnded = true;
    yield this.#answer.finish();
  }

  *#take(text: string, isLast: boolean): Generator<ChatEvent> {
    if (this.#kind === "unknown") {
      this.#kind = kindOf(text);
      if (this.#kind === "unknown") return;
    }
    if (this.#kind !== "sse") {
      this.#collect(text);
      return;
    }
    this.#sse.feed(text);
    const payloads = this.#payloads;
    this.#payloads = [];
    for (const payload of payloads) {
      if (this.#isDone) return;
      yield* this.#payload(payload.trim(), isLast);
    }
  }

  *#payload(payload: string, isLast: boolean): Generator<ChatEvent> {
    if (payload === "") return;
    if (payload === "[DONE]") {
      this.#isDone = true;
      this.#onComplete("done");
      return;
    }
    const chunk = parseJson(payload);
    if (!isObject(chunk)) {
      // The half of a line that a cut connection leaves is not the server's mistake.
      if (isLast) return;
      throw fault("data_loss", `the server sent a line that is not JSON: ${payload.slice(0, 200)}`);
    }
    throwIfError(chunk);
    yield* this.#answer.chunk(chunk);
    if (this.#answer.isFinished && !this.#toldComplete) {
      this.#toldComplete = true;
      this.#onComplete("reason");
    }
  }

  *#plainAnswer(text: string): Generator<ChatEvent> {
    const body = parseJson(text);
    if (!isObject(body)) throw fault("unavailable", "the answer was cut off before its end", true);
    throwIfError(body);
    if (!Array.isArray(body["choices"])) {
      throw fault(
        "failed_precondition",
        `the server's answer is not a chat completion: ${text.slice(0, 200)}; check the connector's host`,
      );
    }
    yield* this.#answer.whole(body);
  }

  #collect(text: string): void {
    this.#documentChars += text.length;
    if (this.#documentChars > this.#maxLineChars) throw this.#tooLong();
    this.#document.push(text);
  }

  #tooLong(): ProviderFaultError {
    return fault("resource_exhausted", `the server sent a line of more than ${this.#maxLineChars} characters`);
  }
}

// Content types lie; the first character does not: no server-sent event starts with a bracket.
function kindOf(text: string): BodyKind {
  const first = text.trimStart().charAt(0);
  if (first === "") return "unknown";
  if (first === "{" || first === "[") return "json";
  return first === "<" ? "html" : "sse";
}

function throwIfError(body: Record<string, unknown>): void {
  // Chat chunks of some servers carry "error": null.
  const isErrorItself =
    body["object"] === "error" || body["type"] === "error" || ("detail" in body && !("choices" in body));
  const found = faultOf(body["error"] ?? (isErrorItself ? body : undefined));
  if (found !== undefined) throw new ProviderFaultError(found);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function htmlText(html: string): string {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(html)?.[1]?.trim();
  const named = title === undefined || title === "" ? "" : ` ("${title}")`;
  return `the server answered with a web page${named} instead of a completion; check the connector's host`;
}

function fault(code: ProviderFaultError["code"], text: string, retry = false): ProviderFaultError {
  return new ProviderFaultError({ code, text, retry });
}
