/** What one agent is asked and what it answers. */

import type { Assistant } from "@mesh/assistants";
import { type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { ChatMessage } from "./chat-message.ts";
import type { Completion, ToolResponse } from "./completion.ts";
import type { RunInput } from "./run-input.ts";

/** What an agent is asked. */
export interface AgentRequest {
  readonly assistantId: string;
  readonly messages: readonly ChatMessage[];
  /** Call options: connector, model, temperature, skip, search, … */
  readonly options: JsonObject;
}

/** What an agent answers, in the shape of the documented Response. */
export interface AgentResponse {
  readonly request_id: string;
  readonly context_id: string;
  readonly trace_id: string;
  readonly chat_id: string;
  readonly assistant_id: string;
  readonly create?: Json;
  readonly next?: Json;
  readonly completion?: Completion;
  readonly tools?: readonly ToolResponse[];
  /** Why the model was stopped or not asked, for people. */
  readonly note?: string;
}

/** The assistant of that id, or an error that names those there are. */
export function assistantOf(id: string, { app }: RunInput): Assistant {
  const assistant = app.assistants.get(id);
  if (assistant !== undefined) return assistant;
  const ids = [...app.assistants.keys()];
  const known =
    ids.length === 0 ? "the app has none" : `the app has ${ids.slice(0, 10).join(", ")}${ids.length > 10 ? ", …" : ""}`;
  throw new MeshError("not_found", `there is no assistant "${id}"; ${known}`);
}
