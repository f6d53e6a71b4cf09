/** `ctx.llm`: models that a script asks by itself, past prompts, hooks and tools. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { LlmOutcome, OpIo } from "@mesh/scripts";

import { assistantOf } from "../agent-request.ts";
import { functionsOf } from "../caller-function.ts";
import { readChatMessages, toLoop } from "../chat-message.ts";
import { targetOf } from "../model-call.ts";
import { askModel } from "../model-run.ts";
import { OutputStream } from "../output-stream.ts";
import { toldError } from "../told-error.ts";
import { ChunkTap } from "./chunk-tap.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { arrived, together, type Until } from "./race.ts";

const MAX_REQUESTS = 64;

/** One completion as it is asked for. */
export interface Asked {
  readonly connector: string;
  readonly messages: Json;
  readonly options: JsonObject;
}

/** Who watches it and what stops it. */
export interface How {
  readonly tap: ChunkTap;
  readonly isShown: boolean;
  readonly signal: AbortSignal;
}

/** Handlers of direct completions. */
export const LLM_OPS: OpHandlers = {
  "llm.Stream": (caller, [connector, messages, options, onChunk], io) =>
    outcomeOf({ connector, messages, options: options ?? {} }, caller, {
      tap: new ChunkTap(onChunk, io),
      isShown: true,
      signal: io.signal,
    }),
  "llm.Call": (caller, [connector, messages, options, onChunk], io) =>
    outcomeOf({ connector, messages, options: options ?? {} }, caller, {
      tap: new ChunkTap(onChunk, io),
      isShown: false,
      signal: io.signal,
    }),
  "llm.All": (caller, [requests, onChunk], io) => several(caller, requests, { onChunk, io, until: "all" }),
  "llm.Any": async (caller, [requests, onChunk], io) =>
    arrived(await several(caller, requests, { onChunk, io, until: "any" })),
  "llm.Race": async (caller, [requests, onChunk], io) =>
    arrived(await several(caller, requests, { onChunk, io, until: "race" })),
  "llm.GenerateImage": (_caller, [connector]) => {
    throw new MeshError(
      "unimplemented",
      `connector ${connector}: making images is not supported; use an MCP tool for it`,
    );
  },
};

function several(
  caller: OpCaller,
  requests: readonly Json[],
  { onChunk, io, until }: { readonly onChunk: number | null; readonly io: OpIo; readonly until: Until },
): Promise<readonly (LlmOutcome | null)[]> {
  if (requests.length > MAX_REQUESTS) {
    throw new MeshError("invalid_argument", `${requests.length} completions at once; ${MAX_REQUESTS} are the most`);
  }
  const jobs = requests.map((request, index) => async (signal: AbortSignal): Promise<LlmOutcome> => {
    const asked = readRequest(request);
    if (asked === undefined) return { connector: "", error: `request ${index} must be {connector, messages}` };
    return outcomeOf(asked, caller, {
      tap: new ChunkTap(onChunk, io, [asked.connector, index]),
      isShown: false,
      signal,
    });
  });
  return together(jobs, until, io.signal);
}

function readRequest(request: Json): Asked | undefined {
  if (!isObject(request)) return undefined;
  const { connector, messages = [], options } = request;
  if (typeof connector !== "string" || connector === "") return undefined;
  return { connector, messages, options: isObject(options) ? options : {} };
}

/** Asks one model; its failure is its outcome. */
export async function outcomeOf(asked: Asked, caller: OpCaller, how: How): Promise<LlmOutcome> {
  const { connector } = asked;
  try {
    const { context, assistantId } = caller;
    const { shared } = context;
    const out = new OutputStream(
      shared.ports.clock,
      (message) => {
        how.tap.take(message);
        if (how.isShown) context.out.write(message);
      },
      { ids: context.out.ids },
    );
    const { tools, ...options } = asked.options;
    const assistant = assistantOf(assistantId, shared.input);
    const input = { ...shared.input, options: { ...options, connector } };
    const { system, history, prompts } = toLoop(readChatMessages(asked.messages, "messages"), shared.ports.clock.now());
    const answer = await askModel(
      {
        target: targetOf(input, { ...assistant, options: {} }, input.options, shared.ports.prices),
        systemPrompt: system,
        history,
        prompts,
        tools: functionsOf(tools),
        rounds: { kind: "loop", maxTurns: 1 },
        label: `${assistantId} llm ${connector}`,
      },
      { shared, out, signal: AbortSignal.any([context.signal, how.signal, how.tap.stopped]) },
    );
    out.endAll("partial");
    await how.tap.seen();
    if (how.tap.stopped.aborted) return { connector, content: how.tap.said };
    if (answer.error !== undefined) throw answer.error;
    const { completion } = answer;
    return {
      connector,
      ...(completion === undefined ? {} : { response: completion as unknown as Json, content: completion.content }),
    };
  } catch (error) {
    await how.tap.seen();
    if (how.tap.stopped.aborted) return { connector, content: how.tap.said };
    return { connector, error: toldError(error, caller.context.shared).message };
  }
}
