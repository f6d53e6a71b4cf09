/** A model call as the demo model takes it. */

import type { JsonObject } from "@mesh/kernel";

/** One message to a model. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
}

/** One call. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** JSON Schema function tools, by name. */
  readonly tools?: readonly { readonly name: string; readonly description: string; readonly parameters: JsonObject }[];
}

/** What a streaming model says, in order; always ends with one `finish`, or throws a MeshError. */
export type ChatEvent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | {
      readonly kind: "tool_call";
      readonly index: number;
      readonly id?: string;
      readonly name?: string;
      readonly arguments: string;
    }
  | {
      readonly kind: "finish";
      /** stop, length, tool_calls, content_filter. */
      readonly reason: string;
      readonly usage?: {
        readonly prompt_tokens: number;
        readonly completion_tokens: number;
        readonly total_tokens: number;
      };
    };

/** Answers one request; aborting `signal` rejects with code `cancelled`. */
export type StreamChat = (request: ChatRequest, signal: AbortSignal) => AsyncIterable<ChatEvent>;
