/**
 * The body of a chat completion as a run to create. Pure.
 *
 * Q1  What means the same to every model is passed on; what this system does not do is named in `ignored`, never refused, but for
 *     what would change the meaning of the answer (`n` above 1).
 * Q2  Every part is bounded; a finding names the parameter.
 */

import { isObject, type JsonObject } from "@mesh/kernel";
import { z } from "zod";

import { jsonProblem } from "../gateway/field.ts";
import { invalidFields } from "../gateway/operations.ts";

/** What a request asks for. */
export interface ChatRequest {
  readonly model: string;
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  /** The conversation, as JSON text. */
  readonly messagesJson: string;
  /** The last thing that was said, for lists of runs. */
  readonly input: string;
  readonly options: JsonObject;
  readonly metadata: JsonObject;
  /** Names of the functions that the caller runs. */
  readonly functions: ReadonlySet<string>;
  /** Names of parameters that change nothing here. */
  readonly ignored: readonly string[];
}

const MAX_MESSAGES = 4096;
const MAX_PARTS = 256;
const MAX_SHOWN_CHARS = 4096;
const MAX_FUNCTIONS = 128;
/** What a run can carry. */
const MAX_MESSAGES_CHARS = 740 * 1024;
const MAX_TOOLS_CHARS = 240 * 1024;

const text = z.string();
const part = z
  .looseObject({ type: z.enum(["text", "image_url", "input_audio", "file", "refusal"], "is not a known kind of part") })
  .superRefine((value, context) => {
    const content = value[value.type];
    if (value.type === "text" ? typeof value["text"] !== "string" : content === undefined) {
      context.addIssue({ code: "custom", message: `a part of type ${value.type} needs ${value.type}` });
    }
  });
const content = z.union(
  [text, z.array(part).max(MAX_PARTS, `has more than ${MAX_PARTS} parts`)],
  "must be a text or a list of parts",
);
const call = z.looseObject({
  id: text.min(1).max(1024),
  type: z.literal("function", "only calls of functions are known"),
  function: z.looseObject({ name: text.min(1).max(64), arguments: text }),
});
const message = z
  .looseObject({
    role: z.enum(
      ["system", "developer", "user", "assistant", "tool"],
      "must be one of: system, developer, user, assistant, tool",
    ),
    content: content.nullish(),
    name: text.max(64).nullish(),
    tool_calls: z.array(call).max(MAX_FUNCTIONS, `has more than ${MAX_FUNCTIONS} calls`).nullish(),
    tool_call_id: text.min(1).max(1024).nullish(),
  })
  .superRefine((value, context) => {
    const { role, tool_call_id: id, tool_calls: calls } = value;
    const isEmpty = value.content === null || value.content === undefined;
    if (role === "tool" && (id ?? "") === "") {
      context.addIssue({ code: "custom", path: ["tool_call_id"], message: "is required in a message of a tool" });
    }
    if (isEmpty && (role !== "assistant" || (calls ?? []).length === 0)) {
      context.addIssue({ code: "custom", path: ["content"], message: "is required" });
    }
  });
const tool = z.looseObject({
  type: z.literal("function", "only functions are known; the assistant brings its other tools itself"),
  function: z.looseObject({
    name: text.regex(/^[A-Za-z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, _ and -"),
    description: text.nullish(),
    parameters: z.looseObject({}).nullish(),
  }),
});
const number = (min: number, max: number): z.ZodOptional<z.ZodNullable<z.ZodNumber>> =>
  z.number().min(min, `is less than ${min}`).max(max, `is more than ${max}`).nullish();
const tokens = z.int("must be a whole number").min(1, "is less than 1").max(10_000_000).nullish();

const body = z.looseObject({
  model: text.min(1, "is required").max(300, "is longer than 300 characters"),
  messages: z
    .array(message)
    .min(1, "must hold at least one message")
    .max(MAX_MESSAGES, `has more than ${MAX_MESSAGES} messages`),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  n: z.literal(1, "must be 1: an assistant gives one answer; send several requests for several").nullish(),
  temperature: number(0, 2),
  top_p: number(0, 1),
  presence_penalty: number(-2, 2),
  frequency_penalty: number(-2, 2),
  seed: z.int("must be a whole number").nullish(),
  max_tokens: tokens,
  max_completion_tokens: tokens,
  stop: z.union([text.max(1000), z.array(text.max(1000)).max(4)], "must be a text or a list of at most 4").nullish(),
  reasoning_effort: text.max(20).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  tools: z.array(tool).max(MAX_FUNCTIONS, `has more than ${MAX_FUNCTIONS} functions`).nullish(),
  tool_choice: z.unknown().optional(),
  response_format: z
    .looseObject({
      type: z.enum(["text", "json_object", "json_schema"], "must be text, json_object or json_schema"),
      json_schema: z.looseObject({ name: text.max(64), schema: z.looseObject({}).nullish() }).nullish(),
    })
    .nullish(),
  metadata: z.record(text.max(64), text.max(512)).nullish(),
  user: text.max(512).nullish(),
});

/** The schema of the body, for the document of the interface. */
export const CHAT_BODY: z.ZodObject = body;

const PASSED = [
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "seed",
  "stop",
  "reasoning_effort",
  "parallel_tool_calls",
] as const;
const READ = new Set<string>([...Object.keys(body.shape), "tool_choice"]);

/** Reads a body; throws `invalid_argument` with every finding. */
export function readChatRequest(value: unknown): ChatRequest {
  const parsed = body.safeParse(value, { reportInput: true });
  if (!parsed.success) {
    throw invalidFields(
      parsed.error.issues.map(({ path, message: found, code, input }) => ({
        field: path.map(String).join("."),
        message: code === "invalid_type" && input === undefined ? "is required" : found,
      })),
    );
  }
  const given = parsed.data;
  requireStorable("messages", given.messages, MAX_MESSAGES_CHARS);
  requireStorable("tools", given.tools ?? [], MAX_TOOLS_CHARS);
  const tools = given.tool_choice === "none" ? [] : (given.tools ?? []);
  return {
    model: given.model,
    isStream: given.stream === true,
    includesUsage: given.stream_options?.include_usage === true,
    messagesJson: JSON.stringify(given.messages.map(plainMessage)),
    input: shownInput(given.messages),
    options: optionsOf(given, tools),
    metadata: { ...given.metadata, ...(typeof given.user === "string" ? { user: given.user } : {}) },
    functions: new Set(tools.map((each) => each.function.name)),
    ignored: ignoredIn(given),
  };
}

function requireStorable(field: string, value: unknown, maxChars: number): void {
  const found = jsonProblem(value, maxChars);
  if (found !== undefined) throw invalidFields([{ field, message: found }]);
}

type Body = z.output<typeof body>;

function optionsOf(given: Body, tools: NonNullable<Body["tools"]>): JsonObject {
  const passed = PASSED.flatMap((name) => {
    const value = given[name];
    return value === undefined || value === null ? [] : [[name, value] as const];
  });
  const maxTokens = given.max_completion_tokens ?? given.max_tokens;
  const format = given.response_format;
  // Parsed from JSON text, all of it.
  return {
    ...Object.fromEntries(passed),
    ...(maxTokens === undefined || maxTokens === null ? {} : { max_tokens: maxTokens }),
    ...(tools.length === 0 ? {} : { functions: tools }),
    ...(tools.length > 0 && isForcing(given.tool_choice) ? { tool_choice: given.tool_choice } : {}),
    ...(format === undefined || format === null || format.type === "text" ? {} : { response_format: format }),
  } as JsonObject;
}

/** Without what only describes an answer, such as annotations. */
function plainMessage(given: Body["messages"][number]): JsonObject {
  const { role, content: said, name, tool_calls: calls, tool_call_id: id } = given;
  const parts = Array.isArray(said)
    ? said.map((each) => (each.type === "refusal" ? { type: "text", text: String(each["refusal"]) } : each))
    : said;
  return {
    role,
    content: parts ?? null,
    ...(typeof name === "string" ? { name } : {}),
    ...(calls === undefined || calls === null || calls.length === 0 ? {} : { tool_calls: calls }),
    ...(typeof id === "string" ? { tool_call_id: id } : {}),
  } as JsonObject;
}

function shownInput(messages: Body["messages"]): string {
  const last = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const words = typeof last === "string" ? last : last.map(textOfPart).join("");
  return words.replaceAll("\u0000", "").slice(0, MAX_SHOWN_CHARS);
}

/** Any function, or one of them; other forms of a choice are not known. */
function isForcing(choice: unknown): boolean {
  return choice === "required" || (isObject(choice) && choice["type"] === "function");
}

function textOfPart(given: Readonly<Record<string, unknown>>): string {
  return typeof given["text"] === "string" ? given["text"] : "";
}

function ignoredIn(given: Body): readonly string[] {
  const choice = given.tool_choice;
  const isChoiceMet =
    choice === undefined || choice === null || choice === "auto" || choice === "none" || isForcing(choice);
  const unknown = Object.keys(given).filter((name) => !READ.has(name) && given[name] !== null);
  return [...unknown, ...(isChoiceMet ? [] : ["tool_choice"])];
}
