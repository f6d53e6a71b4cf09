/** What a model said and what its tools did, in the documented shapes. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { Usage } from "./message.ts";

/** What a tool did, as hooks are told. */
export interface ToolResponse {
  readonly toolcall_id: string;
  readonly server: string;
  readonly tool: string;
  readonly arguments?: Json;
  readonly result?: Json;
  readonly error?: string;
}

/** What the model said, as hooks are told. */
export interface Completion {
  readonly content: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly JsonObject[];
  readonly usage?: Usage;
  readonly model: string;
  readonly finish_reason: string;
}
