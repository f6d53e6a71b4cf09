/** What the files of an MCP server may hold: *.mcp.yao, and beside it the descriptions of its tools, resources and prompts. */

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
  required,
  type Shape,
  text,
  textMap,
  texts,
  word,
} from "./shape.ts";

/** A file *.mcp.yao. */
export const MCP_SHAPE: ObjectShape = object({
  label: field(text, "What people call the server."),
  description: field(text, "What its tools are good for."),
  transport: required(word("process", "stdio", "http", "sse"), "How it is reached."),
  tools: field(textMap, "For process: the name of each tool and the process that does it."),
  resources: field(textMap, "For process: the name of each resource and the process that reads it."),
  prompts: field(textMap, "For process: the name of each prompt and the process behind it."),
  command: field(text, "For stdio: the program to start."),
  arguments: field(texts, "For stdio: its arguments; may be $ENV.NAME."),
  env: field(textMap, "For stdio: its variables; values may be $ENV.NAME."),
  url: field(text, "For http and sse: the address; may be $ENV.NAME."),
  endpoint: field(text, "For sse: the path that messages are posted to."),
  authorization_token: field(text, "For http and sse: the token, as $ENV.NAME."),
  timeout: field(either(text, { kind: "number", min: 0 }), "How long a call may take: 30s, or a number of seconds."),
  capabilities: field(anyMap, "What the server can do, as it tells its clients."),
  mapping: field(text, "Where its descriptions are, when not in mapping/NAME."),
  id: legacy("is not read: the id of a server is the path of its file"),
  name: legacy("is not read: use label"),
  version: legacy("is not read"),
  tags: legacy("is not read"),
  enable_sampling: legacy("is not read: a server cannot ask for a model"),
  enable_roots: legacy("is not read: a server is shown no folders"),
  enable_elicitation: legacy("is not read: a server cannot ask people"),
});

const JSON_TYPES = word("string", "number", "integer", "boolean", "object", "array", "null");
const schema: Shape = { kind: "named", name: "schema", shape: () => SCHEMA };
const schemaMap: Shape = { kind: "map", of: schema };
const bound = { kind: "number" } as const;

const SCHEMA_FIELDS: Fields = {
  type: field(either(JSON_TYPES, listOf(JSON_TYPES)), "The JSON type."),
  title: field(text, "A short name."),
  description: field(text, "What it means: the model reads this."),
  properties: field(schemaMap, "The fields of an object."),
  required: field(texts, "The fields that must be there."),
  additionalProperties: field(schema, "Whether there may be other fields, or their form."),
  items: field(either(schema, listOf(schema)), "The form of the items of a list."),
  enum: field(listOf(any), "The values it may have."),
  default: field(any, "The value when there is none."),
  format: field(text, "The form of a text, such as date-time."),
  pattern: field(text, "A regular expression for a text."),
  minimum: field(bound, "The smallest number."),
  maximum: field(bound, "The largest number."),
  minLength: field(count, "The length of a text at least."),
  maxLength: field(count, "The length of a text at most."),
  minItems: field(count, "How many items at least."),
  maxItems: field(count, "How many items at most."),
  anyOf: field(listOf(schema), "Forms of which one must fit."),
  oneOf: field(listOf(schema), "Forms of which exactly one must fit."),
  allOf: field(listOf(schema), "Forms that must all fit."),
};

/** A JSON Schema, as far as a tool's arguments need one; other keywords pass. */
const SCHEMA: Shape = either(flag, openObject(SCHEMA_FIELDS));

const PROCESS_ARGS = field(
  listOf(any),
  'How the process is called: ":arguments" for all of them, "$args.field" for one, or a constant.',
);

const ARGUMENTS: Fields = { ...SCHEMA_FIELDS, type: field(word("object"), "Arguments are always an object.") };

/** A file *.in.yao: the JSON Schema of a tool's arguments, or the tool as MCP describes it, with the schema inside. */
export const TOOL_INPUT_SHAPE: ObjectShape = openObject({
  ...ARGUMENTS,
  name: field(text, "Name of the tool; its file already says it."),
  inputSchema: field(openObject(ARGUMENTS), "The form of the arguments, where the file describes the whole tool."),
  "x-process-args": PROCESS_ARGS,
});

/** A file *.out.yao: the JSON Schema of a tool's result. */
export const TOOL_OUTPUT_SHAPE: ObjectShape = openObject({
  ...SCHEMA_FIELDS,
  name: field(text, "Name of the tool; its file already says it."),
  outputSchema: field(openObject(SCHEMA_FIELDS), "The form of the result, where the file describes the whole tool."),
});

/** A file *.res.yao. */
export const RESOURCE_SHAPE: ObjectShape = object({
  uri: required(text, "Address of the resource; {name} stands for a parameter."),
  name: field(text, "What people call it."),
  description: field(text, "What it holds."),
  mimeType: field(text, "Its media type."),
  parameters: field(any, "The parameters in the address."),
  meta: field(anyMap, "Anything else about it."),
  schema: field(openObject(SCHEMA_FIELDS), "The form of its content."),
  "x-process-args": PROCESS_ARGS,
});

/** A file *.pmt.yao. */
export const PROMPT_TEMPLATE_SHAPE: ObjectShape = object({
  name: field(text, "Name of the prompt; its file already says it."),
  description: field(text, "What it is for."),
  template: field(text, "The text; {{ name }} stands for an argument."),
  arguments: field(
    listOf(
      object({
        name: required(text, "Name of the argument."),
        description: field(text, "What it means."),
        required: field(flag, "Whether it must be given."),
      }),
    ),
    "The arguments.",
  ),
  messages: field(
    listOf(
      object({
        role: required(word("user", "assistant", "system"), "Who speaks."),
        content: required(
          either(text, openObject({ type: field(text, "Kind of content."), text: field(text, "The text.") })),
          "What is said.",
        ),
      }),
    ),
    "Messages instead of one text.",
  ),
});

/** One line of a samples file. */
export const SAMPLE_SHAPE: ObjectShape = openObject({
  name: field(text, "Name of the sample."),
  description: field(text, "What it shows."),
  input: field(any, "The arguments of the call."),
  output: field(any, "The result."),
  uri: field(text, "Address of the resource that was read."),
  data: field(any, "What was read."),
});
