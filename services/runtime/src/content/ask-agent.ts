/** Other agents of the app at work for an agent behind its back: nothing of theirs reaches the stream. */

import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";

/** What is asked of whom. */
export interface AgentQuestion {
  readonly agent: string;
  /** Content of the one user message. */
  readonly content: Json;
  readonly options?: JsonObject;
}

/** Asks an agent; gives what its Next hook made of the answer, else the answer of its model. */
export async function askAgent(
  { agent, content, options = {} }: AgentQuestion,
  context: AgentContext,
  signal: AbortSignal,
): Promise<Json> {
  const fork = context.fork({
    isSilent: true,
    skipTrace: false,
    metadata: {},
    signal: AbortSignal.any([context.signal, signal]),
  });
  const response = await context.shared.callAgent(
    { assistantId: agent, messages: [{ role: "user", content }], options },
    fork,
  );
  return response.next ?? response.completion?.content ?? null;
}

/** An answer as text; throws for an empty one. */
export function answerText(answer: Json, agent: string): string {
  const text = typeof answer === "string" ? answer : answer === null ? "" : JSON.stringify(answer);
  if (text.trim() !== "") return text;
  throw new MeshError("failed_precondition", `${agent} gave no answer`);
}
