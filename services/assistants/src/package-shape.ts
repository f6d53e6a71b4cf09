/** What a package.yao may hold: every field of the configuration page, and the old keys that are tolerated. */

import type { Field, Fields, Shape } from "./shape.ts";

const text: Shape = { kind: "text" };
const flag: Shape = { kind: "flag" };
const any: Shape = { kind: "any" };
const texts: Shape = { kind: "list", of: text };
const openObject: Shape = { kind: "map", of: any };

function field(shape: Shape): Field {
  return { shape };
}

function legacy(message: string): Field {
  return { shape: any, legacy: message };
}

const placeholder: Fields = { title: field(text), description: field(text), prompts: field(texts) };

const connectorOptions: Fields = { optional: field(flag), connectors: field(texts), filters: field(texts) };

const mcp: Fields = {
  servers: field({ kind: "list", of: { kind: "either", of: [text, openObject] } }),
  options: field(openObject),
};

const search: Fields = {
  web: field(openObject),
  kb: field(openObject),
  db: field(openObject),
  citation: field(openObject),
};

/** The fields of package.yao. */
export const PACKAGE_FIELDS: Fields = {
  name: { shape: text, isRequired: true },
  type: field(text),
  avatar: field(text),
  description: field(text),
  connector: field(text),
  connector_options: field({ kind: "object", fields: connectorOptions }),
  tags: field(texts),
  sort: field({ kind: "number" }),
  options: field(openObject),
  placeholder: field({ kind: "object", fields: placeholder }),
  public: field(flag),
  share: field({ kind: "word", words: ["private", "team"] }),
  readonly: field(flag),
  built_in: field(flag),
  mentionable: field(flag),
  automated: field(flag),
  disable_global_prompts: field(flag),
  modes: field(texts),
  default_mode: field(text),
  mcp: field({ kind: "object", fields: mcp }),
  kb: field({ kind: "object", fields: { collections: field(texts) }, isOpen: true }),
  db: {
    shape: { kind: "object", fields: { models: field(texts) }, isOpen: true },
    tolerated: { kind: "list", message: 'is a list, which is not read: write {"models": […]}' },
  },
  uses: field({ kind: "map", of: text }),
  search: field({ kind: "object", fields: search, isOpen: true }),
  capabilities: legacy("is not read here: a connector says what its model can do"),
  dependencies: legacy("is not read"),
  hooks: legacy("is not read: hooks are the functions of src/index.ts"),
  option: legacy("is not read; did you mean options?"),
  sandbox: legacy("is not read"),
  version: legacy("is not read"),
  workflow: legacy("is not read"),
};
