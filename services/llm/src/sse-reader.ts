/** The reader of every protocol that streams server-sent events: a protocol adds only what its events mean. */

import type { AssistantMessage, StopReason } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import { ProviderError } from "./provider-error.ts";
import { SseBody } from "./sse-body.ts";
import type { BodyReader } from "./wire.ts";

/** How an answer ended. */
export interface AnswerEnd {
  readonly reason: StopReason;
  readonly explanation?: string;
}

/** What the events of one protocol mean; state of one answer. */
export interface ProtocolState {
  /** One event; throws a ProviderError for a failure that the provider reports. */
  event(payload: Record<string, unknown>, name: string | undefined): void;
  /** A whole answer in one document, from a server that does not stream. */
  document(body: unknown): void;
  /** The stream said `[DONE]`. */
  done?(): void;
  /** The provider said why it stopped. */
  readonly isComplete: boolean;
  /** The provider said that nothing follows. */
  readonly isDone: boolean;
  /** How it ended; only once complete. */
  end(): AnswerEnd;
}

/** Makes the reader of one answer. */
export function sseReader(assembler: MessageAssembler, state: ProtocolState): BodyReader {
  let events = 0;
  let isDone = false;
  let badLine: string | undefined;
  const body = new SseBody({
    event(payload, name) {
      if (isDone || state.isDone) return;
      events += 1;
      if (badLine !== undefined) warnBadLine(assembler, badLine);
      badLine = undefined;
      state.event(payload, name);
    },
    done() {
      isDone = true;
      state.done?.();
      // A call that lost a line is no longer what the model said, even when the rest of it parses.
      if (badLine !== undefined) warnBadLine(assembler, badLine);
    },
    document(value) {
      events += 1;
      state.document(value);
    },
    badLine(text) {
      assembler.damage();
      badLine = text;
    },
  });
  return {
    feed: (chunk) => body.feed(chunk),
    end() {
      body.end();
      if (state.isComplete) return;
      // The half line that a cut connection leaves is not the server's mistake; a body of nothing else is.
      if (events === 0 && badLine !== undefined) {
        throw new ProviderError({
          errorClass: "protocol",
          message: `the server's answer is not a stream of this protocol: ${badLine}; check the address`,
        });
      }
      throw new ProviderError({
        errorClass: "network",
        message: events === 0 ? "the server answered nothing" : "the answer was cut off before its end",
      });
    },
    get isComplete() {
      return state.isComplete;
    },
    get isDone() {
      return isDone || state.isDone;
    },
    get events() {
      return events;
    },
    result(): AssistantMessage {
      const { reason, explanation } = state.end();
      return assembler.finish(reason, explanation);
    },
  };
}

function warnBadLine(assembler: MessageAssembler, text: string): void {
  assembler.warn("bad-line", `a line that is not JSON was skipped: ${text}`);
}
