/**
 * Bytes of a server-sent event stream as JSON events: pure, incremental, bounded.
 *
 * S1  Bytes may be cut anywhere, also inside a UTF-8 character or between CR and LF.
 * S2  A body that is no event stream is recognised by its first character, for content types lie: a JSON document is
 *     handed to `document`, a web page fails with its title.
 * S3  One line that is not JSON does not end a stream: it is reported, and what it may have damaged is not trusted.
 */

import { createParser, type EventSourceParser } from "eventsource-parser";

import { isObject } from "@mesh/kernel";

import { ProviderError } from "./provider-error.ts";

/** Where the events go. */
export interface SseHandlers {
  readonly event: (payload: Record<string, unknown>, name: string | undefined) => void;
  /** The stream said `[DONE]`. */
  readonly done: () => void;
  /** The whole body was one JSON document. */
  readonly document: (body: unknown) => void;
  /** A line that is not JSON. */
  readonly badLine: (text: string) => void;
}

type BodyKind = "unknown" | "sse" | "json" | "html";

const MAX_LINE_CHARS = 16 * 1024 * 1024;
const MAX_DOCUMENT_CHARS = 32 * 1024 * 1024;
const MAX_HTML_CHARS = 64 * 1024;

/** Decodes one body; see the file comment. */
export class SseBody {
  readonly #handlers: SseHandlers;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  #kind: BodyKind = "unknown";
  #document: string[] = [];
  #documentChars = 0;

  constructor(handlers: SseHandlers) {
    this.#handlers = handlers;
    this.#parser = createParser({
      maxBufferSize: MAX_LINE_CHARS,
      onEvent: (event) => this.#event(event.data, event.event),
      onError: (error) => {
        if (error.type === "max-buffer-size-exceeded") throw tooLong();
      },
    });
  }

  feed(chunk: Uint8Array): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  end(): void {
    this.#take(this.#decoder.decode());
    // Some servers forget the blank line after the last event.
    if (this.#kind === "sse") this.#parser.feed("\n\n");
    if (this.#kind === "html") throw webPage(this.#document.join(""));
    if (this.#kind === "json") this.#handlers.document(parseDocument(this.#document.join("")));
  }

  #take(text: string): void {
    if (text === "") return;
    if (this.#kind === "unknown") {
      this.#kind = kindOf(text);
      if (this.#kind === "unknown") return;
    }
    if (this.#kind === "sse") {
      this.#parser.feed(text);
      return;
    }
    this.#documentChars += text.length;
    if (this.#kind === "html" && this.#documentChars > MAX_HTML_CHARS) throw webPage(this.#document.join(""));
    if (this.#documentChars > MAX_DOCUMENT_CHARS) throw tooLong();
    this.#document.push(text);
  }

  #event(data: string, name: string | undefined): void {
    const payload = data.trim();
    if (payload === "") return;
    if (payload === "[DONE]") {
      this.#handlers.done();
      return;
    }
    const value = parseJson(payload);
    if (isObject(value)) this.#handlers.event(value, name);
    else this.#handlers.badLine(payload.slice(0, 200));
  }
}

// No server-sent event starts with a bracket.
function kindOf(text: string): BodyKind {
  const first = text
    .replace(/^\uFEFF/, "")
    .trimStart()
    .charAt(0);
  if (first === "") return "unknown";
  if (first === "{" || first === "[") return "json";
  return first === "<" ? "html" : "sse";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseDocument(text: string): unknown {
  const body = parseJson(text);
  if (body !== undefined) return body;
  throw new ProviderError({ errorClass: "network", message: "the answer was cut off before its end" });
}

function tooLong(): ProviderError {
  return new ProviderError({
    errorClass: "protocol",
    message: `the server sent a line of more than ${MAX_LINE_CHARS} characters`,
  });
}

function webPage(html: string): ProviderError {
  const title = /<title[^>]*>([^<]*)<\/title>/i.exec(html)?.[1]?.trim() ?? "";
  const named = title === "" ? "" : ` ("${title.slice(0, 100)}")`;
  return new ProviderError({
    errorClass: "protocol",
    message: `the server answered with a web page${named} instead of a model's answer; check the address`,
  });
}
