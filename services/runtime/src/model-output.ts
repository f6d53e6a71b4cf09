/** Turns what a model says into messages of the output stream, and remembers the whole. */

import type { ChatEvent } from "@mesh/llm";

import type { Usage } from "./message.ts";
import type { MessageStatus, OpenMessage, OutputStream } from "./output-stream.ts";

/** What one model call left behind. */
export interface ModelResult {
  readonly text: string;
  readonly finishReason: string;
  readonly usage: Usage | undefined;
}

/** Streams one model call into `out`; messages that are open when the model fails stay open for the caller to end. */
export async function streamModel(events: AsyncIterable<ChatEvent>, out: OutputStream): Promise<ModelResult> {
  const writer = new ModelWriter(out);
  let finish: Extract<ChatEvent, { readonly kind: "finish" }> | undefined;
  for await (const event of events) {
    if (event.kind === "finish") {
      finish = event;
      // Readers see the end at once, even when the connection takes a moment to close.
      await writer.end(event.reason === "length" ? "partial" : "completed");
    } else if (event.kind === "tool_call") await writer.toolCall(event);
    else await writer.speech(event.kind, event.text);
  }
  return { text: writer.text(), finishReason: finish?.reason ?? "stop", usage: finish?.usage };
}

class ModelWriter {
  readonly #out: OutputStream;
  readonly #text: string[] = [];
  readonly #calls = new Map<number, OpenMessage>();
  #speech: OpenMessage | undefined;

  constructor(out: OutputStream) {
    this.#out = out;
  }

  text(): string {
    return this.#text.join("");
  }

  async speech(type: "text" | "thinking", piece: string): Promise<void> {
    if (this.#speech !== undefined && this.#speech.type !== type) await this.#endSpeech();
    this.#speech ??= await this.#out.begin(type);
    if (type === "text") this.#text.push(piece);
    await this.#out.append(this.#speech, piece);
  }

  // Pieces of parallel calls may come interleaved: each call stays open until the model has finished.
  async toolCall(event: Extract<ChatEvent, { readonly kind: "tool_call" }>): Promise<void> {
    await this.#endSpeech();
    let call = this.#calls.get(event.index);
    if (call === undefined) {
      const head = { id: event.id ?? `call_${event.index}`, name: event.name ?? "", index: event.index };
      call = await this.#out.begin("tool_call", head);
      this.#calls.set(event.index, call);
    }
    await this.#out.append(call, event.arguments);
  }

  /** A limit on length cuts only what was being said last. */
  async end(status: MessageStatus): Promise<void> {
    if (this.#speech !== undefined) await this.#out.end(this.#speech, status);
    this.#speech = undefined;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    for (const call of calls) await this.#out.end(call, call === calls.at(-1) ? status : "completed");
  }

  async #endSpeech(): Promise<void> {
    if (this.#speech !== undefined) await this.#out.end(this.#speech, "completed");
    this.#speech = undefined;
  }
}
