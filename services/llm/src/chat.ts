/** A model call as the rest of the system sees it. */

import type { JsonObject } from "@mesh/kernel";

/** A connector whose `$ENV` names and key are resolved. */
export interface Connector {
  readonly id: string;
  /** Wire protocol: openai, demo, ... */
  readonly type: string;
  readonly model: string;
  /** Base URL, such as https://api.openai.com/v1. */
  readonly host?: string;
  readonly key?: string;
  /** Everything else of the connector's options. */
  readonly options: JsonObject;
}

/** One message to a model. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly name?: string;
}

/** One call. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** temperature, max_tokens, top_p, stop, ...; passed through where the protocol knows them. */
  readonly options: JsonObject;
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

/** One wire protocol. Aborting `signal` closes the connection and rejects with code `cancelled`. */
export type StreamChat = (connector: Connector, request: ChatRequest, signal: AbortSignal) => AsyncIterable<ChatEvent>;
