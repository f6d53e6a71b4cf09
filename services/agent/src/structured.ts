/** Answers of a required shape: asked for, found in the last text, parsed and validated. */

import { type JsonObject, MeshError } from "@mesh/kernel";
import type { AssistantMessage } from "@mesh/llm";

import type { AgentMessage } from "./message.ts";
import { compileSchema } from "./schema.ts";

/** Why there is no answer of the required shape. */
export class StructuredOutputError extends MeshError {
  override readonly name = "StructuredOutputError";
  /** `provider`: the call failed or was refused; `parse`: `raw` is not JSON of this shape; `noOutput`: no text at all. */
  readonly reason: "provider" | "parse" | "noOutput";
  readonly raw: string | undefined;

  constructor(reason: StructuredOutputError["reason"], message: string, raw?: string, cause?: unknown) {
    super(reason === "provider" ? "unavailable" : "data_loss", message, cause === undefined ? {} : { cause });
    this.reason = reason;
    this.raw = raw;
  }
}

/** The value in the messages of one call; throws a {@link StructuredOutputError}. */
export function structuredOutput(messages: readonly AgentMessage[], schema: JsonObject): unknown {
  const last = messages.findLast((message) => message.role === "assistant");
  if (last === undefined) throw new StructuredOutputError("noOutput", "the model gave no answer");
  if (last.stopReason === "error" || last.stopReason === "aborted" || last.stopReason === "refusal") {
    throw new StructuredOutputError("provider", last.errorMessage ?? `the model's answer ended as ${last.stopReason}`);
  }
  const raw = lastText(messages);
  if (raw === undefined) throw new StructuredOutputError("noOutput", "the model's answer has no text");
  let value: unknown;
  try {
    value = JSON.parse(withoutFences(raw));
  } catch (cause) {
    throw new StructuredOutputError("parse", "the model's answer is not JSON", raw, cause);
  }
  const faults = compileSchema(schema, "the answer").check(value);
  if (faults.length > 0) {
    const message = `the model's answer does not match the schema: ${faults.join("; ")}`;
    throw new StructuredOutputError("parse", message, raw);
  }
  return value;
}

function lastText(messages: readonly AgentMessage[]): string | undefined {
  const answers = messages.filter((message): message is AssistantMessage => message.role === "assistant");
  for (const message of answers.toReversed()) {
    const text = message.content.findLast((part) => part.type === "text" && part.text.trim() !== "");
    if (text?.type === "text") return text.text;
  }
  return undefined;
}

function withoutFences(text: string): string {
  const match = /^\s*```[a-zA-Z]*\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text);
  return match?.[1] ?? text;
}
