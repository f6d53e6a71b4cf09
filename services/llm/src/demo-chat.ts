/**
 * The built-in demo model: deterministic, in process, without a key or a network. It streams like a real one, so that
 * everything around it can be tried and tested.
 *
 * The last user message may start with a directive: /echo, /count, /slow, /fail, /tool, /think, /bytes, /noop.
 */

import { type Clock, ERROR_CODES, type ErrorCode, isObject, MeshError, parseDuration } from "@mesh/kernel";

import type { ChatEvent, ChatMessage, ChatRequest, StreamChat } from "./chat.ts";

/** What the demo model needs. */
export interface DemoChatOptions {
  readonly clock: Clock;
}

interface Call {
  readonly clock: Clock;
  readonly request: ChatRequest;
  readonly signal: AbortSignal;
}

type Directive = (rest: string, call: Call) => AsyncIterable<ChatEvent> | Iterable<ChatEvent>;

const MAX_COUNT = 1_000_000;
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_SLOW_MS = 3_600_000;
const DOT_MS = 100;
// A stream without waits still lets other work, such as an abort, run now and then.
const EVENTS_PER_TURN = 256;

/** Makes the demo model; its timers run on `clock`. */
export function createDemoChat(options: DemoChatOptions): StreamChat {
  return async function* demoChat(request, signal) {
    const call: Call = { clock: options.clock, request, signal };
    let words = 0;
    let events = 0;
    let reason = "stop";
    throwIfAborted(signal);
    for await (const event of answer(call)) {
      throwIfAborted(signal);
      if (event.kind === "tool_call") reason = "tool_calls";
      if (event.kind === "text" || event.kind === "thinking") words += countWords(event.text);
      yield event;
      events += 1;
      if (events % EVENTS_PER_TURN === 0) await options.clock.sleep(0, signal);
      throwIfAborted(signal);
    }
    const prompt = request.messages.reduce((sum, message) => sum + countWords(message.content), 0);
    yield {
      kind: "finish",
      reason,
      usage: { prompt_tokens: prompt, completion_tokens: words, total_tokens: prompt + words },
    };
  };
}

function answer(call: Call): AsyncIterable<ChatEvent> | Iterable<ChatEvent> {
  const last = call.request.messages.at(-1);
  if (last?.role === "tool") return say(`The tool answered: ${last.content}`);
  const text = lastUserText(call.request.messages);
  const match = /^\/([a-z]+)(?:\s+([\s\S]*))?$/.exec(text);
  const directive = match === null ? undefined : DIRECTIVES.get(match[1] ?? "");
  return directive === undefined ? say(`You said: ${text}`) : directive((match?.[2] ?? "").trim(), call);
}

const DIRECTIVES: ReadonlyMap<string, Directive> = new Map<string, Directive>([
  ["echo", (rest) => say(rest)],
  ["noop", () => say("ok")],
  ["count", count],
  ["slow", slow],
  ["fail", (rest) => fail(rest)],
  ["tool", (rest, call) => callTool(rest, call)],
  ["think", (rest) => think(rest)],
  ["bytes", (rest) => bytes(rest)],
]);

function* say(text: string): Generator<ChatEvent> {
  for (const piece of wordPieces(text)) yield { kind: "text", text: piece };
}

function* think(text: string): Generator<ChatEvent> {
  for (const piece of wordPieces(text)) yield { kind: "thinking", text: piece };
  yield* say(`I thought about: ${text}`);
}

async function* count(rest: string, { clock, signal }: Call): AsyncGenerator<ChatEvent> {
  const match = /^(\d+)(?:\s+every\s+(\S+))?$/.exec(rest);
  const to = Number(match?.[1]);
  const everyMs = match?.[2] === undefined ? 0 : parseDuration(match[2]);
  if (match === null || everyMs === undefined || to < 1 || to > MAX_COUNT) {
    throw usage(`/count N [every 20ms], with N from 1 to ${MAX_COUNT}`);
  }
  for (let n = 1; n <= to; n += 1) {
    if (n > 1 && everyMs > 0) await clock.sleep(everyMs, signal);
    throwIfAborted(signal);
    yield { kind: "text", text: n === 1 ? "1" : ` ${n}` };
  }
}

async function* slow(rest: string, { clock, signal }: Call): AsyncGenerator<ChatEvent> {
  const [time = "", ...words] = rest.split(/\s+/);
  const totalMs = parseDuration(time);
  if (totalMs === undefined || totalMs > MAX_SLOW_MS) throw usage("/slow 5s [TEXT], with a time of at most 1h");
  for (let passedMs = 0; passedMs < totalMs; passedMs += DOT_MS) {
    yield { kind: "text", text: "." };
    await clock.sleep(Math.min(DOT_MS, totalMs - passedMs), signal);
    throwIfAborted(signal);
  }
  yield* say(words.length === 0 ? " done" : ` ${words.join(" ")}`);
}

// eslint-disable-next-line require-yield -- a model that fails says nothing before
function* fail(rest: string): Generator<ChatEvent> {
  const [first = "", ...words] = rest.split(/\s+/);
  const isCode = (ERROR_CODES as readonly string[]).includes(first);
  const code: ErrorCode = isCode ? (first as ErrorCode) : "unavailable";
  const message = isCode ? words.join(" ") : rest;
  throw new MeshError(code, message === "" ? "the demo model failed because it was asked to" : message);
}

function* callTool(rest: string, { request }: Call): Generator<ChatEvent> {
  const [, name = "", json = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? [];
  const args = parseArguments(json);
  if (name === "" || args === undefined) throw usage('/tool NAME {"json": "arguments"}');
  const tools = request.tools ?? [];
  if (!tools.some((tool) => tool.name === name)) {
    const offered =
      tools.length === 0 ? "no tools were offered" : `offered: ${tools.map((tool) => tool.name).join(", ")}`;
    yield* say(`There is no tool "${name}"; ${offered}.`);
    return;
  }
  // In two pieces, as real models stream arguments.
  const half = Math.ceil(args.length / 2);
  yield { kind: "tool_call", index: 0, id: "call_1", name, arguments: args.slice(0, half) };
  yield { kind: "tool_call", index: 0, arguments: args.slice(half) };
}

function* bytes(rest: string): Generator<ChatEvent> {
  const total = /^\d+$/.test(rest) ? Number(rest) : -1;
  if (total < 1 || total > MAX_BYTES) throw usage(`/bytes N, with N from 1 to ${MAX_BYTES}`);
  const line = `${"0123456789abcdef".repeat(64).slice(1)}\n`;
  for (let left = total; left > 0; left -= line.length) yield { kind: "text", text: line.slice(0, left) };
}

function lastUserText(messages: readonly ChatMessage[]): string {
  return messages.findLast((message) => message.role === "user")?.content.trim() ?? "";
}

function parseArguments(json: string): string | undefined {
  if (json === "") return "{}";
  try {
    return isObject(JSON.parse(json)) ? json : undefined;
  } catch {
    return undefined;
  }
}

function wordPieces(text: string): readonly string[] {
  return text.match(/\s*\S+(?:\s+$)?/g) ?? (text === "" ? [] : [text]);
}

function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}

function usage(form: string): MeshError {
  return new MeshError("invalid_argument", `demo model: write ${form}`);
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new MeshError("cancelled", "the model call was cancelled", { cause: signal.reason });
}
