/**
 * The web, the workspace's documents, the app's data: searched for a hook or before a model is asked.
 *
 * S1  A search never throws: what went wrong stands in `error` of its result.
 * S2  Every item has a `citation_id` that is unique in the run.
 */

import { type Assistant, findMcpUse, searchConfigOf } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";

import { assistantOf } from "../agent-request.ts";
import { mcpClient } from "../mcp-tool.ts";
import type { OpCaller } from "../op/op-table.ts";
import { stateOf } from "../op/state.ts";
import { toldError } from "../told-error.ts";
import { askAgent } from "./ask-agent.ts";
import type { Uses } from "./uses.ts";

/** Where to look. */
export type SearchKind = "web" | "kb" | "db";

/** One search. */
export interface SearchRequest {
  readonly kind: SearchKind;
  readonly query: string;
  /** `limit` and what else the kind takes. */
  readonly options: JsonObject;
  readonly source: "hook" | "auto";
  readonly uses: Uses;
}

/** What came of it, in the documented shape. */
export interface SearchResult {
  readonly type: SearchKind;
  readonly query: string;
  readonly source: SearchRequest["source"];
  readonly items: readonly JsonObject[];
  readonly total: number;
  readonly duration_ms: number;
  readonly error?: string;
}

interface Where {
  readonly caller: OpCaller;
  readonly signal: AbortSignal;
}

type Finder = (request: SearchRequest, where: Where) => Promise<readonly JsonObject[]>;

const WEIGHTS = { hook: 0.8, auto: 0.6 } as const;
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const USUAL_TOOL = "search";

/** Searches; items have no numbers yet. */
export async function find(request: SearchRequest, caller: OpCaller, signal: AbortSignal): Promise<SearchResult> {
  const { kind, query, options, source } = request;
  const { shared } = caller.context;
  const { clock } = shared.ports;
  const startedMs = clock.monotonic();
  const head = { type: kind, query, source };
  try {
    if (query.trim() === "") throw new MeshError("invalid_argument", "the query is empty");
    const limit = limitOf(kind, options, caller);
    const found = await FINDERS[kind]({ ...request, options: { ...options, limit } }, { caller, signal });
    const items = found.slice(0, limit);
    return { ...head, items, total: items.length, duration_ms: Math.round(clock.monotonic() - startedMs) };
  } catch (error) {
    const duration_ms = Math.round(clock.monotonic() - startedMs);
    return { ...head, items: [], total: 0, duration_ms, error: toldError(error, shared).message };
  }
}

/** The result with a number of the run on each item. */
export function cited(result: SearchResult, caller: OpCaller): SearchResult {
  const { type, source } = result;
  const { shared } = caller.context;
  const weight = searchConfigOf(shared.input.app, assistantOf(caller.assistantId, shared.input)).weights?.[source];
  const items = result.items.map((item) => ({
    ...item,
    type,
    citation_id: String(shared.nextCitation()),
    source,
    weight: weight ?? WEIGHTS[source],
  }));
  return { ...result, items };
}

const FINDERS: Readonly<Record<SearchKind, Finder>> = {
  web: searchWeb,
  kb: ({ query, options }, { caller, signal }) => {
    const { collections = collectionsOf(caller) } = options;
    return hits(stateOf(caller.context).call("search", "KB", [{ ...options, query, collections }], signal));
  },
  db: ({ query, options }, { caller, signal }) => {
    const { models = modelsOf(caller) } = options;
    return hits(stateOf(caller.context).call("search", "DB", [{ ...options, query, models }], signal));
  },
};

/** The collections an assistant searches. */
export function collectionsOf(caller: OpCaller): readonly string[] {
  const assistant = assistantIn(caller);
  return assistant.kb?.collections ?? searchConfigOf(caller.context.shared.input.app, assistant).kb?.collections ?? [];
}

/** The models an assistant searches. */
export function modelsOf(caller: OpCaller): readonly string[] {
  const assistant = assistantIn(caller);
  return assistant.db?.models ?? searchConfigOf(caller.context.shared.input.app, assistant).db?.models ?? [];
}

/** Who searches the web: an agent, or `mcp:<server>`; undefined where nobody does. */
export function webSearcher(uses: Uses): string | undefined {
  return [uses["web"], uses["search"]].find((use) => use !== undefined && use !== "" && use !== "builtin");
}

async function searchWeb({ query, options, uses }: SearchRequest, where: Where): Promise<readonly JsonObject[]> {
  const searcher = webSearcher(uses);
  if (searcher === undefined) {
    throw new MeshError(
      "failed_precondition",
      'no web search is set up: name an agent or "mcp:<server>" in uses.search',
    );
  }
  if (searcher === "disabled") {
    throw new MeshError("failed_precondition", "web search is switched off for this assistant");
  }
  const { caller, signal } = where;
  if (searcher.startsWith("mcp:")) return searchByTool(searcher, query, options, where);
  const content = JSON.stringify({ query, type: "web", ...options });
  return itemsIn(await askAgent({ agent: searcher, content }, caller.context, signal));
}

async function searchByTool(
  use: string,
  query: string,
  { limit = DEFAULT_LIMIT, sites, time_range: timeRange }: JsonObject,
  { caller, signal }: Where,
): Promise<readonly JsonObject[]> {
  const found = findMcpUse(caller.context.shared.input.app, caller.assistantId, use);
  const args = {
    query,
    limit,
    ...(sites === undefined ? {} : { sites }),
    ...(timeRange === undefined ? {} : { time_range: timeRange }),
  };
  // A server that is not there is named by the client's own error.
  const server = found?.server.id ?? use.slice("mcp:".length);
  return itemsIn(await mcpClient(server, caller).callTool(found?.tool ?? USUAL_TOOL, args, { caller, signal }));
}

/** Hits in any of the shapes that searchers answer with: a list, or an object that holds one. */
export function itemsIn(value: Json): readonly JsonObject[] {
  const parsed = typeof value === "string" ? parsedJson(value) : value;
  if (Array.isArray(parsed)) return parsed.filter(isObject) as readonly JsonObject[];
  if (!isObject(parsed)) return [];
  const { items, results, data } = parsed;
  const inner = items ?? results ?? data;
  return inner === undefined ? [] : itemsIn(inner);
}

/** A text that is JSON as what it says; null for other texts. */
export function parsedJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

async function hits(answer: Promise<Json | undefined>): Promise<readonly JsonObject[]> {
  const found = await answer;
  return Array.isArray(found) ? (found.filter(isObject) as readonly JsonObject[]) : [];
}

function limitOf(kind: SearchKind, options: JsonObject, caller: OpCaller): number {
  const config = searchConfigOf(caller.context.shared.input.app, assistantIn(caller));
  const { limit = config[kind]?.max_results ?? DEFAULT_LIMIT } = options;
  const wanted = typeof limit === "number" && limit >= 1 ? Math.floor(limit) : DEFAULT_LIMIT;
  return Math.min(wanted, MAX_LIMIT);
}

function assistantIn({ context, assistantId }: OpCaller): Assistant {
  return assistantOf(assistantId, context.shared.input);
}
