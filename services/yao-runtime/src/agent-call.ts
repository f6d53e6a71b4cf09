/** `ctx.agent`: calls of other assistants. */

import type { CreateResponse } from "./hook.ts";
import type { Completion, Conversation, Message, OnChunk, OnChunkOf } from "./message.ts";
import type { Value, Values } from "./value.ts";

/** What a called assistant leaves out. */
export interface SkipOptions {
  /** The conversation so far. */
  history?: boolean;
  trace?: boolean;
  /** Showing its messages to the person. */
  output?: boolean;
  keyword?: boolean;
  search?: boolean;
  content_parsing?: boolean;
}

/** How an assistant is called. */
export interface CallOptions {
  /** Another model than its own. */
  connector?: string;
  mode?: "chat" | "task" | (string & {});
  /** Handed to its hooks. */
  metadata?: Values;
  skip?: SkipOptions;
  search?: boolean;
  disable_global_prompts?: boolean;
}

/** One of several calls; their messages are never shown to the person. */
export interface AgentRequest {
  agent: string;
  messages: Message[];
  options?: CallOptions;
}

/** Everything a run of an assistant came to. */
export interface Response {
  request_id: string;
  context_id: string;
  trace_id: string;
  chat_id: string;
  assistant_id: string;
  /** What its Create hook returned. */
  create?: CreateResponse;
  /** The `data` its Next hook returned; all it returned when there was no `data`; null without a Next hook. */
  next?: Value;
  completion?: Completion;
}

/** How a call went. */
export interface AgentResult {
  agent_id: string;
  response?: Response;
  /** Text of the answer. */
  content?: string;
  /** Why there is no answer; calls never throw. */
  error?: string;
}

/** Other assistants. */
export interface Agent {
  /**
   * Calls an assistant and waits for its answer, which the person sees unless `skip.output` is set.
   * @example
   * const { content, error } = ctx.agent.Call("translator", [{ role: "user", content: "Hallo" }], { skip: { output: true } });
   */
  Call(agent: string, messages: Conversation, options?: CallOptions & { onChunk?: OnChunk }): AgentResult;
  /**
   * The same as `Call`.
   * @example
   * const { content } = ctx.agent.Stream("translator", messages);
   */
  Stream(agent: string, messages: Conversation, options?: CallOptions & { onChunk?: OnChunk }): AgentResult;
  /**
   * Calls several and waits for all; results come in the order of the requests.
   * @example
   * const drafts = ctx.agent.All([{ agent: "short", messages }, { agent: "long", messages }]);
   */
  All(requests: AgentRequest[], options?: { onChunk?: OnChunkOf }): AgentResult[];
  /**
   * The first that succeeds; the others are cancelled.
   * @example
   * const answer = ctx.agent.Any([{ agent: "a", messages }, { agent: "b", messages }]).find((it) => it && !it.error);
   */
  Any(requests: AgentRequest[], options?: { onChunk?: OnChunkOf }): AgentResult[];
  /**
   * The first that ends, well or not; the others are cancelled.
   * @example
   * const first = ctx.agent.Race([{ agent: "a", messages }, { agent: "b", messages }]).find((it) => it);
   */
  Race(requests: AgentRequest[], options?: { onChunk?: OnChunkOf }): AgentResult[];
}
