/** `ctx`: everything a hook can see and do. */

import type { Agent } from "./agent-call.ts";
import type { Computer, Sandbox, Workspace } from "./computer.ts";
import type { Llm } from "./llm.ts";
import type { Mcp } from "./mcp.ts";
import type { Memory, Space } from "./memory.ts";
import type { OutputMessage } from "./message.ts";
import { outside } from "./outside.ts";
import type { Search } from "./search.ts";
import type { Trace } from "./trace.ts";
import type { Value, Values } from "./value.ts";

/** Who is asking. */
export interface AuthorizedInfo {
  user_id?: string;
  team_id?: string;
  constraints?: Values;
  [detail: string]: Value;
}

/** The program somebody is asking with. */
export interface ClientInfo {
  type: string;
  user_agent: string;
  ip: string;
}

/**
 * The first argument of every hook.
 *
 * Calls look synchronous: `ctx.agent.Call(…)` returns the answer. Meanwhile other runs go on.
 */
export interface Context {
  /** The conversation. */
  readonly chat_id: string;
  /** This assistant. */
  readonly assistant_id: string;
  /** Language of the person, such as `en-us`. */
  readonly locale: string;
  readonly theme: string;
  /** How the answer is wanted: `standard`, `cui-web`, … */
  readonly accept: string;
  /** Where on the page the request comes from. */
  readonly route: string;
  /** What kind of caller this is. */
  readonly referer: string;
  readonly client: ClientInfo;
  /** What the caller sent along, and what `Create` returned as `metadata`. It may say anything: never trust it. */
  readonly metadata: Values;
  readonly authorized: AuthorizedInfo;

  readonly memory: Memory;
  readonly space: Space;
  readonly trace: Trace;
  readonly mcp: Mcp;
  readonly search: Search;
  readonly agent: Agent;
  readonly llm: Llm;
  readonly sandbox?: Sandbox;
  readonly computer?: Computer;
  readonly workspace?: Workspace;

  /**
   * Shows a whole message and gives its id. Text is short for a message of type `text`.
   * @example
   * ctx.Send("Hello!");
   * ctx.Send({ type: "image", props: { url: "https://example.com/cat.png" } });
   */
  Send(message: string | OutputMessage, block_id?: string): string;
  /**
   * Begins a message that can still change, until `End`.
   * @example
   * const id = ctx.SendStream("Thinking");
   * ctx.Append(id, " hard");
   * ctx.End(id, ".");
   */
  SendStream(message: string | OutputMessage, block_id?: string): string;
  /**
   * Adds text, at `props.content` unless told where.
   * @example
   * const id = ctx.SendStream({ type: "log", props: { content: "" } });
   * ctx.Append(id, "one more line\n", "props.content");
   */
  Append(message_id: string, content: string | OutputMessage, path?: string): string;
  /**
   * Puts another message in place of this one.
   * @example
   * const id = ctx.SendStream({ type: "loading", props: {} });
   * ctx.Replace(id, "Here it is.");
   */
  Replace(message_id: string, message: string | OutputMessage): string;
  /**
   * Adds fields and changes those given.
   * @example
   * const id = ctx.SendStream({ type: "progress", props: { done: 0 } });
   * ctx.Merge(id, { done: 50 }, "props");
   */
  Merge(message_id: string, data: Values, path?: string): string;
  /**
   * Sets one field to any value.
   * @example
   * const id = ctx.SendStream({ type: "result", props: {} });
   * ctx.Set(id, { rows: 10 }, "props.stats");
   */
  Set(message_id: string, data: Value, path: string): string;
  /**
   * Finishes a message, with last words if given.
   * @example
   * ctx.End(ctx.SendStream("Almost"), " done");
   */
  End(message_id: string, final_content?: string): string;
  /**
   * Says that a block is complete.
   * @example
   * const block = ctx.BlockID();
   * ctx.Send("One", block);
   * ctx.Send("Two", block);
   * ctx.EndBlock(block);
   */
  EndBlock(block_id: string): void;
  /**
   * An unused message id: M1, M2, …
   * @example
   * ctx.Send({ type: "text", message_id: ctx.MessageID(), props: { content: "Hi" } });
   */
  MessageID(): string;
  /**
   * An unused block id: B1, B2, …
   * @example
   * ctx.Send("In a bubble of its own", ctx.BlockID());
   */
  BlockID(): string;
  /**
   * An unused thread id: T1, T2, …
   * @example
   * ctx.Send({ type: "text", thread_id: ctx.ThreadID(), props: { content: "Beside the others" } });
   */
  ThreadID(): string;
  /**
   * Gives the context up; done for you when a hook ends.
   * @example
   * ctx.Release();
   */
  Release(): void;
}

/** See {@link Context}. */
export interface ContextConstructor {
  new (options?: Values): Context;
  (options?: Values): Context;
}

/**
 * Another view of the running request, for functions that have no `ctx`: with `memory.context` of its own, until it is released.
 *
 * @example
 * const own = new Context({ locale: "de-de" });
 * try {
 *   own.Send("Guten Tag");
 * } finally {
 *   own.Release();
 * }
 */
export const Context: ContextConstructor = outside("Context");
