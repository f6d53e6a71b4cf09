/** `ctx.search`: the web, documents and data models. */

import type { Value, Values } from "./value.ts";

/** A search of the web. */
export interface WebSearchOptions {
  limit?: number;
  /** Only these sites. */
  sites?: string[];
  time_range?: "day" | "week" | "month" | "year" | (string & {});
  rerank?: Values;
}

/** A search of documents. */
export interface KbSearchOptions {
  collections?: string[];
  limit?: number;
  /** Least relevance, from 0 to 1. */
  threshold?: number;
  /** Whether to follow relations between documents. */
  graph?: boolean;
  rerank?: Values;
}

/** A search of data models. */
export interface DbSearchOptions {
  models?: string[];
  wheres?: Values[];
  orders?: Values[];
  select?: string[];
  limit?: number;
  rerank?: Values;
}

/** One of several searches. */
export type SearchRequest =
  | ({ type: "web"; query: string } & WebSearchOptions)
  | ({ type: "kb"; query: string } & KbSearchOptions)
  | ({ type: "db"; query: string } & DbSearchOptions);

/** One thing found. */
export interface SearchItem {
  /** Number to cite it by, unique in the request. */
  citation_id: string;
  title: string;
  url: string;
  content: string;
  /** Relevance, from 0 to 1. */
  score: number;
  [detail: string]: Value;
}

/** What a search found. */
export interface SearchResult {
  type: "web" | "kb" | "db";
  query: string;
  /** Who asked: this script, the assistant by itself, or a person. */
  source: "hook" | "auto" | "user";
  items: SearchItem[];
  total?: number;
  duration_ms?: number;
  /** Why nothing was found; searches never throw. */
  error?: string;
}

/** Searches; what fails is told in `error`. */
export interface Search {
  /**
   * Searches the web.
   * @example
   * const { items } = ctx.search.Web("green tea", { limit: 5, sites: ["example.com"], time_range: "week" });
   */
  Web(query: string, options?: WebSearchOptions): SearchResult;
  /**
   * Searches documents.
   * @example
   * const { items } = ctx.search.KB("holidays", { collections: ["handbook"], threshold: 0.7 });
   */
  KB(query: string, options?: KbSearchOptions): SearchResult;
  /**
   * Searches data models.
   * @example
   * const { items } = ctx.search.DB("late orders", { models: ["order"], wheres: [{ column: "status", value: "open" }] });
   */
  DB(query: string, options?: DbSearchOptions): SearchResult;
  /**
   * Several searches at once.
   * @example
   * const [web, docs] = ctx.search.All([{ type: "web", query: "tea" }, { type: "kb", query: "tea" }]);
   */
  All(requests: SearchRequest[]): SearchResult[];
  /**
   * The first that finds something; the others are cancelled.
   * @example
   * const found = ctx.search.Any([{ type: "kb", query: "tea" }, { type: "web", query: "tea" }]).find((it) => it && !it.error);
   */
  Any(requests: SearchRequest[]): SearchResult[];
  /**
   * The first that ends; the others are cancelled.
   * @example
   * const first = ctx.search.Race([{ type: "kb", query: "tea" }, { type: "web", query: "tea" }]).find((it) => it);
   */
  Race(requests: SearchRequest[]): SearchResult[];
}
