/**
 * Turns what a model call tells into events of a run: one open message at a time, closed on every path.
 *
 * V1  An attempt that failed and is repeated is closed as an error message, then `providerRetry` follows.
 * V2  The last message is closed by its caller, with what really enters the history.
 * V3  After `detach` nothing is told: a provider that ignores cancellation talks to nobody.
 */

import type { AssistantMessage, Content, StreamEvent, TextContent, ThinkingContent } from "@mesh/llm";

import type { MessageDelta } from "./event.ts";
import type { LiveRun } from "./live-run.ts";

type Growing<Part> = { -readonly [Key in keyof Part]: Part[Key] };

type Draft = Growing<AssistantMessage> & { content: Content[] };

/** The message that is streaming. */
export class AttemptView {
  readonly #run: LiveRun;
  #draft: Draft | undefined;
  #failed: AssistantMessage | undefined;
  #isDetached = false;

  constructor(run: LiveRun) {
    this.#run = run;
  }

  /** Whether a start event waits for its end. */
  get isOpen(): boolean {
    return this.#draft !== undefined;
  }

  /** Stops listening. */
  detach(): void {
    this.#isDetached = true;
  }

  readonly sink = (event: StreamEvent): void => {
    if (this.#isDetached) return;
    switch (event.type) {
      case "start":
        this.#open(event.message);
        break;
      case "textDelta":
        this.#grow(event.contentIndex, event.delta, "text");
        break;
      case "thinkingDelta":
        this.#grow(event.contentIndex, event.delta, "thinking");
        break;
      case "toolCallDelta":
        this.#growCall(event);
        break;
      case "usage":
        if (this.#draft !== undefined) this.#draft.usage = event.usage;
        break;
      case "warning":
        this.#run.log("warn", "provider warning", { text: event.text });
        break;
      case "error":
        this.#failed = event.message;
        break;
      case "retry":
        this.retry(event);
        break;
      case "done":
        break;
    }
  };

  /** Closes a failed attempt and says that another follows. */
  retry(event: Omit<Extract<StreamEvent, { type: "retry" }>, "type">): void {
    const { attempt, maxAttempts, delayMs, errorClass, errorMessage } = event;
    this.#run.spent(event.usage);
    if (this.#draft !== undefined) {
      const message = this.#failed ?? withoutCalls({ ...this.#draft, stopReason: "error", errorMessage });
      this.#run.emit({ type: "messageEnd", message: { ...message, stopReason: "error" } });
    }
    this.#draft = undefined;
    this.#failed = undefined;
    this.#run.emit({ type: "providerRetry", attempt, maxAttempts, delayMs, errorClass, errorMessage });
    this.#run.log("warn", "model call repeated", { attempt, delayMs, errorClass, err: errorMessage });
  }

  /** What was said so far, as the message of a call that ended badly. */
  partial(stopReason: "error" | "aborted", errorMessage: string): AssistantMessage {
    const base = this.#failed ?? this.#draft ?? this.#empty();
    return withoutCalls({ ...base, content: [...base.content], stopReason, errorMessage });
  }

  #empty(): AssistantMessage {
    const { model } = this.#run.config;
    return {
      role: "assistant",
      content: [],
      stopReason: "stop",
      model: model.id,
      provider: model.provider,
      api: model.api,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 },
      timestamp: this.#run.clock.now(),
    };
  }

  #open(message: AssistantMessage): Draft {
    if (this.#draft !== undefined) return this.#draft;
    this.#draft = { ...message, content: [] };
    this.#run.emit({ type: "messageStart", message });
    return this.#draft;
  }

  #grow(index: number, delta: string, type: "text" | "thinking"): void {
    const draft = this.#draft ?? this.#open(this.#empty());
    const part = draft.content[index];
    // In place, as the draft itself: a copy per delta would cost more than the delta.
    if (type === "text" && part?.type === "text") (part as Growing<TextContent>).text += delta;
    else if (type === "thinking" && part?.type === "thinking") (part as Growing<ThinkingContent>).thinking += delta;
    else draft.content[index] = type === "text" ? { type, text: delta } : { type, thinking: delta };
    this.#update(draft, { type, delta });
  }

  #growCall(event: Extract<StreamEvent, { type: "toolCallDelta" }>): void {
    const draft = this.#draft ?? this.#open(this.#empty());
    draft.content[event.contentIndex] = { type: "toolCall", id: event.id, name: event.name, arguments: {} };
    const { contentIndex, delta } = event;
    this.#update(draft, { type: "toolCallDelta", delta, contentIndex });
  }

  #update(message: Draft, delta: MessageDelta): void {
    this.#run.emit({ type: "messageUpdate", message, delta });
  }
}

/** The message without calls: none of them may run, and none may be left without a result. */
export function withoutCalls(message: AssistantMessage): AssistantMessage {
  // `flatMap` also closes gaps of blocks that were announced and never said.
  return { ...message, content: message.content.flatMap((part) => (part.type === "toolCall" ? [] : [part])) };
}
