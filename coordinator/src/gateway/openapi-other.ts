/** What the OpenAPI document says about routes beside the operation table. */

import { ERROR_CODES } from "@mesh/kernel";
import { z } from "zod";

import { CHAT_BODY } from "../openai/chat-request.ts";

type Schema = Readonly<Record<string, unknown>>;

const json = (schema: Schema): Schema => ({ "application/json": { schema } });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: Schema, required: readonly string[] = Object.keys(properties)): Schema => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const text: Schema = { type: "string" };
const count: Schema = { type: "integer", minimum: 0 };
const orNull = (type: string): Schema => ({ type: [type, "null"] });
const nothing = (description: string): Schema => ({ type: "null", description });

const plain = (summary: string, contentType: string, schema: Schema = {}): Schema => ({
  get: {
    summary,
    security: [],
    responses: { 200: { description: "Done.", content: { [contentType]: { schema } } } },
  },
});

const toolCall = object({
  id: text,
  type: { const: "function" },
  function: object({ name: text, arguments: text }),
});
const usage = object({ prompt_tokens: count, completion_tokens: count, total_tokens: count }, [
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
]);
const finishReason = { enum: ["stop", "length", "tool_calls", "content_filter"] };

/** Schemas of these routes, by name. */
export const OTHER_SCHEMAS: Schema = {
  ChatCompletion: object({
    id: text,
    object: { const: "chat.completion" },
    created: count,
    model: text,
    choices: {
      type: "array",
      items: object({
        index: count,
        message: object(
          {
            role: { const: "assistant" },
            content: orNull("string"),
            refusal: nothing("A refusal is content here, with the finish reason content_filter."),
            reasoning_content: text,
            tool_calls: { type: "array", items: toolCall },
          },
          ["role", "content", "refusal"],
        ),
        logprobs: nothing("Not told."),
        finish_reason: finishReason,
      }),
    },
    usage,
  }),
  Model: object({ id: text, object: { const: "model" }, created: count, owned_by: text }),
  ModelList: object({ object: { const: "list" }, data: { type: "array", items: ref("Model") } }),
  OpenAiError: object({
    error: object(
      {
        message: text,
        type: text,
        param: orNull("string"),
        code: orNull("string"),
        yao: object({ run: text, pending: { type: "array", items: { type: "object" } } }, ["run"]),
      },
      ["message", "type", "param", "code"],
    ),
  }),
  ProblemType: object({ type: text, title: text, status: count, code: text, detail: text }),
};

const refused = { description: "Refused or failed.", content: json(ref("OpenAiError")) };

const chatBody = (): Schema => {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(CHAT_BODY, { io: "input", unrepresentable: "any" });
  return schema;
};

const header = (description: string): Schema => ({ description, schema: text });
const CHAT: Schema = {
  post: {
    operationId: "createChatCompletion",
    summary: "Answers a conversation with an assistant, in the form of OpenAI's chat completions.",
    description:
      "The model is the id of an assistant, or WORKSPACE/ID outside of the default workspace. The answer is that of a run, which the header x-yao-run names. A client that goes away cancels the run, unless it sent an Idempotency-Key. A run that asks a person ends the request with the error needs_input.",
    tags: ["OpenAI"],
    "x-scope": "runs",
    "x-assistant-tokens": true,
    parameters: [
      { name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 200 } },
    ],
    requestBody: { required: true, content: json(chatBody()) },
    responses: {
      200: {
        description: "Done.",
        headers: {
          "x-yao-run": header("Id of the run."),
          "x-yao-ignored": header("Names of parameters that changed nothing."),
        },
        content: {
          ...json(ref("ChatCompletion")),
          "text/event-stream": {
            schema: { type: "string", description: "With stream: chat.completion.chunk objects, then [DONE]." },
          },
        },
      },
      default: refused,
    },
  },
};

const models = (operationId: string, summary: string, schema: Schema, parameters: readonly Schema[] = []): Schema => ({
  get: {
    operationId,
    summary,
    tags: ["OpenAI"],
    "x-scope": "read",
    "x-assistant-tokens": true,
    parameters,
    responses: { 200: { description: "Done.", content: json(schema) }, default: refused },
  },
});

/** Paths beside the operation table. */
export const OTHER_PATHS: Schema = {
  "/healthz": plain("Whether the process lives.", "application/json"),
  "/readyz": plain("Whether it can serve; 503 with the reasons otherwise.", "application/json"),
  "/metrics": plain("Numbers for Prometheus; from this machine, or with a token.", "text/plain"),
  "/v1/openapi.json": plain("This document.", "application/json"),
  "/v1/docs": plain("This document as a page.", "text/html", { type: "string" }),
  "/v1/problems/{problem}": {
    get: {
      operationId: "describeProblem",
      summary: "Says what a type of problem means: where the type of an error leads.",
      security: [],
      tags: ["System"],
      parameters: [{ name: "problem", in: "path", required: true, schema: { enum: [...ERROR_CODES] } }],
      responses: {
        200: { description: "Done.", content: json(ref("ProblemType")) },
        default: {
          description: "Refused or failed.",
          content: { "application/problem+json": { schema: ref("ErrorProblem") } },
        },
      },
    },
  },
  "/v1/chat/completions": CHAT,
  "/v1/models": models("listModels", "Lists the assistants that may be run, as models.", ref("ModelList")),
  "/v1/models/{model}": models(
    "retrieveModel",
    "Reads one of them; a slash in its id may stand as it is.",
    ref("Model"),
    [{ name: "model", in: "path", required: true, schema: text }],
  ),
};
