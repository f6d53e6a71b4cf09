/** Gates in front of every tool call: allow, rewrite, deny, or ask a person. */

import { errorText, type JsonObject } from "@mesh/kernel";

import type { AgentMessage } from "./message.ts";
import { type UserRequest, userRequest } from "./user-request.ts";

/** A call that is about to run, as a gate sees it. */
export class ToolCallRequest {
  readonly id: string;
  readonly name: string;
  readonly args: JsonObject;
  readonly messages: readonly AgentMessage[];
  readonly runPrompts: readonly string[];

  /** Buildable outside of a run, so that gates can be tested alone. */
  constructor(call: {
    readonly id: string;
    readonly name: string;
    readonly args: JsonObject;
    readonly messages?: readonly AgentMessage[];
    readonly runPrompts?: readonly string[];
  }) {
    this.id = call.id;
    this.name = call.name;
    this.args = call.args;
    this.messages = call.messages ?? [];
    this.runPrompts = call.runPrompts ?? [];
  }

  /** What the person asked for. */
  userRequest(): UserRequest {
    return userRequest(this.messages, this.runPrompts);
  }

  /** The same call with other arguments. */
  withArgs(args: JsonObject): ToolCallRequest {
    const { id, name, messages, runPrompts } = this;
    return new ToolCallRequest({ id, name, args, messages, runPrompts });
  }
}

/** What a gate decides about a call. */
export type ToolDecision =
  | { readonly kind: "allow" }
  | { readonly kind: "modify"; readonly args: JsonObject }
  | { readonly kind: "deny"; readonly reason: string }
  /** A person must decide; the run waits. */
  | { readonly kind: "ask"; readonly reason: string };

/** Lets a call pass as it is. */
export const ALLOW: ToolDecision = { kind: "allow" };

/** A gate in front of every tool call. */
export interface ToolMiddleware {
  beforeTool(request: ToolCallRequest): ToolDecision | Promise<ToolDecision>;
}

/** The verdict of a whole chain: the arguments to run with, or why not. */
export type ChainVerdict =
  | { readonly kind: "allow"; readonly args: JsonObject; readonly ask?: string }
  | { readonly kind: "deny"; readonly reason: string };

/** What the model reads before the reason of a denial. */
export const DENIED_PREFIX = "Tool call denied: ";

/** Runs a chain in order: later gates see rewritten arguments, the first denial wins, a gate that throws denies. */
export async function runChain(chain: readonly ToolMiddleware[], request: ToolCallRequest): Promise<ChainVerdict> {
  let current = request;
  let ask: string | undefined;
  for (const gate of chain) {
    const decision = await decide(gate, current);
    if (decision.kind === "deny") return decision;
    if (decision.kind === "modify") current = current.withArgs(decision.args);
    if (decision.kind === "ask") ask ??= decision.reason;
  }
  return { kind: "allow", args: current.args, ...(ask === undefined ? {} : { ask }) };
}

async function decide(gate: ToolMiddleware, request: ToolCallRequest): Promise<ToolDecision> {
  try {
    const decision: ToolDecision | undefined = await gate.beforeTool(request);
    if (decision?.kind === "allow" || decision?.kind === "modify" || decision?.kind === "ask") return decision;
    if (decision?.kind === "deny") return decision;
    return { kind: "deny", reason: "the gate gave no decision" };
  } catch (thrown) {
    // Fails closed: a gate that cannot judge must not let a call through.
    return { kind: "deny", reason: `the gate failed: ${errorText(thrown)}` };
  }
}
