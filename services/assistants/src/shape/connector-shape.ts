/** What a connector file may hold. */

import { any, field, object, type ObjectShape, openObject, required, text } from "./shape.ts";

const unused = field(any, "Kept for old files.");

/** Options of a connector; every provider has more of its own, so that unknown ones pass. */
const OPTIONS: ObjectShape = openObject({
  model: required(text, "Name of the model, as its provider calls it."),
  host: field(text, "Address of the provider; may be $ENV.NAME."),
  proxy: field(text, "The older name of host."),
  key: field(text, "Key of the provider, as $ENV.NAME."),
  capabilities: field(any, "What the model can do: vision, audio, tool_calls, reasoning, streaming, json …"),
  temperature: field({ kind: "number" }, "How free the model's choice of words is."),
  max_tokens: field({ kind: "number", isWhole: true, min: 0 }, "Length of an answer at most."),
});

/** A file *.conn.yao. */
export const CONNECTOR_SHAPE: ObjectShape = object({
  type: required(text, "The protocol: openai, anthropic, gemini, ollama …"),
  options: required(OPTIONS, "Where the model is and what it can do."),
  label: field(text, "What people call it."),
  name: field(text, "The older name of label."),
  auth_mode: field(text, "How the key is sent: bearer, api-key or x-api-key."),
  supported_params: field(any, "Parameters the provider takes."),
  LANG: unused,
  VERSION: unused,
  version: unused,
});
