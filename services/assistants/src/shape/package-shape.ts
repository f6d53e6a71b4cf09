/** What a package.yao may hold: every field of the configuration page, and the old keys that are tolerated. */

import { SEARCH_SHAPE } from "./search-shape.ts";
import { OLD_SANDBOX_SHAPE } from "./sandbox-shape.ts";
import {
  any,
  anyMap,
  count,
  either,
  type Fields,
  field,
  flag,
  legacy,
  listOf,
  object,
  type ObjectShape,
  openObject,
  openWord,
  required,
  type Shape,
  text,
  texts,
  word,
} from "./shape.ts";

const number = { kind: "number" } as const;

/** Who does the work of a model that lacks a sense; `disabled`, an assistant's id, `mcp:server` or `mcp:server.tool`. */
export const USES: Fields = {
  vision: field(text, "Who looks at images: an assistant or mcp:server."),
  audio: field(text, "Who listens to audio: an assistant or mcp:server."),
  search: field(text, "Who searches: disabled, builtin, an assistant or mcp:server."),
  fetch: field(text, "Who fetches web pages: an assistant or mcp:server."),
  web: field(text, "Who searches the web: disabled, builtin, an assistant or mcp:server.tool."),
  keyword: field(text, "Who takes keywords from a question."),
  querydsl: field(text, "Who writes queries from a question."),
  rerank: field(text, "Who sorts what was found."),
  db: field(text, "Who searches the database."),
};

const serverChoice = object({
  tools: field(texts, "The tools to offer; all when absent."),
  resources: field(texts, "The resources to offer."),
});

/** One entry of `mcp.servers`, in any of its forms. */
export const MCP_SERVER_REF: Shape = either(
  text,
  {
    ...object({
      server_id: required(text, "Id of the server: a file under mcps/ of this assistant, or of the app."),
      ...serverChoice.fields,
    }),
    marker: "server_id",
  },
  { kind: "map", of: either(texts, serverChoice) },
);

const mcp = object({
  servers: field(listOf(MCP_SERVER_REF), "The servers whose tools the model may call."),
  options: field(
    openObject({
      tool_loop: field(flag, "Whether results of tools go back to the model."),
      max_turn: field({ kind: "number", isWhole: true, min: 1 }, "How often, at most."),
      timeout: field({ kind: "number", min: 0 }, "Seconds a call may take."),
    }),
    "How tools are called.",
  ),
});

const generation = openObject({
  temperature: field(number, "How free the model's choice of words is."),
  top_p: field(number, "The share of likely words to choose from."),
  max_tokens: field(count, "Length of an answer at most."),
  max_completion_tokens: field(count, "Length of an answer at most, thinking included."),
  presence_penalty: field(number, "How much to avoid what was said."),
  frequency_penalty: field(number, "How much to avoid what was said often."),
  seed: field({ kind: "number", isWhole: true }, "Makes answers repeatable where the model can."),
  stop: field(either(text, texts), "Where an answer ends."),
  user: field(text, "Who is asking, for the provider."),
});

/** The file package.yao. */
export const PACKAGE_SHAPE: ObjectShape = object({
  name: required(text, "What people call the assistant; {{ key }} is translated."),
  type: field(text, "What kind of assistant it is: assistant unless stated."),
  avatar: field(text, "Path or address of its picture."),
  description: field(text, "What it is good for; {{ key }} is translated."),
  connector: field(text, "The model it talks to: the id of a connector, $ENV.NAME or use::role."),
  connector_options: field(
    object({
      optional: field(flag, "Whether people may choose another connector."),
      connectors: field(texts, "Which ones; all when empty."),
      filters: field(
        listOf(openWord("vision", "audio", "tool_calls", "reasoning", "stt", "streaming", "json", "multimodal")),
        "What a connector must be able to do.",
      ),
    }),
    "Which connectors people may choose.",
  ),
  tags: field(texts, "Words to find it by."),
  sort: field(number, "Its place in lists."),
  options: field(generation, "Options of the model."),
  placeholder: field(
    object({
      title: field(text, "Title of an empty chat."),
      description: field(text, "Text of an empty chat."),
      prompts: field(texts, "What one could ask."),
    }),
    "What an empty chat shows; {{ key }} is translated.",
  ),
  public: field(flag, "Whether everybody sees it."),
  share: field(word("private", "team"), "Who else sees it: private unless stated."),
  readonly: field(flag, "Whether people may not change it."),
  built_in: field(flag, "Whether it belongs to the system."),
  mentionable: field(flag, "Whether it can be called with @ in a chat."),
  automated: field(flag, "Whether it may be started without a person."),
  disable_global_prompts: field(flag, "Whether it goes without the prompts of agent/prompts.yml."),
  modes: field(texts, "The modes people may choose, such as chat and task."),
  default_mode: field(text, "The mode that is chosen first."),
  mcp: field(mcp, "Its tools."),
  kb: field(
    openObject({
      collections: field(texts, "Ids of the collections."),
      options: field(anyMap, "Options of the search in them."),
    }),
    "The knowledge it may search.",
  ),
  db: {
    shape: openObject({
      models: field(texts, "Ids of the models."),
      options: field(anyMap, "Options of the search in them."),
    }),
    doc: "The data models it may search.",
    tolerated: { kind: "list", message: 'is a list, which is not read: write {"models": […]}' },
  },
  uses: field(object(USES), "Who does what the model itself cannot."),
  search: field(SEARCH_SHAPE, "How it searches."),
  sandbox: field(OLD_SANDBOX_SHAPE, "An older form of the file sandbox.yao beside this one."),
  capabilities: {
    shape: any,
    doc: "An old key: a connector says what its model can do.",
    legacy: "is not read: a connector says what its model can do",
  },
  dependencies: legacy("is not read: an app brings all it needs"),
  hooks: legacy("is not read: hooks are the functions of src/index.ts"),
  version: legacy("is not read: versions are counted when an app is pushed"),
  workflow: legacy("is not read"),
});
