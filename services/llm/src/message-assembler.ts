/**
 * One answer while it streams: blocks grow by key, events go out as they do, and the end decides what may be run.
 *
 * A1  Only a call that the provider finished, with arguments that parse strictly as a JSON object, may run. Empty
 *     arguments mean `{}`; nothing is repaired.
 * A2  A call that the output limit cut, or whose arguments do not parse, is kept as `malformed` so that the model can be
 *     told, or fails the answer where the protocol promises whole calls (`malformedCalls: "fail"`).
 * A3  A failed, aborted or refused answer keeps its text and finished reasoning; its calls become text notes.
 * A4  Ids of calls are unique within the message; a call without an id gets one that is never sent back.
 */

import type { Clock, JsonObject } from "@mesh/kernel";

import {
  type Block,
  type CallBlock,
  MAX_QUOTE,
  newCall,
  newText,
  newThinking,
  noteOf,
  parseArguments,
  textOf,
  thinkingOf,
  withUniqueIds,
} from "./answer-block.ts";
import type {
  ApiProtocol,
  AssistantMessage,
  Content,
  MalformedCall,
  StopReason,
  ToolCallContent,
  Usage,
} from "./message.ts";
import { NO_USAGE } from "./message.ts";
import type { StreamConfig, StreamSink } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { withoutSecrets } from "./provider-failure.ts";
import { syntheticCallId } from "./tool-call-id.ts";

/** What an assembler needs to know. */
export interface MessageAssemblerInit {
  readonly config: StreamConfig;
  readonly clock: Clock;
  readonly sink: StreamSink;
  /** What to do with a finished call whose arguments are not a JSON object. */
  readonly malformedCalls: "tell" | "fail";
  /** A tool that only carries a structured answer: its call is the text. */
  readonly answerTool?: string;
}

/** What a piece of the stream says about a call besides its arguments. */
interface KnownCall {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** Builds the message of one attempt; see the file comment. */
export class MessageAssembler {
  readonly #init: MessageAssemblerInit;
  readonly #blocks: Block[] = [];
  readonly #indexes = new Map<string, number>();
  readonly #warned = new Set<string>();
  #usage: Usage = NO_USAGE;
  #responseId: string | undefined;
  readonly #answers = new Set<string>();
  #hasStarted = false;

  constructor(init: MessageAssemblerInit) {
    this.#init = init;
  }

  /** Nothing but usage was said. */
  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  get usage(): Usage {
    return this.#usage;
  }

  get hasCalls(): boolean {
    return this.#blocks.some((block) => block.kind === "call");
  }

  /** Some call has a name at most: nothing tells whether its arguments were still to come. */
  get hasBareCall(): boolean {
    return this.#blocks.some((block) => block.kind === "call" && block.args.trim() === "");
  }

  /** Some call has begun and was not closed. */
  get hasOpenCall(): boolean {
    return this.#blocks.some((block) => block.kind === "call" && !block.isClosed);
  }

  /** Announces the answer; repeated calls only add the id. */
  start(responseId?: string): void {
    if (responseId !== undefined && responseId !== "") this.#responseId ??= responseId;
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#init.sink({ type: "start", message: this.#message([], { stopReason: "stop" }) });
  }

  has(key: string): boolean {
    return this.#indexes.has(key);
  }

  text(key: string, delta: string, metadata?: JsonObject): void {
    const [index, block] = this.#open(key, "text", newText);
    if (block === undefined) return;
    if (metadata !== undefined) block.metadata = metadata;
    if (delta === "") return;
    block.text += delta;
    this.#init.sink({ type: "textDelta", contentIndex: index, delta });
  }

  thinking(key: string, delta: string): void {
    const [index, block] = this.#open(key, "thinking", newThinking);
    if (block === undefined || delta === "") return;
    block.text += delta;
    this.#init.sink({ type: "thinkingDelta", contentIndex: index, delta });
  }

  /** Signatures may come in pieces. */
  signature(key: string, delta: string): void {
    const [, block] = this.#open(key, "thinking", newThinking);
    if (block !== undefined) block.signature += delta;
  }

  /** Replaces the encrypted reasoning of a block. */
  redacted(key: string, data: string): void {
    const [, block] = this.#open(key, "thinking", newThinking);
    if (block !== undefined) block.redacted = data;
  }

  /** Reads the text of a thinking block, if there is one under this key. */
  thinkingText(key: string): string | undefined {
    const block = this.#blocks[this.#indexes.get(key) ?? -1];
    return block?.kind === "thinking" ? block.text : undefined;
  }

  /** Starts a call or adds what was learned about it. */
  call(key: string, known: KnownCall): void {
    if (this.#isAnswer(key, known.name)) return;
    const isNew = !this.#indexes.has(key);
    const [index, block] = this.#open(key, "call", newCall);
    if (block === undefined) return;
    if (block.id === "" && known.id !== undefined) block.id = known.id;
    if (block.name === "" && known.name !== undefined) block.name = known.name;
    if (known.metadata !== undefined) block.metadata = known.metadata;
    if (isNew) this.#callEvent(index, block, "");
  }

  callArguments(key: string, delta: string): void {
    if (this.#answers.has(key)) {
      this.text(key, delta);
      return;
    }
    const [index, block] = this.#open(key, "call", newCall);
    if (block === undefined || delta === "") return;
    if (block.isClosed) {
      this.warn("late-arguments", "arguments that came after the end of a tool call were ignored");
      return;
    }
    block.args += delta;
    this.#callEvent(index, block, delta);
  }

  /** Ends a block; `args` replaces what was streamed, for protocols that repeat it whole. */
  close(key: string, args?: string): void {
    const block = this.#blocks[this.#indexes.get(key) ?? -1];
    if (block === undefined || block.kind === "text") return;
    if (block.kind === "call" && args !== undefined) {
      if (block.args === "" && args !== "") this.callArguments(key, args);
      block.args = args;
    }
    block.isClosed = true;
  }

  closeAll(): void {
    for (const block of this.#blocks) {
      if (block.kind !== "text") block.isClosed = true;
    }
  }

  /** A part of the stream was lost: what is still open cannot be trusted, even if it happens to parse. */
  damage(): void {
    for (const block of this.#blocks) {
      if (block.kind === "call" && !block.isClosed) block.isDamaged = true;
    }
  }

  setUsage(usage: Usage): void {
    this.#usage = usage;
    this.#init.sink({ type: "usage", usage });
  }

  /** Tells of something odd, once per kind. */
  warn(kind: string, text: string): void {
    if (this.#warned.has(kind) || this.#warned.size >= 64) return;
    this.#warned.add(kind);
    this.#init.sink({ type: "warning", text: withoutSecrets(this.#init.config, text) });
  }

  /** The finished message; throws when a call is not fit to be kept (A1, A2). */
  finish(reason: StopReason, explanation?: string): AssistantMessage {
    this.start();
    const isRefusal = reason === "refusal";
    const content = this.#blocks.flatMap((block) => this.#finished(block, reason));
    const hasCalls = content.some((part) => part.type === "toolCall");
    const message = this.#message(withUniqueIds(content), {
      stopReason: reason === "stop" && hasCalls ? "toolUse" : reason === "toolUse" && !hasCalls ? "stop" : reason,
      ...(explanation === undefined ? {} : { errorMessage: explanation }),
      ...(isRefusal ? { errorClass: "refusal" } : {}),
    });
    return message;
  }

  /** What was said before a failure (A3). */
  partial(error: ProviderError): AssistantMessage {
    const content = this.#blocks.flatMap((block): readonly Content[] => {
      if (block.kind === "call") return [noteOf(block, "the answer ended early")];
      if (block.kind === "text") return textOf(block);
      // A signature or an encrypted block is only good when it is whole; its readable text can stay.
      return thinkingOf(block.isClosed ? block : { ...block, signature: "", redacted: "" }, this.#protocol);
    });
    return this.#message(content, {
      stopReason: error.errorClass === "aborted" ? "aborted" : "error",
      errorMessage: error.message,
      errorClass: error.errorClass,
    });
  }

  get #protocol(): ApiProtocol {
    return this.#init.config.model.api;
  }

  #message(
    content: readonly Content[],
    end: Pick<AssistantMessage, "stopReason" | "errorMessage" | "errorClass">,
  ): AssistantMessage {
    const { model } = this.#init.config;
    return {
      role: "assistant",
      content,
      model: model.id,
      provider: model.provider,
      api: model.api,
      usage: this.#usage,
      timestamp: this.#init.clock.now(),
      ...end,
      ...(this.#responseId === undefined ? {} : { responseId: this.#responseId }),
    };
  }

  #isAnswer(key: string, name: string | undefined): boolean {
    if (this.#init.answerTool === undefined) return false;
    if (name === this.#init.answerTool && !this.#indexes.has(key)) {
      this.#answers.add(key);
      this.text(key, "");
    }
    return this.#answers.has(key);
  }

  #open<Kind extends Block["kind"]>(
    key: string,
    kind: Kind,
    make: () => Extract<Block, { kind: Kind }>,
  ): readonly [number, Extract<Block, { kind: Kind }> | undefined] {
    this.start();
    const known = this.#indexes.get(key);
    if (known === undefined) {
      const block = make();
      this.#indexes.set(key, this.#blocks.length);
      this.#blocks.push(block);
      return [this.#blocks.length - 1, block];
    }
    const block = this.#blocks[known];
    if (block?.kind === kind) return [known, block as Extract<Block, { kind: Kind }>];
    this.warn(`mixed-${kind}`, `the provider sent ${kind} for a block of another kind; it was ignored`);
    return [known, undefined];
  }

  #callEvent(index: number, block: CallBlock, delta: string): void {
    this.#init.sink({ type: "toolCallDelta", contentIndex: index, id: block.id, name: block.name, delta });
  }

  #finished(block: Block, reason: StopReason): readonly Content[] {
    if (block.kind === "text") return textOf(block);
    if (block.kind === "thinking") return thinkingOf(block, this.#protocol);
    if (reason === "refusal") return [noteOf(block, "the model refused to go on")];
    const parsed = parseArguments(block.args);
    const malformed = this.#malformed(block, parsed, reason);
    const call: ToolCallContent = {
      type: "toolCall",
      id: block.id === "" ? syntheticCallId() : block.id,
      name: block.name,
      arguments: malformed === undefined && parsed !== undefined ? parsed : {},
    };
    if (block.metadata === undefined && malformed === undefined) return [call];
    return [
      {
        ...call,
        ...(block.metadata === undefined ? {} : { providerMetadata: block.metadata }),
        ...(malformed === undefined ? {} : { malformed }),
      },
    ];
  }

  #malformed(block: CallBlock, parsed: JsonObject | undefined, reason: StopReason): MalformedCall | undefined {
    const isUsable = block.isClosed && parsed !== undefined && !block.isDamaged;
    if (isUsable && block.name !== "") return undefined;
    const raw = block.args.slice(0, MAX_QUOTE);
    if (reason === "length" && !isUsable) {
      return {
        kind: "truncated",
        reason: "The call was cut off by the output limit and was not run; make it shorter or split it.",
        raw,
      };
    }
    if (!block.isClosed) {
      throw new ProviderError({
        errorClass: "protocol",
        message: `the answer ended inside the tool call "${block.name}"; nothing was run: ${raw}`,
      });
    }
    if (this.#init.malformedCalls === "fail") {
      throw new ProviderError({
        errorClass: "protocol",
        message: `the arguments of the tool call "${block.name}" are not a JSON object; nothing was run: ${raw}`,
      });
    }
    const what = block.name === "" ? "The call names no tool" : "The arguments are not a valid JSON object";
    return { kind: "invalid", reason: `${what}; nothing was run. Write the call again.`, raw };
  }
}
