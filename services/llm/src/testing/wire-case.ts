/**
 * Wire fixtures: the bytes of an answer, and in writing what must become of them. Loaded from `tests/fixtures/llm`.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { isObject } from "@mesh/kernel";

import { type ApiProtocol, type AssistantMessage, textOf, toolCallsOf } from "../message.ts";
import type { ModelConfig, StreamEvent } from "../provider.ts";

/** What must become of an answer; absent fields are not looked at. */
export interface WireExpectation {
  readonly stopReason?: string;
  readonly errorClass?: string;
  readonly retryable?: boolean;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly redacted?: string;
  readonly calls?: readonly ExpectedCall[];
  readonly kinds?: readonly string[];
  readonly usage?: Readonly<Record<string, number>>;
  /** A part of the error's message. */
  readonly message?: string;
  /** A text note names this tool as one that was not run. */
  readonly note?: string;
  readonly warns?: boolean;
  readonly requests?: number;
  readonly waitedMs?: number;
}

/** A tool call that must be there. */
export interface ExpectedCall {
  readonly name: string;
  readonly id?: string;
  readonly arguments?: unknown;
  readonly malformed?: "truncated" | "invalid";
  readonly metadata?: unknown;
}

/** An answer that comes first and fails. */
export interface FailedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One fixture. */
export interface WireCase {
  readonly protocol: ApiProtocol;
  readonly name: string;
  readonly title: string;
  /** Row of the checklist. */
  readonly row?: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** What the connection does after the body. */
  readonly end: "close" | "reset" | "stall";
  readonly before?: FailedAnswer;
  readonly expect: WireExpectation;
}

/** What came out of an answer. */
export interface WireOutcome {
  readonly message: AssistantMessage;
  readonly events: readonly StreamEvent[];
  readonly requests: number;
  readonly waitedMs: number;
}

/** Protocols that have fixtures. */
export const WIRE_PROTOCOLS: readonly ApiProtocol[] = [
  "openai-completions",
  "anthropic-messages",
  "openai-responses",
  "google-generative-ai",
  "bedrock-converse-stream",
];

const ROOT = join(import.meta.dirname, "../../../../tests/fixtures/llm");

/** Reads the fixtures of one protocol. */
export function wireCases(protocol: ApiProtocol, root: string = ROOT): readonly WireCase[] {
  const dir = join(root, protocol);
  const rows = JSON.parse(readFileSync(join(dir, "cases.json"), "utf8")) as readonly (Omit<WireCase, "body"> & {
    readonly file: string;
  })[];
  return rows.map(({ file, ...row }) => ({
    ...row,
    protocol,
    status: row.status ?? 200,
    headers: row.headers ?? {},
    end: row.end ?? "close",
    body: new Uint8Array(readFileSync(join(dir, file))),
  }));
}

/** A model that a fixture's answer may come from. */
export function wireModel(protocol: ApiProtocol, baseUrl: string): ModelConfig {
  return {
    id: "m",
    name: "M",
    api: protocol,
    provider: "fixture",
    baseUrl,
    reasoning: true,
    contextWindow: 100_000,
    maxTokens: 1000,
    cost: null,
    compat: { openai: { encryptedReasoning: true } },
  };
}

/** What is wrong with an outcome; empty when it is as expected. */
export function problemsOf(wire: WireCase, outcome: WireOutcome): readonly string[] {
  const { expect } = wire;
  const { message, events } = outcome;
  const found: string[] = [];
  const compare = (what: string, actual: unknown, expected: unknown): void => {
    if (expected !== undefined && !matches(actual, expected)) {
      found.push(`${what} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`);
    }
  };
  const parts = message.content;
  const thinking = parts.filter((part) => part.type === "thinking");
  const notes = parts.filter((part) => part.type === "text" && part.text.startsWith("[tool call "));
  const spoken = parts.filter((part) => !notes.includes(part));
  compare("the stop reason", message.stopReason, expect.errorClass === undefined ? expect.stopReason : "error");
  compare("the error class", message.errorClass, expect.errorClass);
  compare("the text", textOf(spoken), expect.text);
  compare("the thinking", thinking.map((part) => part.thinking).join(""), expect.thinking);
  compare("the signature", thinking.find((part) => part.signature !== undefined)?.signature, expect.signature);
  compare("the encrypted reasoning", thinking.find((part) => part.redacted !== undefined)?.redacted, expect.redacted);
  compare(
    "the order",
    parts.map((part) => part.type),
    expect.kinds,
  );
  compare("the usage", message.usage, expect.usage);
  if (expect.calls !== undefined) found.push(...callProblems(message, expect.calls));
  if (expect.note !== undefined && notes.length === 0) found.push("no note tells that the call was not run");
  found.push(...failureProblems(wire, outcome));
  compare("the number of requests", outcome.requests, expect.requests);
  if (expect.waitedMs !== undefined && outcome.waitedMs < expect.waitedMs) found.push("the wait was too short");
  return [...found, ...orderProblems(events)];
}

function failureProblems({ expect }: WireCase, { message, events }: WireOutcome): readonly string[] {
  const found: string[] = [];
  if (expect.message !== undefined && message.errorMessage?.includes(expect.message) !== true) {
    found.push(`the error message is ${JSON.stringify(message.errorMessage)} without "${expect.message}"`);
  }
  if (expect.warns === true && !events.some((event) => event.type === "warning")) found.push("nothing was warned of");
  const error = events.findLast((event) => event.type === "error");
  if (expect.retryable !== undefined && error !== undefined && error.error.retryable !== expect.retryable) {
    found.push(`retryable is ${error.error.retryable}, not ${expect.retryable}`);
  }
  return found;
}

function callProblems(message: AssistantMessage, expected: readonly ExpectedCall[]): readonly string[] {
  const calls = toolCallsOf(message);
  const found: string[] = [];
  if (calls.length !== expected.length) found.push(`${calls.length} calls, not ${expected.length}`);
  if (new Set(calls.map((call) => call.id)).size !== calls.length) found.push("two calls share one id");
  for (const [index, want] of expected.entries()) {
    const call = calls[index];
    if (call === undefined) continue;
    const same =
      call.name === want.name &&
      call.malformed?.kind === want.malformed &&
      (want.id === undefined || call.id === want.id) &&
      (want.arguments === undefined || matches(call.arguments, want.arguments)) &&
      (want.metadata === undefined || matches(call.providerMetadata, want.metadata));
    if (!same) found.push(`call ${index} is ${JSON.stringify(call)}, not ${JSON.stringify(want)}`);
  }
  return found;
}

/** Events of each attempt: one start, then deltas, then one end. */
function orderProblems(events: readonly StreamEvent[]): readonly string[] {
  let state: "idle" | "open" = "idle";
  for (const event of events) {
    if (event.type === "start") {
      if (state === "open") return ["a second start before the end"];
      state = "open";
    } else if (event.type === "done" || event.type === "error") state = "idle";
    else if (event.type.endsWith("Delta") && state !== "open") return [`${event.type} outside of an answer`];
  }
  return state === "open" ? ["an answer that never ended"] : [];
}

function matches(actual: unknown, expected: unknown): boolean {
  if (isObject(expected)) {
    return isObject(actual) && Object.entries(expected).every(([name, value]) => matches(actual[name], value));
  }
  if (Array.isArray(expected)) {
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((value, index) => matches(actual[index], value))
    );
  }
  return actual === expected;
}
