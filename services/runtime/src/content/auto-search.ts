/**
 * The search before the model is asked: for whom a request wants it, what was found becomes one system message.
 *
 * T1  It runs where Create or the call's option `search` asks for it, Create before the call; never where `uses.search` is
 *     `disabled` or the call skips it.
 * T2  Its references are numbered with the run's own counter, in the order web, documents, data: no reference of a hook has the
 *     same number.
 * T3  It is a step of the trace. A search that fails is told there, and the run goes on without it.
 */

import { type Assistant, searchConfigOf } from "@mesh/assistants";
import { errorText, isObject, type Json, type JsonObject } from "@mesh/kernel";

import type { AgentContext } from "../agent-context.ts";
import { type ChatMessage, chatText } from "../chat-message.ts";
import type { CreateResult } from "../hook-result.ts";
import type { OpCaller } from "../op/op-table.ts";
import { skips } from "../skip.ts";
import { askAgent } from "./ask-agent.ts";
import { referenceText } from "./reference-text.ts";
import { cited, collectionsOf, find, modelsOf, parsedJson, type SearchKind, webSearcher } from "./search.ts";
import { effectiveUses, type Uses } from "./uses.ts";

/** A request whose Create hook has run. */
export interface AutoSearchRequest {
  readonly assistant: Assistant;
  readonly options: JsonObject;
  readonly create: CreateResult | undefined;
  readonly context: AgentContext;
}

const KINDS: readonly SearchKind[] = ["web", "kb", "db"];
const MAX_QUERY_CHARS = 2_000;
const MAX_KEYWORDS = 10;

/** The messages, with what was found for the last one of the user. */
export async function withReferences(
  messages: readonly ChatMessage[],
  request: AutoSearchRequest,
): Promise<readonly ChatMessage[]> {
  const { assistant, options, context } = request;
  const uses = effectiveUses({ ...request, app: context.shared.input.app });
  const caller = { context, assistantId: assistant.id };
  const kinds = wantedKinds(request, uses, caller);
  const asked = messages.findLast((message) => message.role === "user");
  const text = asked === undefined ? "" : chatText(asked).trim().slice(0, MAX_QUERY_CHARS);
  if (kinds.length === 0 || text === "") return messages;
  const query = skips(options, "keyword") ? text : await keywordsOf(text, uses, request);
  const items = await searched(kinds, query, { uses, caller });
  const { citation } = searchConfigOf(context.shared.input.app, assistant);
  const content = referenceText(items, citation);
  return content === "" ? messages : [...messages, { role: "system", content }];
}

/** What to search; empty for no search. */
function wantedKinds(
  { options, create, context }: AutoSearchRequest,
  uses: Uses,
  caller: OpCaller,
): readonly SearchKind[] {
  const isOff =
    uses["search"] === "disabled" || skips(options, "search") || context.metadata["__disable_search"] === true;
  const intent = isOff ? undefined : intentOf(create?.search ?? options["search"]);
  if (intent === undefined) return [];
  const can: Readonly<Record<SearchKind, boolean>> = {
    web: (webSearcher(uses) ?? "disabled") !== "disabled",
    kb: collectionsOf(caller).length > 0,
    db: modelsOf(caller).length > 0,
  };
  const possible = KINDS.filter((kind) => can[kind]);
  if (intent.kinds !== undefined) return KINDS.filter((kind) => intent.kinds?.includes(kind));
  // Asked for, and nothing set up: the web's error says what to do.
  return possible.length === 0 ? ["web"] : possible;
}

/** `true`, or `{need_search, search_types}`; undefined for no. */
function intentOf(value: Json | undefined): { readonly kinds?: readonly string[] } | undefined {
  if (value === true) return {};
  if (!isObject(value) || value["need_search"] === false) return undefined;
  const { search_types: types } = value;
  if (!Array.isArray(types) || types.length === 0) return {};
  return { kinds: types.filter((type) => typeof type === "string") };
}

async function searched(
  kinds: readonly SearchKind[],
  query: string,
  { uses, caller }: { readonly uses: Uses; readonly caller: OpCaller },
): Promise<readonly JsonObject[]> {
  const { trace, signal } = caller.context;
  const node = trace.add({ query, types: kinds }, { label: "Search", type: "search", icon: "search" });
  const found = await Promise.all(
    kinds.map((kind) => find({ kind, query, options: {}, source: "auto", uses }, caller, signal)),
  );
  signal.throwIfAborted();
  // Numbered when all are there, so that the same finds have the same numbers.
  const results = found.map((result) => cited(result, caller));
  const errors = results.flatMap(({ type, error }) => (error === undefined ? [] : [`${type}: ${error}`]));
  if (errors.length === results.length) trace.fail(errors.join("; "), node);
  else trace.complete({ results: results as unknown as Json }, node);
  return results.flatMap(({ items }) => items);
}

/** The words to look for: those of the agent that `uses.keyword` names, else the message itself. */
async function keywordsOf(text: string, uses: Uses, { assistant, context }: AutoSearchRequest): Promise<string> {
  const agent = uses["keyword"] ?? "";
  if (agent === "" || agent === "builtin" || agent === "disabled" || agent === assistant.id) return text;
  const { shared, signal } = context;
  const max = searchConfigOf(shared.input.app, assistant).keyword?.max_keywords ?? MAX_KEYWORDS;
  try {
    const words = wordsIn(await askAgent({ agent, content: text }, context, signal)).slice(0, max);
    return words.length === 0 ? text : words.join(" ").slice(0, MAX_QUERY_CHARS);
  } catch (error) {
    if (signal.aborted) throw error;
    shared.ports.log?.("warn", "no keywords for a search", { agent, err: errorText(error) });
    return text;
  }
}

/** Keywords of an answer, the weightiest first: a list of texts or of `{keyword, weight}`, or an object that holds one. */
function wordsIn(answer: Json): readonly string[] {
  const value = typeof answer === "string" ? parsedJson(answer) : answer;
  if (!Array.isArray(value)) {
    const inner = isObject(value) ? (value["keywords"] ?? value["data"]) : undefined;
    return inner === undefined ? [] : wordsIn(inner);
  }
  const weighed = (value as readonly Json[]).flatMap((each) => {
    const { keyword, k, weight, w } = isObject(each) ? each : { keyword: each };
    const word = keyword ?? k;
    const heft = weight ?? w;
    if (typeof word !== "string" || word.trim() === "") return [];
    return [{ word: word.trim(), heft: typeof heft === "number" ? heft : 0 }];
  });
  return weighed.toSorted((a, b) => b.heft - a.heft).map(({ word }) => word);
}
