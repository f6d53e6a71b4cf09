/** What a library makes of a fixture, in the few words that all libraries share. */

import type { WireCase } from "@mesh/llm/testing";

/** What came out of one answer. */
export interface Verdict {
  readonly kind: "answer" | "error" | "aborted";
  readonly text: string;
  /** Calls that the library would run, with their arguments. */
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  /** Problems in the library's own terms, where the sheet can look closer. */
  readonly problems?: readonly string[];
}

/** A library under test. */
export interface SheetClient {
  readonly name: string;
  readonly protocols: readonly string[];
  run(wire: WireCase, baseUrl: string, requests: () => number): Promise<Verdict>;
}

/** What is wrong with a verdict; the same rules for every library. */
export function wrongs(wire: WireCase, verdict: Verdict): readonly string[] {
  const { expect } = wire;
  const found: string[] = [...(verdict.problems ?? [])];
  const kind = expectedKind(wire);
  // A refusal may be told as a failure or as an answer; only the closer look at ours tells them apart.
  const isRefusal = expect.stopReason === "refusal";
  if (!isRefusal && verdict.kind !== kind) found.push(`${verdict.kind}, not ${kind}`);
  const hasText = kind === "answer" && !isRefusal && expect.text !== undefined;
  if (hasText && verdict.text !== expect.text) found.push(`text ${JSON.stringify(verdict.text)}`);
  const seen = runnable(verdict.calls);
  const wanted = runnable((expect.calls ?? []).filter((call) => call.malformed === undefined));
  // What a failed answer would run counts as well: nothing of it may.
  const isTold = expect.calls !== undefined || kind !== "answer";
  if (isTold && seen !== wanted && verdict.kind === "answer") found.push(`would run ${seen === "" ? "nothing" : seen}`);
  return found;
}

function expectedKind({ expect }: WireCase): Verdict["kind"] {
  if (expect.errorClass !== undefined) return "error";
  return expect.stopReason === "aborted" ? "aborted" : "answer";
}

function runnable(calls: readonly { readonly name: string; readonly arguments?: unknown }[]): string {
  return calls.map((call) => `${call.name} ${JSON.stringify(call.arguments)}`).join(", ");
}
