/** What an eval is made of: cases, what they claim, and where they were written. */

import type { Json, JsonObject } from "@mesh/kernel";

/** A message of an input, as it is sent to the assistant. */
export interface InputMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: Json;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly JsonObject[];
}

/** Fields that every assertion has. */
interface AssertionBase {
  readonly negate?: boolean;
  /** Said instead of the framework's own words when it does not hold. */
  readonly message?: string;
}

/** How texts are compared. */
export interface TextOptions {
  readonly ignoreCase?: boolean;
  readonly normalize?: "nfc" | "nfkc" | "loose";
}

/** Which tool was called, and with what. */
export interface ToolExpectation {
  readonly name: string;
  readonly arguments?: JsonObject;
}

/** One claim about an answer. */
export type Assertion = AssertionBase &
  (
    | { readonly type: "equals"; readonly value: Json }
    | { readonly type: "contains" | "not_contains"; readonly value: string; readonly options?: TextOptions }
    | { readonly type: "json_path"; readonly path: string; readonly value: Json }
    | { readonly type: "regex"; readonly value: string }
    | { readonly type: "type"; readonly value: JsonTypeName; readonly path?: string }
    | { readonly type: "schema"; readonly value: JsonObject | boolean; readonly path?: string }
    | { readonly type: "tool_called"; readonly anyOf: readonly ToolExpectation[] }
    | { readonly type: "tool_result"; readonly tool: string; readonly result?: Json }
    | { readonly type: "script"; readonly script: string; readonly value?: Json }
    | {
        readonly type: "agent";
        readonly agentId: string;
        readonly criteria: Json;
        readonly connector?: string;
        readonly metadata?: JsonObject;
      }
  );

/** Name of an assertion. */
export type AssertionType = Assertion["type"];

/** What `type` tells apart. */
export type JsonTypeName = "string" | "number" | "boolean" | "array" | "object" | "null";

/** A step of a dialogue that must be seen. */
export interface Checkpoint {
  readonly id: string;
  readonly description?: string;
  readonly assertions: readonly Assertion[];
  /** Checkpoints that must have been reached before. */
  readonly after: readonly string[];
  readonly isRequired: boolean;
}

/** The assistant that plays the user. */
export interface Simulator {
  readonly agentId: string;
  readonly metadata: JsonObject;
  readonly connector?: string;
}

/** What makes a case a dialogue. */
export interface Dialogue {
  readonly simulator: Simulator;
  readonly checkpoints: readonly Checkpoint[];
  readonly maxTurns: number;
}

/** Where something was written. */
export interface SourcePlace {
  /** Path as the user gave it; empty for what was made in process. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
}

/** One case. */
export interface EvalCase {
  readonly id: string;
  readonly messages: readonly InputMessage[];
  readonly assertions: readonly Assertion[];
  readonly dialogue?: Dialogue;
  readonly user?: string | undefined;
  readonly team?: string | undefined;
  /** For hooks and validators; the assistant does not see it. */
  readonly metadata: JsonObject;
  /** Call options of the assistant, `metadata` taken out. */
  readonly options: JsonObject;
  /** The assistant sees it as `ctx.metadata`. */
  readonly contextMetadata: JsonObject;
  readonly timeoutMs?: number | undefined;
  readonly isSkipped: boolean;
  readonly before?: string;
  readonly after?: string;
  /** The case as it was written, for hooks. */
  readonly raw: JsonObject;
  /** Digest of all that is written in it: what makes it this case and no other. */
  readonly hash: string;
  readonly place: SourcePlace;
}

/** How often a dialogue may go back and forth unless the case says otherwise. */
export const DEFAULT_MAX_TURNS = 20;
