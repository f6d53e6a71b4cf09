/**
 * The port between the agent loop and the wire: what one model call needs, what it tells while it runs, who serves it.
 *
 * V1  `stream` is one attempt. It resolves with a complete message (`stop`, `length`, `toolUse`, `refusal`) or rejects
 *     with a {@link ProviderError} that carries what was said before; it never does both, and never resolves half-done.
 * V2  Events: `start` first, deltas in order, then exactly one `done` or `error`; none after `stream` settles.
 * V3  Nothing here retries; `streamWithRetry` is the one owner of retries.
 */

import { type JsonObject, MeshError } from "@mesh/kernel";

import type { ApiProtocol, AssistantMessage, Message, Usage } from "./message.ts";
import type { ErrorClass, ProviderError } from "./provider-error.ts";

/** How hard a model should think; `off` sends nothing. */
export type ThinkingLevel = "off" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Rates in dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

/** What a model costs; prompts above a tier's size pay that tier's rates for everything. */
export interface ModelCost extends Rates {
  readonly tiers?: readonly { readonly above: number; readonly rates: Rates }[];
}

/** How a server that speaks OpenAI's protocols departs from them; absent flags mean the documented behaviour. */
export interface OpenAiCompat {
  /** System prompt as `developer` instead of `system`. */
  readonly developerRole?: boolean;
  /** Accepts `reasoning_effort`. */
  readonly reasoningEffort?: boolean;
  /** Highest level the model accepts. */
  readonly maxReasoningEffort?: ThinkingLevel;
  /** How thinking is switched on where `reasoning_effort` does not. */
  readonly thinkingFormat?: "deepseek" | "zai" | "qwen" | "openrouter" | "chat-template";
  /** Accepts `stream_options.include_usage`. */
  readonly usageInStream?: boolean;
  readonly maxTokensField?: "max_tokens" | "max_completion_tokens";
  /** Tool results need the tool's name. */
  readonly toolResultName?: boolean;
  /** A user message after tool results needs an assistant message between them. */
  readonly assistantAfterToolResult?: boolean;
  /** Sends `prompt_cache_key`. */
  readonly promptCacheKey?: boolean;
  /** Asks for encrypted reasoning and replays it (Responses). */
  readonly encryptedReasoning?: boolean;
  /** Name of the field that reasoning is replayed in; none means it is not replayed. */
  readonly replayReasoning?: "reasoning_content" | "reasoning" | "reasoning_details";
  /** Tool-call ids must have this shape. */
  readonly toolCallIds?: "any" | "nine-alphanumeric";
  /** Accepts `strict` in tools and `response_format: json_schema`; false falls back to `json_object`. */
  readonly jsonSchema?: boolean;
  /** Anthropic-style `cache_control` marks in messages (OpenRouter). */
  readonly cacheControl?: boolean;
}

/** How Anthropic-compatible servers and older models differ. */
export interface AnthropicCompat {
  /** `thinking: adaptive` with an effort instead of a token budget. */
  readonly adaptiveThinking?: boolean;
  /** The key goes in `authorization: Bearer`. */
  readonly bearerAuth?: boolean;
  /** Understands `output_config.format`; else a tool is forced. */
  readonly nativeStructuredOutput?: boolean;
  /** Cache entries live an hour instead of five minutes. */
  readonly longCache?: boolean;
}

/** How Gemini models differ. */
export interface GoogleCompat {
  /** `thinkingLevel` (Gemini 3) instead of `thinkingBudget`. */
  readonly thinkingLevel?: boolean;
}

/** Everything that does not change between calls to one model. */
export interface ModelConfig {
  readonly id: string;
  readonly name: string;
  readonly api: ApiProtocol;
  /** Who serves it, such as `anthropic`, `groq`, `local`. */
  readonly provider: string;
  /** Id of the connector that it came from, for messages to people. */
  readonly connector?: string;
  /** Absent: the provider's public address. */
  readonly baseUrl?: string;
  readonly reasoning: boolean;
  /** Tokens. */
  readonly contextWindow: number;
  /** Tokens of one answer. */
  readonly maxTokens: number;
  /** Null: not known, so no cost is ever computed from it. */
  readonly cost: ModelCost | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the key goes when not in the protocol's usual header. */
  readonly authMode?: "bearer" | "api-key" | "x-api-key";
  /** Added to, or replacing, fields of every request body; null removes one. */
  readonly extraBody?: JsonObject;
  /** False: the model answers 400 to any temperature. */
  readonly temperatureAdjustable?: boolean;
  /** False: images are left out, with a note. */
  readonly vision?: boolean;
  /** False: the server answers in one JSON document. */
  readonly streaming?: boolean;
  readonly compat?: {
    readonly openai?: OpenAiCompat;
    readonly anthropic?: AnthropicCompat;
    readonly google?: GoogleCompat;
  };
}

/** A tool as the model sees it. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
}

/** Whether and which tool the model must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly name: string };

/** Prompt-cache hints; `enabled: false`, `disabled` and a manual all-false send no hint of any kind. */
export interface CacheConfig {
  readonly enabled: boolean;
  readonly strategy:
    | "auto"
    | "disabled"
    | { readonly system: boolean; readonly tools: boolean; readonly messages: boolean };
  /** Routes calls of one conversation to the same cache. */
  readonly sessionKey?: string;
}

/** The shape that an answer must have. */
export interface ResponseFormat {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema. */
  readonly schema: JsonObject;
}

/** Six bounds on a model call, in milliseconds; all are on by default. */
export interface Timeouts {
  /** From sending the request to the first byte of the body. */
  readonly firstByteMs: number;
  /** Between two reads of the body; keep-alives count as life. */
  readonly idleMs: number;
  /** Between two events that say something; keep-alives do not count. */
  readonly progressMs: number;
  /** One attempt. */
  readonly attemptMs: number;
  /** All attempts and the waits between them. */
  readonly totalMs: number;
  /** For trailing bytes once the answer is complete. */
  readonly drainMs: number;
}

/** When and how often a failed attempt is repeated. */
export interface RetryConfig {
  /** Repeats after the first attempt; 0 disables. */
  readonly maxRetries: number;
  readonly firstDelayMs: number;
  readonly factor: number;
  readonly maxDelayMs: number;
  /** Share of a delay that randomness may add or take. */
  readonly jitter: number;
}

/** One model call. */
export interface StreamConfig {
  readonly model: ModelConfig;
  /** Empty: none. */
  readonly systemPrompt: string;
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly toolChoice?: ToolChoice;
  readonly thinking?: ThinkingLevel;
  /** Empty or absent: the protocol's own default, such as none for a local server. */
  readonly apiKey?: string;
  /** Tokens; wins over the model's. */
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly cache?: CacheConfig;
  readonly responseFormat?: ResponseFormat;
  /** Like `ModelConfig.extraBody`, for this call; wins over it. */
  readonly extraBody?: JsonObject;
  readonly timeouts?: Partial<Timeouts>;
  readonly retry?: Partial<RetryConfig>;
}

/** What a call tells while it runs. */
export type StreamEvent =
  /** A placeholder with empty content: the answer has begun. */
  | { readonly type: "start"; readonly message: AssistantMessage }
  | { readonly type: "textDelta"; readonly contentIndex: number; readonly delta: string }
  | { readonly type: "thinkingDelta"; readonly contentIndex: number; readonly delta: string }
  | {
      readonly type: "toolCallDelta";
      readonly contentIndex: number;
      /** Empty until the provider says it. */
      readonly id: string;
      readonly name: string;
      /** Text of the arguments. */
      readonly delta: string;
    }
  | { readonly type: "usage"; readonly usage: Usage }
  /** Something was dropped or not understood; said once per kind. */
  | { readonly type: "warning"; readonly text: string }
  /** Only from `streamWithRetry`: the attempt failed and another follows. */
  | {
      readonly type: "retry";
      /** Number of the attempt that failed, from 1. */
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly delayMs: number;
      readonly errorClass: ErrorClass;
      readonly errorMessage: string;
      /** What the failed attempt told of its cost; it is in no message that follows. */
      readonly usage: Usage;
    }
  | { readonly type: "done"; readonly message: AssistantMessage }
  /** `message` is what was said before, as an `error` or `aborted` message. */
  | { readonly type: "error"; readonly error: ProviderError; readonly message: AssistantMessage };

/** Takes events in order; must not throw. */
export type StreamSink = (event: StreamEvent) => void;

/** One wire protocol; see V1–V3. */
export interface StreamProvider {
  readonly protocol: ApiProtocol;
  stream(config: StreamConfig, sink: StreamSink, signal: AbortSignal): Promise<AssistantMessage>;
}

/** Which provider serves which protocol. */
export class ProviderRegistry {
  readonly #providers = new Map<ApiProtocol, StreamProvider>();

  constructor(providers: Iterable<StreamProvider> = []) {
    for (const provider of providers) this.register(provider);
  }

  /** Adds a provider, replacing the one of the same protocol. */
  register(provider: StreamProvider, protocol: ApiProtocol = provider.protocol): this {
    this.#providers.set(protocol, provider);
    return this;
  }

  has(protocol: ApiProtocol): boolean {
    return this.#providers.has(protocol);
  }

  get(protocol: ApiProtocol): StreamProvider | undefined {
    return this.#providers.get(protocol);
  }

  /** The protocols that are served, in order of registration. */
  list(): readonly ApiProtocol[] {
    return [...this.#providers.keys()];
  }

  /** The provider of a protocol; throws `unimplemented` when there is none. */
  resolve(protocol: ApiProtocol): StreamProvider {
    const provider = this.#providers.get(protocol);
    if (provider !== undefined) return provider;
    const known = this.list().length === 0 ? "none is registered" : `registered: ${this.list().join(", ")}`;
    throw new MeshError("unimplemented", `no provider speaks ${protocol}; ${known}`);
  }

  /** Streams through the provider of `config.model.api`. */
  stream(config: StreamConfig, sink: StreamSink, signal: AbortSignal): Promise<AssistantMessage> {
    return this.resolve(config.model.api).stream(config, sink, signal);
  }
}
