/**
 * A suspended run as text: what the loop, the output stream and the stash need to go on in another process.
 *
 * V1  Bounded: a run whose text would be longer than `MAX_SAVED_BYTES` cannot wait and fails.
 * V2  What is read is checked as far as the loop relies on it; a damaged text is an error and never half a run.
 */

import { NO_STATS, readRunState, type RunState, type RunStats, type SharedState } from "@mesh/agent";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import type { ChatMessage } from "./chat-message.ts";
import type { ToolResponse } from "./completion.ts";
import type { OutputPosition } from "./output-stream.ts";

/** See the file comment. */
export interface SavedRun {
  readonly agent: RunState;
  readonly output: OutputPosition;
  /** What of tools' outputs did not fit the history, by key. */
  readonly stash: readonly (readonly [key: string, value: string])[];
  /** What its tools have done until now, for its Next hook. */
  readonly responses?: readonly ToolResponse[];
  /** The agent that waits, and what its Create hook has decided; absent in runs that were saved before there were hooks. */
  readonly call?: SavedCall;
  /** What the agents that it called have spent. */
  readonly spent?: RunStats;
  /** What it has told its user in words. */
  readonly spoken?: string;
  /** What people said to it while it worked. */
  readonly heard?: readonly string[];
  /** How far its trace and its references have counted. */
  readonly counts?: RunCounts;
}

/** Numbers that are unique in a run, beside those of its messages. */
export interface RunCounts {
  readonly nodes: number;
  readonly spaces: number;
  readonly citations: number;
}

/** An agent between its Create hook and the answer of its model. */
export interface SavedCall {
  readonly assistantId: string;
  readonly options: JsonObject;
  readonly messages: readonly ChatMessage[];
  /** As Create returned it. */
  readonly create: Json;
  readonly locale: string;
  readonly theme: string;
  readonly route: string;
  readonly referer: string;
  readonly metadata: JsonObject;
  /** Entries of `ctx.memory.context`. */
  readonly memory?: Json;
}

const VERSION = 1;
const MAX_SAVED_BYTES = 16 * 1024 * 1024;

/** The text of a run. */
export function writeSavedRun(saved: SavedRun): string {
  const text = JSON.stringify({ version: VERSION, ...saved });
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_SAVED_BYTES) return text;
  throw new MeshError(
    "resource_exhausted",
    `the run cannot wait for an answer: its history has ${megabytes(bytes)} MB, and a run that waits may have ${megabytes(MAX_SAVED_BYTES)}; let it read less, or ask earlier`,
  );
}

/** Reads what {@link writeSavedRun} wrote. */
export function readSavedRun(text: string): SavedRun {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damaged(cause);
  }
  if (!isObject(value)) throw damaged();
  if (value["version"] !== VERSION) {
    throw new MeshError("unimplemented", "this device cannot read the saved state of the run; update yao on it");
  }
  const { output, stash, spent, spoken, heard, counts } = value;
  if (!isPosition(output) || !Array.isArray(stash) || !stash.every(isEntry)) throw damaged();
  return {
    agent: readRunState(JSON.stringify(value["agent"] ?? null)),
    output,
    stash,
    ...readCall(value),
    ...(isObject(spent) ? { spent: { ...NO_STATS, ...spent } } : {}),
    ...(typeof spoken === "string" ? { spoken } : {}),
    ...(Array.isArray(heard) ? { heard: heard.filter((text) => typeof text === "string") } : {}),
    ...(isCounts(counts) ? { counts } : {}),
  };
}

/** What is in a stash, oldest first. */
export async function stashEntries(stash: SharedState): Promise<SavedRun["stash"]> {
  const entries: (readonly [string, string])[] = [];
  for (const key of await stash.keys()) entries.push([key, (await stash.get(key)) ?? ""]);
  return entries;
}

function readCall({ call, responses = [] }: Readonly<Record<string, unknown>>): Pick<SavedRun, "call" | "responses"> {
  if (!Array.isArray(responses) || (call !== undefined && !isCall(call))) throw damaged();
  return { responses: responses as readonly ToolResponse[], ...(call === undefined ? {} : { call }) };
}

// Checked as far as the stream relies on it.
function isPosition(value: unknown): value is OutputPosition {
  return isObject(value) && isCount(value["messages"]) && isCount(value["chunks"]);
}

function isCounts(value: unknown): value is RunCounts {
  return isObject(value) && [value["nodes"], value["spaces"], value["citations"]].every(isCount);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isCall(value: unknown): value is SavedCall {
  if (!isObject(value) || typeof value["assistantId"] !== "string" || !Array.isArray(value["messages"])) return false;
  const texts = ["locale", "theme", "route", "referer"];
  return (
    isObject(value["options"]) && isObject(value["metadata"]) && texts.every((key) => typeof value[key] === "string")
  );
}

function isEntry(value: unknown): value is readonly [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
}

function damaged(cause?: unknown): MeshError {
  return new MeshError("data_loss", "the saved state of the run is damaged; run it again with: yao runs retry", {
    cause,
  });
}

function megabytes(bytes: number): string {
  return (bytes / (1024 * 1024)).toFixed(bytes % (1024 * 1024) === 0 ? 0 : 1);
}
