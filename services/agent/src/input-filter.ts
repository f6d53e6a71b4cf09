/** Screens what a person sends before the run begins. */

import { errorText } from "@mesh/kernel";
import { textContent, type UserMessage } from "@mesh/llm";

import { type AgentMessage, messageText } from "./message.ts";

/** What a filter decides about a text. */
export type InputDecision =
  | { readonly kind: "pass" }
  /** Passes, with a note for the model. */
  | { readonly kind: "warn"; readonly text: string }
  | { readonly kind: "reject"; readonly reason: string };

/** Judges all text of a run's prompts, joined by newlines; images are not seen. */
export type InputFilter = (text: string, signal: AbortSignal) => InputDecision | Promise<InputDecision>;

/** What all filters together decided. */
export type FilterVerdict =
  | { readonly kind: "pass"; readonly warnings: readonly string[] }
  | { readonly kind: "reject"; readonly reason: string };

/** The text that filters judge. */
export function promptText(prompts: readonly AgentMessage[]): string {
  return prompts
    .filter((message) => message.role === "user")
    .map((message) => messageText(message))
    .join("\n");
}

/** Runs filters in order; the first rejection wins and drops the warnings, a filter that throws rejects. */
export async function runFilters(
  filters: readonly InputFilter[],
  text: string,
  signal: AbortSignal,
): Promise<FilterVerdict> {
  const warnings: string[] = [];
  for (const filter of filters) {
    let decision: InputDecision;
    try {
      decision = await filter(text, signal);
    } catch (thrown) {
      return { kind: "reject", reason: `an input filter failed: ${errorText(thrown)}` };
    }
    if (decision.kind === "reject") return decision;
    if (decision.kind === "warn") warnings.push(decision.text);
  }
  return { kind: "pass", warnings };
}

/** The prompts with warnings as one more text of the last user message. */
export function withWarnings(prompts: readonly AgentMessage[], warnings: readonly string[]): readonly AgentMessage[] {
  if (warnings.length === 0) return prompts;
  const last = prompts.findLastIndex((message) => message.role === "user");
  return prompts.map((message, index) => {
    if (index !== last || message.role !== "user") return message;
    const warned: UserMessage = { ...message, content: [...message.content, textContent(warnings.join("\n"))] };
    return warned;
  });
}
