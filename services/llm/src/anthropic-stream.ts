/**
 * The events of Anthropic's Messages API.
 *
 * N1  A block is known by its index, wherever it stands: kinds that are not shown leave no placeholder.
 * N2  A tool call is finished by its `content_block_stop` only.
 * N3  A terminal `stop_reason` completes the answer; a missing `message_stop` after it changes nothing.
 */

import { isObject } from "@mesh/kernel";

import { count, countAt, nonEmpty } from "./json-field.ts";
import type { Usage } from "./message.ts";
import type { MessageAssembler } from "./message-assembler.ts";
import type { StreamConfig } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";
import { faultOf, streamedError } from "./provider-failure.ts";
import type { AnswerEnd, ProtocolState } from "./sse-reader.ts";

const QUIET_DELTAS: ReadonlySet<string> = new Set(["citations_delta"]);

/** Reads one streamed message; see the file comment. */
export class AnthropicState implements ProtocolState {
  readonly #assembler: MessageAssembler;
  readonly #config: StreamConfig;
  readonly #known = new Set<string>();
  #stopReason: string | undefined;
  #stopDetails: unknown;
  #isDone = false;

  constructor(assembler: MessageAssembler, config: StreamConfig) {
    this.#assembler = assembler;
    this.#config = config;
  }

  get isComplete(): boolean {
    return this.#stopReason !== undefined && (this.#isDone || !this.#hasOpenCall());
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  event(payload: Record<string, unknown>, name: string | undefined): void {
    const type = nonEmpty(payload["type"]) ?? name;
    switch (type) {
      case "message_start":
        this.#start(payload["message"]);
        return;
      case "content_block_start":
        this.#blockStart(payload);
        return;
      case "content_block_delta":
        this.#delta(payload);
        return;
      case "content_block_stop":
        this.#assembler.close(String(payload["index"]));
        return;
      case "message_delta":
        this.#messageDelta(payload);
        return;
      case "message_stop":
        this.#isDone = this.#stopReason !== undefined;
        return;
      case "ping":
        return;
      case "error":
        throw streamedError(
          faultOf(payload["error"] ?? payload) ?? { errorClass: "server", text: "error" },
          this.#config,
        );
      default:
        if (payload["error"] !== undefined && payload["error"] !== null)
          this.event({ ...payload, type: "error" }, name);
        else this.#assembler.warn(`event-${type}`, `an event of an unknown kind was ignored: ${type}`);
    }
  }

  document(body: unknown): void {
    const message = isObject(body) ? body : {};
    if (message["type"] === "error" || isObject(message["error"])) this.event({ ...message, type: "error" }, undefined);
    if (!Array.isArray(message["content"])) {
      throw new ProviderError({
        errorClass: "protocol",
        message: "the answer is not a message of this protocol; check the address",
      });
    }
    this.#start({ ...message, content: undefined });
    for (const [index, block] of (message["content"] as readonly unknown[]).entries()) {
      this.#blockStart({ index, content_block: block });
      this.#assembler.close(String(index));
    }
    this.#messageDelta({ delta: message, usage: message["usage"] });
  }

  end(): AnswerEnd {
    switch (this.#stopReason) {
      case "end_turn":
      case "stop_sequence":
        return { reason: "stop" };
      case "tool_use":
        return { reason: "toolUse" };
      case "max_tokens":
        return { reason: "length" };
      case "refusal":
        return { reason: "refusal", explanation: refusalText(this.#stopDetails) };
      case "model_context_window_exceeded":
        throw new ProviderError({
          errorClass: "overflow",
          message: "the conversation filled the model's context window (model_context_window_exceeded)",
        });
      case "pause_turn":
        throw new ProviderError({
          errorClass: "protocol",
          message: "the provider paused a long turn (pause_turn); send the conversation again to go on",
          retryable: false,
        });
      default:
        this.#assembler.warn("stop-reason", `an unknown stop reason was taken as an end: ${this.#stopReason}`);
        return { reason: "stop" };
    }
  }

  #hasOpenCall(): boolean {
    return this.#assembler.hasOpenCall && this.#stopReason !== "max_tokens" && this.#stopReason !== "refusal";
  }

  #start(message: unknown): void {
    if (!isObject(message)) return;
    this.#assembler.start(nonEmpty(message["id"]));
    this.#usage(message["usage"]);
  }

  #blockStart(payload: Record<string, unknown>): void {
    const block = payload["content_block"];
    if (!isObject(block)) return;
    const key = String(payload["index"]);
    const type = String(block["type"]);
    this.#known.add(key);
    switch (type) {
      case "text":
        this.#assembler.text(key, nonEmpty(block["text"]) ?? "");
        return;
      case "thinking":
        this.#assembler.thinking(key, nonEmpty(block["thinking"]) ?? "");
        this.#assembler.signature(key, nonEmpty(block["signature"]) ?? "");
        return;
      case "redacted_thinking":
        this.#assembler.redacted(key, nonEmpty(block["data"]) ?? "");
        return;
      case "tool_use":
        this.#assembler.call(key, { id: nonEmpty(block["id"]) ?? "", name: nonEmpty(block["name"]) ?? "" });
        // Some servers send the input whole; the API itself starts with an empty object.
        if (isObject(block["input"]) && Object.keys(block["input"]).length > 0) {
          this.#assembler.callArguments(key, JSON.stringify(block["input"]));
        }
        return;
      default:
        this.#assembler.warn(`block-${type}`, `a content block of an unknown kind was left out: ${type}`);
    }
  }

  #delta(payload: Record<string, unknown>): void {
    const delta = payload["delta"];
    if (!isObject(delta)) return;
    const key = String(payload["index"]);
    const isShown = this.#assembler.has(key);
    // A block that was announced but is not shown; a delta without any start types its own block.
    if (!isShown && this.#known.has(key)) return;
    const type = String(delta["type"]);
    if (type === "text_delta") this.#assembler.text(key, nonEmpty(delta["text"]) ?? "");
    else if (type === "thinking_delta") this.#assembler.thinking(key, nonEmpty(delta["thinking"]) ?? "");
    else if (type === "signature_delta") this.#assembler.signature(key, nonEmpty(delta["signature"]) ?? "");
    else if (type === "input_json_delta") {
      if (isShown) this.#assembler.callArguments(key, nonEmpty(delta["partial_json"]) ?? "");
    } else if (!QUIET_DELTAS.has(type)) {
      this.#assembler.warn(`delta-${type}`, `a delta of an unknown kind was ignored: ${type}`);
    }
  }

  #messageDelta(payload: Record<string, unknown>): void {
    const delta = payload["delta"];
    this.#usage(payload["usage"]);
    if (!isObject(delta)) return;
    this.#stopReason = nonEmpty(delta["stop_reason"]) ?? this.#stopReason;
    this.#stopDetails = delta["stop_details"] ?? this.#stopDetails;
  }

  // Later events carry running totals; a field that is present replaces, also with zero, a missing one keeps.
  #usage(value: unknown): void {
    if (!isObject(value)) return;
    const before = this.#assembler.usage;
    const parts = {
      input: count(value["input_tokens"]) ?? before.input,
      output: count(value["output_tokens"]) ?? before.output,
      cacheRead: count(value["cache_read_input_tokens"]) ?? before.cacheRead,
      cacheWrite: count(value["cache_creation_input_tokens"]) ?? before.cacheWrite,
    };
    const reasoning = countAt(value, "output_tokens_details", "thinking_tokens") ?? before.reasoning;
    const usage: Usage = {
      ...parts,
      totalTokens: parts.input + parts.output + parts.cacheRead + parts.cacheWrite,
      ...(reasoning === undefined ? {} : { reasoning }),
    };
    this.#assembler.setUsage(usage);
  }
}

function refusalText(details: unknown): string {
  const said = isObject(details) ? nonEmpty(details["explanation"]) : undefined;
  return said ?? "the model refused to answer";
}
