/**
 * The events of the agent loop as messages of the output stream. Pure but for the stream it writes to.
 *
 * L1  What the model says is streamed as `text`, `thinking` and one `tool_call` message per call.
 * L2  What a tool does is one `execute` message under one id: whole at its start and whole again at its end.
 * L3  An answer that failed and is asked for again stays, ended with status `error`; the next one has messages of its own.
 * L4  What the loop says to the model (limits, nudges) is not output.
 */

import { type AgentEvent, type AgentMessage, capText, type OutputCap, type ToolResultView } from "@mesh/agent";
import type { Json, JsonObject } from "@mesh/kernel";
import { type AssistantMessage, toolCallsOf } from "@mesh/llm";

import type { MessageStatus, OpenMessage, OutputStream } from "./output-stream.ts";

interface StreamedCall {
  /** Counts calls, not parts of the message. */
  readonly index: number;
  /** Said before the provider named the call. */
  readonly held: string[];
  message: OpenMessage | undefined;
}

interface Execution {
  readonly messageId: string;
  readonly props: JsonObject;
}

type Update = Extract<AgentEvent, { readonly type: "messageUpdate" }>;
type Ended = Extract<AgentEvent, { readonly type: "toolExecutionEnd" }>;

/** Of each text in an `execute` message: several of them must fit into one event of the bus. */
export const OUTPUT_CAP: OutputCap = { maxLines: Number.POSITIVE_INFINITY, maxBytes: 48 * 1024 };
const INPUT_CAP = { maxLines: Number.POSITIVE_INFINITY, maxBytes: 16 * 1024 };
const MAX_DETAILS_CHARS = 16 * 1024;
const MAX_INPUT_CHARS = 64 * 1024;

/** Writes a run's events into its stream. */
export class LoopOutput {
  readonly #out: OutputStream;
  readonly #calls = new Map<number, StreamedCall>();
  readonly #executions = new Map<string, Execution>();
  #speech: OpenMessage | undefined;

  constructor(out: OutputStream) {
    this.#out = out;
  }

  /** The loop's sink. */
  readonly sink = (event: AgentEvent): void => {
    switch (event.type) {
      case "messageUpdate":
        this.#said(event);
        return;
      case "messageEnd":
        this.#answered(event.message);
        return;
      case "toolExecutionStart":
        this.#started(event.toolCallId, event.toolName, event.args ?? {});
        return;
      case "toolExecutionUpdate":
        this.#progressed(event.toolCallId, { output: textOf(event.partialResult) });
        return;
      case "progressMessage":
        this.#progressed(event.toolCallId, { progress: capText(event.text, INPUT_CAP) });
        return;
      case "toolExecutionEnd":
        this.#ended(event);
        return;
      default:
    }
  };

  #said({ message, delta }: Update): void {
    if (delta.type === "toolCallDelta") this.#call(message, delta.contentIndex, delta.delta);
    else this.#speak(delta.type, delta.delta);
  }

  #speak(type: "text" | "thinking", piece: string): void {
    if (this.#speech !== undefined && this.#speech.type !== type) this.#endSpeech();
    this.#speech ??= this.#out.begin(type);
    this.#out.append(this.#speech, piece);
  }

  // Pieces of parallel calls may come interleaved: each call stays open until the model has finished.
  #call(message: AssistantMessage, contentIndex: number, piece: string): void {
    this.#endSpeech();
    const call = this.#calls.get(contentIndex) ?? { index: this.#calls.size, held: [], message: undefined };
    this.#calls.set(contentIndex, call);
    const part = message.content[contentIndex];
    if (call.message !== undefined) this.#out.append(call.message, piece);
    else if (part?.type !== "toolCall" || part.id === "" || part.name === "") call.held.push(piece);
    else this.#beginCall(call, part, [...call.held, piece].join(""));
  }

  #beginCall(call: StreamedCall, named: { readonly id: string; readonly name: string }, piece: string): OpenMessage {
    const message = this.#out.begin("tool_call", { id: named.id, name: named.name, index: call.index });
    this.#out.append(message, piece);
    call.message = message;
    return message;
  }

  #answered(message: AgentMessage): void {
    if (message.role !== "assistant") return;
    const status = STATUSES[message.stopReason] ?? "completed";
    if (this.#speech !== undefined) this.#out.end(this.#speech, status);
    this.#speech = undefined;
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    const kept = toolCallsOf(message);
    for (const call of calls) {
      // Providers without ids: the answer as a whole gives them.
      const named = kept[call.index];
      if (call.message === undefined && named !== undefined) this.#beginCall(call, named, call.held.join(""));
      // A limit on length cuts only what was being said last.
      const isCut = message.stopReason !== "length" || call === calls.at(-1);
      if (call.message !== undefined) this.#out.end(call.message, isCut ? status : "completed");
    }
  }

  #endSpeech(): void {
    if (this.#speech !== undefined) this.#out.end(this.#speech, "completed");
    this.#speech = undefined;
  }

  #started(callId: string, tool: string, args: JsonObject): void {
    const props = { tool, tool_id: callId, input: cappedInput(args) };
    const messageId = this.#out.send("execute", { ...props, status: "running" });
    this.#executions.set(callId, { messageId, props });
  }

  #progressed(callId: string, change: JsonObject): void {
    const execution = this.#executions.get(callId);
    if (execution !== undefined) this.#out.merge("execute", change, execution.messageId);
  }

  #ended({ toolCallId, result, isError }: Ended): void {
    const execution = this.#executions.get(toolCallId);
    this.#executions.delete(toolCallId);
    if (execution === undefined) return;
    const { details } = result;
    const isSmall = details !== undefined && JSON.stringify(details).length <= MAX_DETAILS_CHARS;
    const props = {
      ...execution.props,
      output: textOf(result),
      ...(isSmall ? { details } : {}),
      status: isError ? "error" : "completed",
    };
    this.#out.send("execute", props, execution.messageId);
  }
}

const STATUSES: Readonly<Partial<Record<AssistantMessage["stopReason"], MessageStatus>>> = {
  error: "error",
  aborted: "partial",
  length: "partial",
};

function textOf(result: ToolResultView): string {
  const parts = result.content.map((part) => (part.type === "text" ? part.text : `[image: ${part.mimeType}]`));
  return capText(parts.join("\n"), OUTPUT_CAP);
}

/** Arguments as an `execute` message has them; all of them are in the `tool_call` message. */
export function cappedInput(args: JsonObject): JsonObject {
  const cap = (value: Json): Json => (typeof value === "string" ? capText(value, INPUT_CAP) : value);
  const capped = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, cap(value)]));
  // Lists, objects and many names are not cut piece by piece.
  const text = JSON.stringify(capped);
  return text.length <= MAX_INPUT_CHARS ? capped : { cut: capText(text, INPUT_CAP) };
}
