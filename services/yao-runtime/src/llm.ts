/** `ctx.llm`: models without an assistant around them. */

import type { Completion, Conversation, Message, OnChunk, OnChunkOf } from "./message.ts";
import type { Values } from "./value.ts";

/** How a model is asked. */
export interface LlmOptions {
  temperature?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  top_p?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  stop?: string | string[];
  user?: string;
  seed?: number;
  tools?: Values[];
  tool_choice?: string | Values;
  response_format?: {
    type: "text" | "json_object" | "json_schema" | (string & {});
    json_schema?: { name?: string; description?: string; schema?: Values; strict?: boolean };
  };
  reasoning_effort?: "low" | "medium" | "high" | (string & {});
}

/** One of several questions. */
export interface LlmRequest {
  connector: string;
  messages: Message[];
  options?: LlmOptions;
}

/** How a question went. */
export interface LlmResult {
  connector: string;
  response?: Completion;
  /** Text of the answer. */
  content?: string;
  /** Why there is no answer; questions never throw. */
  error?: string;
}

/** A picture, or why there is none. */
export interface ImageResult {
  connector: string;
  /** Base64. */
  image?: string;
  format?: string;
  error?: string;
}

/** Models, by the name of their connector. */
export interface Llm {
  /**
   * Asks a model without showing the answer to the person.
   * @example
   * const { content } = ctx.llm.Call("gpt-4o-mini", [{ role: "user", content: "One word for joy?" }], { max_tokens: 5 });
   */
  Call(connector: string, messages: Conversation, options?: LlmOptions & { onChunk?: OnChunk }): LlmResult;
  /**
   * Asks a model; the answer is shown to the person as it is written.
   * @example
   * const { content } = ctx.llm.Stream("gpt-4o", messages, { temperature: 0.7 });
   */
  Stream(connector: string, messages: Conversation, options?: LlmOptions & { onChunk?: OnChunk }): LlmResult;
  /**
   * Asks several and waits for all; results come in the order of the requests.
   * @example
   * const answers = ctx.llm.All([{ connector: "gpt-4o", messages }, { connector: "claude-3", messages }]);
   */
  All(requests: LlmRequest[], options?: { onChunk?: OnChunkOf }): LlmResult[];
  /**
   * The first that succeeds; the others are cancelled.
   * @example
   * const answer = ctx.llm.Any([{ connector: "a", messages }, { connector: "b", messages }]).find((it) => it && !it.error);
   */
  Any(requests: LlmRequest[], options?: { onChunk?: OnChunkOf }): LlmResult[];
  /**
   * The first that ends, well or not; the others are cancelled.
   * @example
   * const first = ctx.llm.Race([{ connector: "a", messages }, { connector: "b", messages }]).find((it) => it);
   */
  Race(requests: LlmRequest[], options?: { onChunk?: OnChunkOf }): LlmResult[];
  /**
   * Makes a picture.
   * @example
   * const { image, error } = ctx.llm.GenerateImage("gpt-image-1", "a cat in the rain", { size: "1024x1024" });
   */
  GenerateImage(connector: string, prompt: string, options?: Values): ImageResult;
}
