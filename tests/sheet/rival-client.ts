/**
 * Rivals, as far as they are installed in tests/bench/loop: each is used as its documentation shows, with its own retries
 * off, except where the fixture is about retries.
 */

import { isObject } from "@mesh/kernel";
import type { WireCase } from "@mesh/llm/testing";

import type { SheetClient, Verdict } from "./client.ts";
import { installed, RIVAL_ROOT } from "./installed.ts";

const PATIENCE_MS = 5000;

type Loose = Record<string, (...given: unknown[]) => unknown>;

/** The rivals that are there. */
export async function rivalClients(root: string = RIVAL_ROOT): Promise<readonly SheetClient[]> {
  const found: SheetClient[] = [];
  const openai = await load(root, "openai");
  if (openai !== undefined) found.push(openAiClient(openai));
  const ai = await load(root, "ai");
  const compatible = await load(root, "@ai-sdk/openai-compatible");
  if (ai !== undefined && compatible !== undefined) found.push(aiClient(ai, compatible));
  return found;
}

async function load(root: string, name: string): Promise<Loose | undefined> {
  return (await installed(root, name)) as Loose | undefined;
}

function openAiClient(sdk: Loose): SheetClient {
  const OpenAI = sdk["OpenAI"] as unknown as new (options: unknown) => {
    chat: { completions: { create: (...given: unknown[]) => Promise<AsyncIterable<unknown>> } };
  };
  return {
    name: "openai (hand loop)",
    protocols: ["openai-completions"],
    run: (wire, baseURL) =>
      judged(async (signal, say) => {
        const client = new OpenAI({ apiKey: "sk-test", baseURL, maxRetries: wire.before === undefined ? 0 : 2 });
        const calls: { name: string; arguments: string }[] = [];
        const stream = await client.chat.completions.create(
          { model: "m", messages: [{ role: "user", content: "Hi" }], stream: true },
          { signal },
        );
        for await (const chunk of stream) {
          const delta = (chunk as { choices?: { delta?: ChatDelta }[] }).choices?.[0]?.delta;
          say(textOf(delta?.content));
          for (const call of delta?.tool_calls ?? []) addPiece(calls, call);
        }
        return calls.filter(Boolean).flatMap((call) => {
          const args = parsed(call.arguments);
          return args === undefined ? [] : [{ name: call.name, arguments: args }];
        });
      }, wire),
  };
}

function aiClient(ai: Loose, compatible: Loose): SheetClient {
  const { streamText, tool, jsonSchema } = ai;
  const { createOpenAICompatible } = compatible;
  return {
    name: "ai (streamText)",
    protocols: ["openai-completions"],
    run: (wire, baseURL) =>
      judged(async (signal, say) => {
        const provider = createOpenAICompatible?.({ name: "x", baseURL, apiKey: "k" }) as (id: string) => unknown;
        const calls: { name: string; arguments: unknown }[] = [];
        const names = ["add", "sub", "say", "now", "rm"];
        const tools = Object.fromEntries(
          names.map((name) => [
            name,
            tool?.({
              inputSchema: jsonSchema?.({ type: "object" }),
              execute(args: unknown) {
                calls.push({ name, arguments: args });
                return "ok";
              },
            }),
          ]),
        );
        const result = streamText?.({
          model: provider("m"),
          prompt: "Hi",
          tools,
          maxRetries: wire.before === undefined ? 0 : 2,
          abortSignal: signal,
          onError: () => undefined,
        }) as { fullStream: AsyncIterable<Record<string, unknown>> };
        for await (const part of result.fullStream) {
          if (part["type"] === "text-delta") say(textOf(part["text"] ?? part["delta"]));
          if (part["type"] === "error")
            throw part["error"] instanceof Error ? part["error"] : new Error("stream error");
          if (part["type"] === "abort") throw new DOMException("aborted", "AbortError");
          const isBad =
            part["type"] === "finish" &&
            ["error", "interrupted", "other", "unknown"].includes(String(part["finishReason"]));
          if (isBad) throw new Error(`finished with ${String(part["finishReason"])}`);
        }
        return calls;
      }, wire),
  };
}

interface CallPiece {
  readonly index?: number;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

interface ChatDelta {
  readonly content?: unknown;
  readonly tool_calls?: readonly CallPiece[];
}

// As the SDK's own examples join the pieces.
function addPiece(calls: { name: string; arguments: string }[], piece: CallPiece): void {
  const slot = (calls[piece.index ?? 0] ??= { name: "", arguments: "" });
  slot.name += piece.function?.name ?? "";
  slot.arguments += piece.function?.arguments ?? "";
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

type Run = (signal: AbortSignal, say: (text: string) => void) => Promise<Verdict["calls"]>;

async function judged(run: Run, wire: WireCase): Promise<Verdict> {
  const abort = new AbortController();
  const late = AbortSignal.timeout(PATIENCE_MS);
  let text = "";
  const say = (piece: string): void => {
    text += piece;
    if (wire.end === "stall" && text === wire.expect.text) abort.abort();
  };
  const hung = new Promise<never>((_resolve, reject) =>
    late.addEventListener("abort", () => reject(new Error("never settled"))),
  );
  try {
    const calls = await Promise.race([run(abort.signal, say), hung]);
    return { kind: "answer", text, calls };
  } catch (error) {
    const problems = late.aborted ? ["never settled"] : [];
    return {
      kind: abort.signal.aborted ? "aborted" : "error",
      text,
      calls: [],
      problems: isObject(error) || error instanceof Error ? problems : ["threw no error"],
    };
  }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = text === "" ? {} : JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
