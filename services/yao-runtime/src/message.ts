/** Messages: those of a conversation, and those shown to the person who reads along. */

import type { Value, Values } from "./value.ts";

/**
 * One message of the conversation, as the model sees it.
 *
 * @example
 * const question: agent.Message = { role: "user", content: "What is new?" };
 */
export interface Message {
  /** Who says it. */
  role: "system" | "user" | "assistant" | "tool" | "developer" | (string & {});
  /** Text, or a list of {@link ContentPart} (text, images, audio, files). */
  content?: Value;
  /** Name of the speaker, for models that tell several people apart. */
  name?: string;
  /** Calls the model made in this message. */
  tool_calls?: ToolCall[];
  /** Of a `tool` message: the call it answers. */
  tool_call_id?: string;
  /** What a reasoning model thought. */
  reasoning_content?: string;
  /** Why the model refused. */
  refusal?: string;
  metadata?: Values;
}

/** Messages to ask with; text and a single message stand for a conversation of it. */
export type Conversation = string | Message | Message[];

/**
 * A part of a message that is more than text.
 *
 * @example
 * const part: agent.ContentPart = { type: "image_url", image_url: { url: "https://example.com/cat.png" } };
 */
export type ContentPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string; detail?: "auto" | "low" | "high" } }
  | { type: "input_audio"; input_audio: { data: string; format: string } }
  | { type: "file"; file: { url?: string; file_id?: string; filename?: string } }
  | { type: "data"; data: { sources: Values[] } };

/** A tool the model wants to be called; `arguments` is JSON text as the model wrote it. */
export interface ToolCall {
  id: string;
  type: "function" | (string & {});
  function: { name: string; arguments: string };
}

/**
 * A message shown to the person: what `ctx.Send` takes.
 *
 * @example
 * ctx.Send({ type: "text", props: { content: "Done." } });
 */
export interface OutputMessage {
  /** What the page draws: `text`, `image`, `loading`, `tool`, or a type of your own. */
  type: string;
  /** What is drawn. */
  props?: Values;
  /** Made for you when left out. */
  message_id?: string;
  /** Messages with the same block appear in one bubble; stronger than the second argument of `ctx.Send`. */
  block_id?: string;
  /** Set for you in assistants called by others. */
  thread_id?: string;
  metadata?: Values;
}

/**
 * One message, or one change of a message, as it streams by: what `onChunk` gets.
 *
 * @example
 * ctx.agent.Call("writer", messages, { onChunk: (chunk) => (chunk.type === "error" ? 1 : 0) });
 */
export interface Chunk extends OutputMessage {
  /** Number of the chunk: C1, C2, … */
  chunk_id?: string;
  /** Whether this changes a message that was begun before. */
  delta?: boolean;
  /** What is changed, such as `props.content`. */
  delta_path?: string;
  /** How it is changed. */
  delta_action?: "append" | "replace" | "merge" | "set";
}

/**
 * Watches what streams by. Return a number other than 0 to stop.
 *
 * @example
 * const watch: agent.OnChunk = (chunk) => {
 *   console.log(chunk.type, chunk.props?.content);
 *   return 0;
 * };
 */
export type OnChunk = (chunk: Chunk) => number | void;

/** Watches several that stream by at once: who, the position in the list of requests, and the message. */
export type OnChunkOf = (id: string, index: number, chunk: Chunk) => number | void;

/** Tokens used by a completion. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [detail: string]: Value;
}

/** What a model answered. */
export interface Completion {
  /** Its text. */
  content: string;
  reasoning_content?: string;
  tool_calls?: ToolCall[];
  usage?: Usage;
  finish_reason?: string;
  model?: string;
  [detail: string]: Value;
}
