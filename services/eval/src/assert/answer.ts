/** What an assistant answered, as assertions look at it. */

import { isObject, type Json } from "@mesh/kernel";

import type { CaseTrace, Spent, ToolCall } from "../result.ts";

/** See the file comment. */
export interface Answer {
  /** What Next made of it, else what the model said, else what a tool said. */
  readonly output: Json;
  /** What the model said. */
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly trace: CaseTrace;
  readonly usage?: Spent;
}

/** The output of an answer. */
export function outputOf(next: Json | undefined, text: string, toolCalls: readonly ToolCall[]): Json {
  if (next !== undefined && next !== null) return next;
  if (text !== "") return text;
  for (const { result } of toolCalls) {
    if (isObject(result) && typeof result["message"] === "string") return result["message"];
  }
  return toolCalls.map(({ tool, error }) => `[${tool}: ${error === undefined ? "success" : "failed"}]`).join("\n");
}

/** What a validator reads: the answer, and what tools said to the user. */
export function judgedText({ output, text, toolCalls }: Answer): Json {
  const said = toolCalls.flatMap(({ result }) =>
    isObject(result) && typeof result["message"] === "string" ? [result["message"]] : [],
  );
  const own = text !== "" ? text : typeof output === "string" ? output : undefined;
  if (own === undefined && said.length === 0) return output;
  return [...(own === undefined || said.includes(own) ? [] : [own]), ...said].join("\n");
}

/** An output as text. */
export function textOfOutput(output: Json): string {
  if (output === null) return "";
  return typeof output === "string" ? output : JSON.stringify(output);
}
