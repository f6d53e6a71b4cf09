import { expect, test } from "vitest";

import { load } from "./testing/app-of.ts";

const PACKAGE = "assistants/a/package.yao";
const PROMPTS = "assistants/a/prompts.yml";
const CONNECTOR = "connectors/c.conn.yao";

test.each<[name: string, file: string, text: string, expected: string[]]>([
  ["an empty package", PACKAGE, "", ["error assistants/a/package.yao:1 the file is empty"]],
  [
    "a missing comma",
    PACKAGE,
    '{\n  "name": "A"\n  "sort": 1\n}',
    ["error assistants/a/package.yao:3 not JSON: a comma is missing before this"],
  ],
  [
    "an unclosed object",
    PACKAGE,
    '{\n  "name": "A",\n',
    ["error assistants/a/package.yao:3 not JSON: the file ends too early; a bracket is not closed"],
  ],
  [
    "an unclosed string",
    PACKAGE,
    '{\n  "name": "A,\n}',
    ["error assistants/a/package.yao:2 not JSON: a string is not closed on its line"],
  ],
  [
    "a key without quotes",
    PACKAGE,
    "{\n  name: 1\n}",
    [
      "error assistants/a/package.yao:2 not JSON: text that is neither a string in double quotes, a number, true, false nor null",
    ],
  ],
  ["a list as a package", PACKAGE, "\n[]", ["error assistants/a/package.yao:2 package.yao must be an object"]],
  ["no name", PACKAGE, "{\n}", ["error assistants/a/package.yao:1 name is missing: it must be text"]],
  [
    "an empty name",
    PACKAGE,
    '{\n"name": " "}',
    ["error assistants/a/package.yao:2 name is empty: say what people shall call this assistant"],
  ],
  [
    "tags that are text",
    PACKAGE,
    '{"name": "A",\n"tags": "x"}',
    ['error assistants/a/package.yao:2 tags must be a list of strings, not "x"'],
  ],
  [
    "a tag that is a number",
    PACKAGE,
    '{"name": "A",\n"tags": [\n"x",\n2]}',
    ["error assistants/a/package.yao:4 tags must be a list of strings: item 2 is 2"],
  ],
  [
    "a sort that is text",
    PACKAGE,
    '{"name": "A", "sort": "1"}',
    ['error assistants/a/package.yao:1 sort must be a number, not "1"'],
  ],
  [
    "a flag that is text",
    PACKAGE,
    '{"name": "A", "public": "yes"}',
    ['error assistants/a/package.yao:1 public must be true or false, not "yes"'],
  ],
  [
    "a share that does not exist",
    PACKAGE,
    '{"name": "A", "share": "all"}',
    ['error assistants/a/package.yao:1 share must be "private" or "team", not "all"'],
  ],
  [
    "options that are a list",
    PACKAGE,
    '{"name": "A", "options": []}',
    ["error assistants/a/package.yao:1 options must be an object, not a list"],
  ],
  [
    "a wrong type inside a field",
    PACKAGE,
    '{"name": "A", "placeholder": {\n"prompts": true}}',
    ["error assistants/a/package.yao:2 placeholder.prompts must be a list of strings, not true"],
  ],
  [
    "a use that is not text",
    PACKAGE,
    '{"name": "A", "uses": {"search": 1}}',
    ["error assistants/a/package.yao:1 uses.search must be text, not 1"],
  ],
  [
    "a server that is neither text nor object",
    PACKAGE,
    '{"name": "A", "mcp": {"servers": ["x", 1]}}',
    ["error assistants/a/package.yao:1 mcp.servers must be a list of strings or objects: item 2 is 1"],
  ],
  [
    "several errors at once",
    PACKAGE,
    '{"sort": true,\n"tags": 1}',
    [
      "error assistants/a/package.yao:1 name is missing: it must be text",
      "error assistants/a/package.yao:1 sort must be a number, not true",
      "error assistants/a/package.yao:2 tags must be a list of strings, not 1",
    ],
  ],
  [
    "a slip of the hand",
    PACKAGE,
    '{"name": "A",\n"tag": []}',
    ["warning assistants/a/package.yao:2 unknown key tag; did you mean tags?"],
  ],
  [
    "an unknown key",
    PACKAGE,
    '{"name": "A",\n"colour": 1}',
    ["warning assistants/a/package.yao:2 unknown key colour; it is ignored"],
  ],
  [
    "an unknown key inside a field",
    PACKAGE,
    '{"name": "A", "placeholder": {"titel": ""}}',
    ["warning assistants/a/package.yao:1 unknown key placeholder.titel; did you mean placeholder.title?"],
  ],
  [
    "old keys",
    PACKAGE,
    '{"name": "A", "db": [],\n"hooks": 1,\n"option": {},\n"version": 2}',
    [
      'note assistants/a/package.yao:1 db is a list, which is not read: write {"models": […]}',
      "note assistants/a/package.yao:2 hooks is not read: hooks are the functions of src/index.ts",
      "warning assistants/a/package.yao:3 unknown key option; did you mean options?",
      "note assistants/a/package.yao:4 version is not read: versions are counted when an app is pushed",
    ],
  ],
  [
    "a key set twice",
    PACKAGE,
    '{"name": "A",\n"name": "B"}',
    ['warning assistants/a/package.yao:2 "name" is set twice; the last one is used'],
  ],
  [
    "a key that reaches the prototype",
    PACKAGE,
    '{"name": "A",\n"__proto__": {"public": true}}',
    ['error assistants/a/package.yao:2 the key "__proto__" is not allowed'],
  ],
  [
    "JSON nested too deep",
    PACKAGE,
    `{"name": "A",\n"options": ${'{"a":'.repeat(70)}1${"}".repeat(70)}}`,
    ["error assistants/a/package.yao:2 nested more than 64 levels deep"],
  ],
  [
    "prompts that are a mapping",
    PROMPTS,
    "role: system",
    ["error assistants/a/prompts.yml:1 prompts must be a list: start each one with “- role: system”"],
  ],
  [
    "a prompt that is text",
    PROMPTS,
    "- role: user\n  content: x\n- hello",
    ["error assistants/a/prompts.yml:3 prompt 2 must be a mapping with role and content"],
  ],
  [
    "a prompt without a role",
    PROMPTS,
    "- content: x",
    ['error assistants/a/prompts.yml:1 prompt 1: role is missing: it must be "system" or "user" or "assistant"'],
  ],
  [
    "a role that does not exist",
    PROMPTS,
    "- role: robot\n  content: x",
    ['error assistants/a/prompts.yml:1 prompt 1: role must be "system" or "user" or "assistant", not "robot"'],
  ],
  [
    "a prompt without content",
    PROMPTS,
    "- role: user\n  content:\n",
    ["error assistants/a/prompts.yml:1 prompt 1: content is missing: it must be text"],
  ],
  [
    "a content that is a number",
    PROMPTS,
    "- role: user\n  content: 5",
    ["error assistants/a/prompts.yml:2 prompt 1: content must be text, not 5"],
  ],
  [
    "a slip in a prompt",
    PROMPTS,
    "- role: user\n  content: x\n  nmae: y",
    ["warning assistants/a/prompts.yml:3 unknown key prompt 1: nmae; did you mean prompt 1: name?"],
  ],
  [
    "a tab",
    PROMPTS,
    "- role: user\n\tcontent: x",
    ["error assistants/a/prompts.yml:2 not YAML: indented with a tab; use spaces"],
  ],
  [
    "an unclosed quote",
    PROMPTS,
    '- role: "user\n  content: x\n',
    [
      "error assistants/a/prompts.yml:3 not YAML: something is missing here, such as a colon after a key, a closing quote or a closing bracket",
    ],
  ],
  [
    "a colon in plain text",
    PROMPTS,
    "- role: user\n  content: say: hello",
    [
      "error assistants/a/prompts.yml:2 not YAML: a mapping cannot start here; put it on a line of its own, or quote text that holds a colon",
    ],
  ],
  [
    "a YAML key set twice",
    PROMPTS,
    "- role: user\n  content: x\n  role: system",
    ['error assistants/a/prompts.yml:3 "role" is set twice in the same mapping'],
  ],
  [
    "an alias of nothing",
    PROMPTS,
    "- *none",
    ["error assistants/a/prompts.yml:1 *none stands for nothing: there is no &none before it"],
  ],
  ["an alias of itself", PROMPTS, "&a [*a]", ["error assistants/a/prompts.yml:1 nested more than 64 levels deep"]],
  [
    "two documents",
    PROMPTS,
    "- role: user\n  content: x\n---\n- role: user\n  content: y",
    ['error assistants/a/prompts.yml:3 not YAML: more than one document; remove the "---" line'],
  ],
  [
    "a YAML prototype key",
    PROMPTS,
    "- role: user\n  content: x\n  __proto__: 1",
    ['error assistants/a/prompts.yml:3 the key "__proto__" is not allowed'],
  ],
  [
    "YAML nested too deep",
    PROMPTS,
    "[".repeat(100),
    ["error assistants/a/prompts.yml:1 nested more than 64 levels deep"],
  ],
  [
    "a prompts file with the other ending",
    "assistants/a/prompts.yaml",
    "",
    ["warning assistants/a/prompts.yaml:0 this file is not read; rename it to prompts.yml"],
  ],
  [
    "a broken preset",
    "assistants/a/prompts/x.yml",
    "5",
    ["error assistants/a/prompts/x.yml:1 prompts must be a list: start each one with “- role: system”"],
  ],
  [
    "a locale that is a list",
    "assistants/a/locales/en.yml",
    "- a",
    ["error assistants/a/locales/en.yml:1 a locale file must be a mapping of keys to texts"],
  ],
  ["settings that are a list", "agent/agent.yml", "- a", ["error agent/agent.yml:1 agent.yml must be a mapping"]],
  [
    "a setting of the wrong type",
    "agent/agent.yml",
    "uses:\n  vision: [a]",
    ["error agent/agent.yml:2 uses.vision must be text, not a list"],
  ],
  ["a connector that is a list", CONNECTOR, "[]", ["error connectors/c.conn.yao:1 a connector file must be an object"]],
  [
    "a connector without anything",
    CONNECTOR,
    "{}",
    [
      "error connectors/c.conn.yao:1 options is missing: it must be an object",
      "error connectors/c.conn.yao:1 type is missing: it must be text",
    ],
  ],
  [
    "a connector without a model",
    CONNECTOR,
    '{"type": "openai",\n"options": {"key": "$ENV.K"}}',
    ["error connectors/c.conn.yao:2 options.model is missing: it must be text"],
  ],
  [
    "a model that is a number",
    CONNECTOR,
    '{"type": "openai", "options": {\n"model": 4}}',
    ["error connectors/c.conn.yao:2 options.model must be text, not 4"],
  ],
  [
    "a key in the file",
    CONNECTOR,
    '{"type": "openai", "options": {"model": "m",\n"key": "sk-secret"}}',
    [
      "warning connectors/c.conn.yao:2 options.key is written in the file; put it in $ENV.NAME or use “yao connector add c”",
    ],
  ],
  [
    "a database",
    CONNECTOR,
    '{"type": "mysql", "options": {"db": "x"}}',
    ['note connectors/c.conn.yao:1 type "mysql" is a database, which no assistant can be run with; it is ignored'],
  ],
  [
    "a name that cannot be an id",
    "connectors/a b.conn.yao",
    "{}",
    [
      'error connectors/a b.conn.yao:0 "a b" cannot be an id: the names of its folders may hold letters, digits, - and _, at most 128 characters in all',
    ],
  ],
])("%s is reported with file, line and reason", (_name, file, text, expected) => {
  expect(load({ [file]: text }).findings).toEqual(expected);
});
