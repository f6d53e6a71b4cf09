/**
 * What a scenario is: a server with a script, a small program that is written once and played by every library that can,
 * and what must be true afterwards of what was sent, of what was run and of the history.
 */

import type { JsonObject } from "@mesh/kernel";
import type { ApiProtocol } from "@mesh/llm";
import { wireFormFaults } from "@mesh/llm/testing";

import type { Answer } from "./script.ts";

/** What a program may need of a library beyond prompts and tools. */
export type Ability = "abort" | "gate" | "turnHook" | "seed" | "approval" | "external" | "compaction" | "switchModel";

/** A call in a history. */
export interface EntryCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** A message of any library's history. */
export type Entry =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly EntryCall[]; readonly error?: string }
  | { readonly role: "result"; readonly callId: string; readonly name: string; readonly text: string };

/** How a prompt ended. */
export interface End {
  readonly kind: "completed" | "failed" | "cancelled" | "waiting";
  readonly error?: string;
}

/** A tool of a scenario; without `run`, the application answers its calls. */
export interface StageTool {
  readonly name: string;
  readonly needsApproval?: boolean;
  readonly run?: (args: JsonObject, signal: AbortSignal) => string | Promise<string>;
}

/** What a conversation starts with. */
export interface SessionOptions {
  readonly tools?: readonly StageTool[];
  /** An earlier history. */
  readonly seed?: readonly Entry[];
  /** Asked before each call. */
  readonly gate?: (callId: string) => void | Promise<void>;
  /** Called before each request. */
  readonly beforeTurn?: (turn: number) => void;
  /** Tokens that the model can read. */
  readonly contextWindow?: number;
}

/** A library's conversation with one model. */
export interface Session {
  prompt(text: string): Promise<End>;
  abort(): void;
  history(): readonly Entry[];
  /** Ids of the calls that wait for somebody. */
  waiting(): readonly string[];
  /** Goes on with approvals (true) or results. */
  answer(answers: Readonly<Record<string, string | true>>): Promise<End>;
  switchModel(id: string): void;
  /** How often the history was compacted, and how often that was told. */
  compactions(): { readonly done: number; readonly told: number };
}

/** A library under test. */
export interface Library {
  readonly name: string;
  readonly protocols: readonly ApiProtocol[];
  readonly abilities: readonly Ability[];
  open(place: Place, options: SessionOptions): Session;
}

/** Where a session's model is. */
export interface Place {
  readonly protocol: ApiProtocol;
  readonly baseUrl: string;
}

/** What a program works with. */
export interface Stage {
  open(options?: SessionOptions): Session;
  /** Notes that something happened: tools that ran, in order. */
  did(what: string): void;
  readonly done: readonly string[];
  /** Requests so far. */
  requests(): number;
  /** Resolves when something was noted; never, where it is not. */
  until(what: string): Promise<void>;
}

/** What a play left behind. */
export interface Seen {
  readonly requests: readonly JsonObject[];
  readonly done: readonly string[];
  readonly history: readonly Entry[];
  readonly ends: readonly End[];
  readonly facts: Readonly<Record<string, unknown>>;
}

/** What a program tells when it is over. */
export interface Played {
  readonly session: Session;
  readonly ends: readonly End[];
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** One row of the sheet. */
export interface Scenario {
  /** Number of the public report. */
  readonly row: number;
  readonly name: string;
  readonly title: string;
  readonly protocol: ApiProtocol;
  readonly needs: readonly Ability[];
  /** True where the history may keep a call without a result, as long as every request is sound. */
  readonly isHistoryFree?: boolean;
  /** Answers of the server, in order; the last one again and again. */
  readonly answers: readonly Answer[];
  play(stage: Stage): Promise<Played>;
  /** What is wrong, beyond what is wrong for every scenario. */
  judge(seen: Seen): readonly string[];
}

/** Everything that is wrong with a play; the same rules for every library. */
export function scenarioFaults(scenario: Scenario, seen: Seen): readonly string[] {
  const requests = seen.requests.flatMap((body, index) =>
    wireFormFaults(scenario.protocol, body).map((fault) => `request ${index + 1}: ${fault}`),
  );
  const mayKeep = scenario.isHistoryFree === true || seen.ends.at(-1)?.kind === "waiting";
  return [...requests, ...(mayKeep ? [] : orphans(seen.history)), ...scenario.judge(seen)];
}

/** Calls of a history that are not answered by what directly follows. */
function orphans(history: readonly Entry[]): readonly string[] {
  return history.flatMap((entry, index) => {
    if (entry.role !== "assistant") return [];
    const after = history.slice(index + 1);
    const end = after.findIndex((each) => each.role !== "result");
    const results = (end < 0 ? after : after.slice(0, end)).flatMap((each) =>
      each.role === "result" ? [each.callId] : [],
    );
    const open = entry.calls.filter((call) => results.filter((id) => id === call.id).length !== 1);
    return open.map((call) => `the history leaves call ${call.id} without its one result`);
  });
}

/** The faults among claims that must hold. */
export function broken(claims: Readonly<Record<string, boolean>>): readonly string[] {
  return Object.entries(claims).flatMap(([claim, holds]) => (holds ? [] : [`not so: ${claim}`]));
}

/** The text of a result in a history; undefined when the call has none. */
export function resultText(history: readonly Entry[], callId: string): string | undefined {
  const entry = history.findLast((each) => each.role === "result" && each.callId === callId);
  return entry?.role === "result" ? entry.text : undefined;
}
