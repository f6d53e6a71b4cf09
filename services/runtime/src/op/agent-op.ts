/** `ctx.agent`: agents that an agent calls. */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { AgentOutcome, OpIo } from "@mesh/scripts";

import type { AgentResponse } from "../agent-request.ts";
import { readChatMessages } from "../chat-message.ts";
import { skips } from "../skip.ts";
import { toldError } from "../told-error.ts";
import { ChunkTap } from "./chunk-tap.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { arrived, together, type Until } from "./race.ts";

const MAX_REQUESTS = 64;

interface Asked {
  readonly agent: string;
  readonly messages: Json;
  readonly options: JsonObject;
}

/** Handlers of calls from agent to agent. */
export const AGENT_OPS: OpHandlers = {
  "agent.Call": (caller, [agent, messages, options, onChunk], io) => {
    const asked = { agent, messages, options: options ?? {} };
    const tap = new ChunkTap(onChunk, io);
    return outcomeOf(asked, caller, { tap, isSilent: skips(asked.options, "output"), signal: io.signal });
  },
  "agent.All": (caller, [requests, onChunk], io) => several(caller, requests, { onChunk, io, until: "all" }),
  "agent.Any": async (caller, [requests, onChunk], io) =>
    arrived(await several(caller, requests, { onChunk, io, until: "any" })),
  "agent.Race": async (caller, [requests, onChunk], io) =>
    arrived(await several(caller, requests, { onChunk, io, until: "race" })),
};

function several(
  caller: OpCaller,
  requests: readonly Json[],
  { onChunk, io, until }: { readonly onChunk: number | null; readonly io: OpIo; readonly until: Until },
): Promise<readonly (AgentOutcome | null)[]> {
  if (requests.length > MAX_REQUESTS) {
    throw new MeshError("invalid_argument", `${requests.length} agents at once; ${MAX_REQUESTS} are the most`);
  }
  const jobs = requests.map((request, index) => async (signal: AbortSignal): Promise<AgentOutcome> => {
    const asked = readRequest(request);
    if (asked === undefined) return { agent_id: "", error: `request ${index} must be {agent, messages}` };
    // Several agents writing into one stream could not be told apart by those who read it.
    return outcomeOf(asked, caller, { tap: new ChunkTap(onChunk, io, [asked.agent, index]), isSilent: true, signal });
  });
  return together(jobs, until, io.signal);
}

function readRequest(request: Json): Asked | undefined {
  if (!isObject(request)) return undefined;
  const { agent, messages = [], options } = request;
  if (typeof agent !== "string" || agent === "") return undefined;
  return { agent, messages, options: isObject(options) ? options : {} };
}

/** Calls one agent; its failure is its outcome. */
async function outcomeOf(
  { agent, messages, options }: Asked,
  { context, scripts }: OpCaller,
  { tap, isSilent, signal }: { readonly tap: ChunkTap; readonly isSilent: boolean; readonly signal: AbortSignal },
): Promise<AgentOutcome> {
  try {
    const { metadata } = options;
    const fork = context.fork({
      isSilent,
      skipTrace: skips(options, "trace"),
      metadata: isObject(metadata) ? metadata : {},
      tap: tap.take,
      signal: AbortSignal.any([context.signal, signal, tap.stopped]),
      scripts,
    });
    const response = await context.shared.callAgent(
      { assistantId: agent, messages: readChatMessages(saidBy(messages), "messages"), options },
      fork,
    );
    await tap.seen();
    return { agent_id: agent, response: response as unknown as Json, ...contentOf(response) };
  } catch (error) {
    await tap.seen();
    if (tap.stopped.aborted) return { agent_id: agent, content: tap.said };
    return { agent_id: agent, error: toldError(error, context.shared).message };
  }
}

/** A plain text is what a user says. */
function saidBy(messages: Json): Json {
  return typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
}

function contentOf({ completion }: AgentResponse): { readonly content?: string } {
  return completion === undefined ? {} : { content: completion.content };
}
