/** The chunks of a completion as the one object that is the answer without a stream. Pure. */

import type { ChatChunk, ChatUsage, FinishReason, ToolCallDelta } from "./chat-chunks.ts";

/** A call of a function of the request. */
export type ChatToolCall = Omit<ToolCallDelta, "index">;

/** The answer as it stands on the wire. */
export interface ChatCompletion {
  readonly id: string;
  readonly object: "chat.completion";
  readonly created: number;
  readonly model: string;
  readonly choices: readonly {
    readonly index: 0;
    readonly message: {
      readonly role: "assistant";
      readonly content: string | null;
      readonly refusal: null;
      readonly reasoning_content?: string;
      readonly tool_calls?: readonly ChatToolCall[];
    };
    readonly logprobs: null;
    readonly finish_reason: FinishReason;
  }[];
  readonly usage: ChatUsage;
}

/** Puts chunks together; they are those of a completion that ended well. */
export function chatCompletion(
  head: Pick<ChatChunk, "id" | "created" | "model">,
  chunks: readonly ChatChunk[],
  usage: ChatUsage,
): ChatCompletion {
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const content = choices.map(({ delta }) => delta.content ?? "").join("");
  const thought = choices.map(({ delta }) => delta.reasoning_content ?? "").join("");
  const calls = choices
    .flatMap(({ delta }) => delta.tool_calls ?? [])
    .map(({ id, type, function: fn }) => ({ id, type, function: fn }));
  const finish_reason = choices.find((choice) => choice.finish_reason !== null)?.finish_reason ?? "stop";
  const message = {
    role: "assistant" as const,
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(thought === "" ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const { id, created, model } = head;
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage,
  };
}
