/**
 * The texts the loop itself puts into a history, so that anyone can tell them from what a person wrote.
 *
 * A limit stop is partial success; a loop abort, a cancellation and a failed extension are failures.
 */

/** Opens the message that ends a run at a turn, token or time limit. */
export const LIMIT_STOP_PREFIX = "[Agent stopped: limit] ";
/** Opens the message that ends a run stuck on one repeated call. */
export const LOOP_STOP_PREFIX = "[Agent stopped: repeated call] ";
/** Opens the message that ends a run because an extension asked for it. */
export const EXTENSION_STOP_PREFIX = "[Agent stopped: extension] ";
/** The message that ends a cancelled run. */
export const CANCELLED_MARKER = "[Agent stopped: cancelled]";
/** Opens the message that asks the model to try something else than the same call again. */
export const NUDGE_PREFIX = "[Agent note] ";
/** Opens a message an extension sends when the model wanted to stop; its name follows. */
export const EXTENSION_MESSAGE_PREFIX = "[Extension message: ";
/** Opens the error of a run that a required extension failed; its name follows. */
export const EXTENSION_FAILED_PREFIX = "[Extension failed: ";
/** Opens the one-message stand-in for an old turn. */
export const SUMMARY_PREFIX = "[Earlier turn] ";
/** Opens the briefing a model wrote about the dropped part of a history. */
export const BRIEFING_PREFIX = "[Earlier conversation, summarized]\n";
/** Stands where messages were dropped. It has no digits: a count would change the bytes of a cached prefix. */
export const COMPACTION_MARKER = "[Earlier messages were removed to fit the context window]";

const INJECTED: readonly string[] = [
  LIMIT_STOP_PREFIX,
  LOOP_STOP_PREFIX,
  EXTENSION_STOP_PREFIX,
  CANCELLED_MARKER,
  NUDGE_PREFIX,
  EXTENSION_MESSAGE_PREFIX,
  SUMMARY_PREFIX,
  BRIEFING_PREFIX,
  COMPACTION_MARKER,
];

/** Whether this user text was written by the loop and not by a person. */
export function isLoopInjected(text: string): boolean {
  return INJECTED.some((prefix) => text.startsWith(prefix));
}

/** Whether this user text stands where earlier messages were dropped. */
export function isCompactionBoundary(text: string): boolean {
  return text.startsWith(COMPACTION_MARKER) || text.startsWith(BRIEFING_PREFIX);
}

/** How a stop marker reads: partial success, failure, or not a stop marker. */
export function stopMarkerKind(text: string): "limit" | "loop" | "cancelled" | "extension" | undefined {
  if (text.startsWith(LIMIT_STOP_PREFIX)) return "limit";
  if (text.startsWith(LOOP_STOP_PREFIX)) return "loop";
  if (text.startsWith(CANCELLED_MARKER)) return "cancelled";
  return text.startsWith(EXTENSION_STOP_PREFIX) ? "extension" : undefined;
}
