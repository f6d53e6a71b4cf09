/**
 * The contract of a tool: what the model may call and what the loop promises it.
 *
 * T1  Arguments match `parameters` before `execute` sees them.
 * T2  `signal` aborts with the run; a tool that ignores it is abandoned, and whatever it reports later is dropped.
 * T3  Only `content` reaches the model; `details` are for programs that read events.
 */

import { errorText, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import { type InputContent, textContent } from "@mesh/llm";

import type { Delegation } from "./delegation.ts";

/** What a tool gives back. */
export interface ToolOutput {
  readonly content: readonly InputContent[];
  readonly details?: Json;
}

/** What a tool knows about its call. */
export interface ToolContext {
  readonly callId: string;
  readonly toolName: string;
  readonly runId: string;
  readonly signal: AbortSignal;
  /** Shows a partial result; an event only, never part of the context. */
  onUpdate(partial: ToolOutput): void;
  /** Shows a line of progress; an event only. */
  onProgress(text: string): void;
  /** What a tool needs that starts runs of its own. */
  readonly delegation: Delegation;
}

/** Something the model may call. */
export interface AgentTool {
  readonly name: string;
  /** For people; the name where absent. */
  readonly label?: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
  /** Absent: the application runs it, and the run waits for the result. */
  execute?(args: JsonObject, context: ToolContext): Promise<ToolOutput>;
  /** Whether a person must approve a call before it runs. */
  needsApproval?: boolean | ((args: JsonObject) => boolean);
  /** Whether a call may simply run again when its outcome was lost with its process. */
  readonly repeatable?: boolean;
  /** Lines of a result that enter the history; `Infinity` switches the cap off for this tool. */
  readonly maxOutputLines?: number;
}

/** A text argument; empty where it is absent. */
export function textArgument(args: JsonObject, name: string): string {
  const value = args[name];
  return typeof value === "string" ? value : "";
}

/** A result of one text. */
export function textOutput(text: string, details?: Json): ToolOutput {
  return { content: [textContent(text)], ...(details === undefined ? {} : { details }) };
}

/** The tool could not do it; the model reads `text`. */
export function toolFailed(text: string, cause?: unknown): MeshError {
  return new MeshError("failed_precondition", text, cause === undefined ? {} : { cause });
}

/** The arguments passed the schema but make no sense. */
export function invalidArguments(text: string): MeshError {
  return new MeshError("invalid_argument", text);
}

/** What the tool should act on does not exist. */
export function toolNotFound(text: string): MeshError {
  return new MeshError("not_found", text);
}

/** The tool stopped because its call was cancelled. */
export function toolCancelled(text: string = CANCELLED_TEXT): MeshError {
  return new MeshError("cancelled", text);
}

/** The result of a call that was cancelled. */
export const CANCELLED_TEXT = "The call was cancelled before it finished.";

/** What the model reads when a tool throws, whatever it throws. */
export function failureText(thrown: unknown): string {
  let text: string;
  try {
    text = errorText(thrown);
  } catch {
    // A thrown object may refuse even to be a string.
    text = "";
  }
  return text.trim() === "" ? "The tool failed without saying why." : text;
}

/** Makes a thrown value of any kind the output of a failed call. */
export function failureOutput(thrown: unknown): ToolOutput {
  return textOutput(failureText(thrown).slice(0, MAX_FAILURE_CHARS));
}

const MAX_FAILURE_CHARS = 100_000;

/** Checks what a tool gave; throws when it is not an output, so that a broken tool cannot break a history. */
export function checkedOutput(value: unknown, toolName: string): ToolOutput {
  const output = value as Partial<ToolOutput> | null | undefined;
  const content = output?.content;
  if (!Array.isArray(content) || !content.every(isInputContent)) {
    throw toolFailed(`The tool ${toolName} is broken: it must return {content: [{type: "text", text}]}.`);
  }
  return value as ToolOutput;
}

function isInputContent(part: unknown): boolean {
  const content = part as Partial<InputContent> | null;
  if (content?.type === "text") return typeof content.text === "string";
  return content?.type === "image" && typeof content.data === "string" && typeof content.mimeType === "string";
}
