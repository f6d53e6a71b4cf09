/** What a search configuration may hold: in package.yao under `search`, and in agent/search.yml. */

import { any, count, field, flag, object, type ObjectShape, openObject, share, text, texts } from "./shape.ts";

/** The search configuration. */
export const SEARCH_SHAPE: ObjectShape = object({
  web: field(
    openObject({
      provider: field(text, "Who searches the web, such as tavily or serper."),
      api_key_env: field(text, "Name of the variable that holds the provider's key, with or without $ENV."),
      max_results: field(count, "How many results to take at most."),
    }),
    "Search of the web.",
  ),
  kb: field(
    openObject({
      collections: field(texts, "The collections to search; else those of the assistant."),
      threshold: field(share, "How similar a passage must be, from 0 to 1."),
      graph: field(flag, "Whether to follow relations between what was found."),
      max_results: field(count, "How many passages to take at most."),
    }),
    "Search of knowledge collections.",
  ),
  db: field(
    openObject({
      models: field(texts, "The models to search; else those of the assistant."),
      max_results: field(count, "How many records to take at most."),
    }),
    "Search of data models.",
  ),
  keyword: field(
    openObject({
      max_keywords: field(count, "How many keywords to take from a question."),
      language: field(text, "Language of the keywords, or auto."),
    }),
    "Keywords taken from a question.",
  ),
  querydsl: field(
    openObject({ strict: field(flag, "Whether a query that does not fit the models is refused.") }),
    "Queries written from a question.",
  ),
  rerank: field(openObject({ top_n: field(count, "How many results to keep.") }), "Sorting of what was found."),
  citation: field(
    openObject({
      format: field(text, "How an answer names a source, such as [{index}] or #ref:{id}."),
      auto_inject_prompt: field(flag, "Whether the model is told how to cite."),
      custom_prompt: field(text, "What to tell it instead of the usual text."),
    }),
    "How answers name their sources.",
  ),
  weights: field(
    object({
      user: field({ kind: "number", min: 0 }, "Weight of what the user gave."),
      hook: field({ kind: "number", min: 0 }, "Weight of what a hook found."),
      auto: field({ kind: "number", min: 0 }, "Weight of what was found automatically."),
    }),
    "How much sources count against each other.",
  ),
  options: field(openObject({ skip_threshold: field(any, "Kept for old files.") }), "Further settings."),
});
