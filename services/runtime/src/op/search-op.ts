/**
 * `ctx.search`: the web, the workspace's documents, the app's data.
 *
 * S1  A search never throws: what went wrong stands in `error` of its result.
 * S2  Every item has a `citation_id` that is unique in the run.
 */

import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { OpIo } from "@mesh/scripts";

import { assistantOf } from "../agent-request.ts";
import { searchConfigOf, usesOf } from "@mesh/assistants";
import { mcpClient } from "../mcp-tool.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { arrived, together, type Until } from "./race.ts";
import { stateOf } from "./state.ts";

type Kind = "web" | "kb" | "db";

interface SearchResult {
  readonly type: Kind;
  readonly query: string;
  readonly source: "hook";
  readonly items: readonly JsonObject[];
  readonly total: number;
  readonly duration_ms: number;
  readonly error?: string;
}

const HOOK_WEIGHT = 0.8;
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
const MAX_SEARCHES = 32;

/** Handlers of searches. */
export const SEARCH_OPS: OpHandlers = {
  "search.Web": (caller, [query, options], io) => plain(search("web", query, options ?? {}, { caller, io })),
  "search.KB": (caller, [query, options], io) => plain(search("kb", query, options ?? {}, { caller, io })),
  "search.DB": (caller, [query, options], io) => plain(search("db", query, options ?? {}, { caller, io })),
  "search.All": (caller, [requests], io) => several(requests, "all", { caller, io }),
  "search.Any": (caller, [requests], io) => several(requests, "any", { caller, io }),
  "search.Race": (caller, [requests], io) => several(requests, "race", { caller, io }),
};

interface Where {
  readonly caller: OpCaller;
  readonly io: OpIo;
}

async function several(requests: readonly Json[], until: Until, where: Where): Promise<Json> {
  if (requests.length > MAX_SEARCHES) {
    throw new MeshError("invalid_argument", `${requests.length} searches at once; ${MAX_SEARCHES} are the most`);
  }
  const jobs = requests.map((request) => async (signal: AbortSignal): Promise<SearchResult> => {
    const { type, query, ...options } = isObject(request) ? request : {};
    const kind = type === "web" || type === "kb" || type === "db" ? type : undefined;
    if (kind === undefined || typeof query !== "string") {
      return failed("web", "", 'a search must be {type: "web" | "kb" | "db", query}');
    }
    const io = { ...where.io, signal };
    return search(kind, query, options, { caller: where.caller, io });
  });
  return arrived(await together(jobs, until, where.io.signal)) as unknown as Json;
}

async function search(kind: Kind, query: string, options: JsonObject, where: Where): Promise<SearchResult> {
  const { clock } = where.caller.context.shared.ports;
  const startedMs = clock.monotonic();
  try {
    if (query.trim() === "") throw new MeshError("invalid_argument", "the query is empty");
    const found = await FINDERS[kind](query, limited(kind, options, where), where);
    const items = found.map((item) => cited(kind, item, where.caller));
    return {
      type: kind,
      query,
      source: "hook",
      items,
      total: items.length,
      duration_ms: since(startedMs, clock.monotonic()),
    };
  } catch (error) {
    return { ...failed(kind, query, MeshError.from(error).message), duration_ms: since(startedMs, clock.monotonic()) };
  }
}

type Finder = (query: string, options: JsonObject, where: Where) => Promise<readonly JsonObject[]>;

const FINDERS: Readonly<Record<Kind, Finder>> = {
  web: searchWeb,
  kb: (query, options, { caller, io }) => {
    const { context, assistantId } = caller;
    const own = assistantOf(assistantId, context.shared.input).kb?.collections ?? [];
    const { collections = own } = options;
    return hits(stateOf(context).call("search", "KB", [{ ...options, query, collections }], io.signal));
  },
  db: (query, options, { caller, io }) => {
    const { context, assistantId } = caller;
    const own = assistantOf(assistantId, context.shared.input).db?.models ?? [];
    const { models = own } = options;
    return hits(stateOf(context).call("search", "DB", [{ ...options, query, models }], io.signal));
  },
};

/** The web is searched by whom `uses.search` (or `uses.web`) names: an agent, or a tool of an MCP server. */
async function searchWeb(query: string, options: JsonObject, { caller, io }: Where): Promise<readonly JsonObject[]> {
  const { context, assistantId } = caller;
  const { app } = context.shared.input;
  const uses = usesOf(app, assistantOf(assistantId, context.shared.input));
  const provider = uses["web"] ?? uses["search"];
  if (provider === undefined || provider === "" || provider === "builtin") {
    throw new MeshError(
      "failed_precondition",
      'no web search is set up: name an agent or "mcp:<server>" in uses.search',
    );
  }
  if (provider === "disabled")
    throw new MeshError("failed_precondition", "web search is switched off for this assistant");
  if (!provider.startsWith("mcp:")) return searchByAgent(provider, query, options, { caller, io });
  const { server, tool } = toolAddress(provider.slice("mcp:".length), caller);
  const { limit = DEFAULT_LIMIT, sites, time_range: timeRange } = options;
  const args = {
    query,
    limit,
    ...(sites === undefined ? {} : { sites }),
    ...(timeRange === undefined ? {} : { time_range: timeRange }),
  };
  return itemsIn(await mcpClient(server, caller).callTool(tool, args, { caller, signal: io.signal }));
}

/** `server`, whose tool is `search`, or `server.tool`: ids of servers may hold dots, so the whole name is tried first. */
function toolAddress(name: string, caller: OpCaller): { readonly server: string; readonly tool: string } {
  const { input } = caller.context.shared;
  const isServer = (id: string): boolean =>
    input.app.mcpServers.has(id) || input.app.mcpServers.has(`agents.${caller.assistantId}.${id}`);
  const dot = name.lastIndexOf(".");
  if (dot < 0 || isServer(name)) return { server: name, tool: "search" };
  return { server: name.slice(0, dot), tool: name.slice(dot + 1) };
}

async function searchByAgent(
  agent: string,
  query: string,
  options: JsonObject,
  { caller, io }: Where,
): Promise<readonly JsonObject[]> {
  const { context } = caller;
  const fork = context.fork({
    isSilent: true,
    skipTrace: false,
    metadata: {},
    signal: AbortSignal.any([context.signal, io.signal]),
  });
  const content = JSON.stringify({ query, type: "web", ...options });
  const response = await context.shared.callAgent(
    { assistantId: agent, messages: [{ role: "user", content }], options: {} },
    fork,
  );
  return itemsIn(response.next ?? response.completion?.content ?? null);
}

/** Hits in any of the shapes that searchers answer with: a list, or an object that holds one. */
function itemsIn(value: Json): readonly JsonObject[] {
  const parsed = typeof value === "string" ? parsedJson(value) : value;
  if (Array.isArray(parsed)) return parsed.filter(isObject) as readonly JsonObject[];
  if (!isObject(parsed)) return [];
  const { items, results, data } = parsed;
  const inner = items ?? results ?? data;
  return inner === undefined ? [] : itemsIn(inner);
}

function parsedJson(text: string): Json {
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

function limited(kind: Kind, options: JsonObject, { caller }: Where): JsonObject {
  const { input } = caller.context.shared;
  const config = searchConfigOf(input.app, assistantOf(caller.assistantId, input));
  const { limit = config[kind]?.max_results ?? DEFAULT_LIMIT } = options;
  const wanted = typeof limit === "number" && limit > 0 ? Math.floor(limit) : DEFAULT_LIMIT;
  return { ...options, limit: Math.min(wanted, MAX_LIMIT) };
}

function cited(kind: Kind, item: JsonObject, { context }: OpCaller): JsonObject {
  return {
    ...item,
    type: kind,
    citation_id: String(context.shared.nextCitation()),
    source: "hook",
    weight: HOOK_WEIGHT,
  };
}

function failed(type: Kind, query: string, error: string): SearchResult {
  return { type, query, source: "hook", items: [], total: 0, duration_ms: 0, error };
}

function since(startedMs: number, nowMs: number): number {
  return Math.round(nowMs - startedMs);
}

async function plain(result: Promise<SearchResult>): Promise<Json> {
  return (await result) as unknown as Json;
}
