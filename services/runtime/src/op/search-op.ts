/** `ctx.search`: the web, the workspace's documents, the app's data. */

import { usesOf } from "@mesh/assistants";
import { isObject, type Json, type JsonObject, MeshError } from "@mesh/kernel";
import type { OpIo } from "@mesh/scripts";

import { assistantOf } from "../agent-request.ts";
import { cited, find, type SearchKind, type SearchResult } from "../content/search.ts";
import type { OpCaller, OpHandlers } from "./op-table.ts";
import { arrived, together, type Until } from "./race.ts";

const MAX_SEARCHES = 32;

/** Handlers of searches. */
export const SEARCH_OPS: OpHandlers = {
  "search.Web": (caller, [query, options], io) => plain(search({ kind: "web", query, options }, caller, io.signal)),
  "search.KB": (caller, [query, options], io) => plain(search({ kind: "kb", query, options }, caller, io.signal)),
  "search.DB": (caller, [query, options], io) => plain(search({ kind: "db", query, options }, caller, io.signal)),
  "search.All": (caller, [requests], io) => several(requests, "all", { caller, io }),
  "search.Any": (caller, [requests], io) => several(requests, "any", { caller, io }),
  "search.Race": (caller, [requests], io) => several(requests, "race", { caller, io }),
};

interface Asked {
  readonly kind: SearchKind;
  readonly query: string;
  readonly options: JsonObject | null;
}

async function several(
  requests: readonly Json[],
  until: Until,
  { caller, io }: { readonly caller: OpCaller; readonly io: OpIo },
): Promise<Json> {
  if (requests.length > MAX_SEARCHES) {
    throw new MeshError("invalid_argument", `${requests.length} searches at once; ${MAX_SEARCHES} are the most`);
  }
  const jobs = requests.map((request) => async (signal: AbortSignal): Promise<SearchResult> => {
    const { type, query, ...options } = isObject(request) ? request : {};
    const kind = type === "web" || type === "kb" || type === "db" ? type : undefined;
    if (kind !== undefined && typeof query === "string") return search({ kind, query, options }, caller, signal);
    const error = 'a search must be {type: "web" | "kb" | "db", query}';
    return { type: "web", query: "", source: "hook", items: [], total: 0, duration_ms: 0, error };
  });
  return arrived(await together(jobs, until, io.signal)) as unknown as Json;
}

async function search({ kind, query, options }: Asked, caller: OpCaller, signal: AbortSignal): Promise<SearchResult> {
  const { input } = caller.context.shared;
  const uses = usesOf(input.app, assistantOf(caller.assistantId, input));
  return cited(await find({ kind, query, options: options ?? {}, source: "hook", uses }, caller, signal), caller);
}

async function plain(result: Promise<SearchResult>): Promise<Json> {
  return (await result) as unknown as Json;
}
