/** What the official conformance suite expects a server to offer, as a definition for ours. */

import type { Json, JsonObject } from "@mesh/kernel";

import type { McpServed, McpServerDefinition } from "../server-definition.ts";
import type { McpContent, McpPromptResult, McpTool, McpToolResult } from "../session.ts";

type Served = McpServed<string>;

interface Offer {
  readonly about: string;
  readonly input?: JsonObject;
  readonly call: (args: JsonObject, served: Served) => McpToolResult | Promise<McpToolResult>;
}

// One red pixel, and a silent sound.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const NO_INPUT: JsonObject = { type: "object", properties: {} };

const image: McpContent = { type: "image", data: PNG, mimeType: "image/png" };

function text(value: string): McpContent {
  return { type: "text", text: value };
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textInput(name: string): JsonObject {
  return { type: "object", properties: { [name]: { type: "string" } }, required: [name] };
}

function choices(...pairs: readonly (readonly [string, string])[]): Json {
  return pairs.map(([value, title]) => ({ const: value, title }));
}

async function elicit(served: Served, message: string, properties: JsonObject): Promise<McpToolResult> {
  const answer = await served.ask("elicitation/create", { message, requestedSchema: { type: "object", properties } });
  const content = JSON.stringify(answer["content"] ?? {});
  return { content: [text(`Elicitation completed: action=${JSON.stringify(answer["action"])}, content=${content}`)] };
}

const THREE = ["option1", "option2", "option3"];

const OFFERS: Readonly<Record<string, Offer>> = {
  test_simple_text: {
    about: "Answers with a text",
    call: () => ({ content: [text("This is a simple text response for testing.")] }),
  },
  test_image_content: { about: "Answers with an image", call: () => ({ content: [image] }) },
  test_audio_content: {
    about: "Answers with a sound",
    call: () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }),
  },
  test_embedded_resource: {
    about: "Answers with a resource",
    call: () => ({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
  },
  test_multiple_content_types: {
    about: "Answers with a text, an image and a resource",
    call: () => ({
      content: [
        text("Multiple content types test:"),
        image,
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
  },
  test_tool_with_logging: {
    about: "Logs three lines",
    call: (_args, { log }) => {
      log("info", "Tool execution started");
      log("info", "Tool processing data");
      log("info", "Tool execution completed");
      return { content: [text("Tool with logging executed successfully")] };
    },
  },
  test_tool_with_progress: {
    about: "Reports progress three times",
    call: (_args, { progress }) => {
      for (const done of [0, 50, 100]) progress({ progress: done, total: 100 });
      return { content: [text("Tool with progress executed successfully")] };
    },
  },
  test_error_handling: {
    about: "Fails",
    call: () => ({ isError: true, content: [text("This tool intentionally returns an error for testing")] }),
  },
  test_reconnection: {
    about: "Answers on a stream that can be resumed",
    call: () => ({ content: [text("Reconnection test completed successfully.")] }),
  },
  test_sampling: {
    about: "Asks the client's model",
    input: textInput("prompt"),
    call: async ({ prompt = "" }, served) => {
      const messages = [{ role: "user", content: { type: "text", text: prompt } }];
      const answer = await served.ask("sampling/createMessage", { messages, maxTokens: 100 });
      return { content: [text(`LLM response: ${JSON.stringify(answer["content"])}`)] };
    },
  },
  test_elicitation: {
    about: "Asks the client's user",
    input: textInput("message"),
    call: ({ message = "" }, served) =>
      elicit(served, textOf(message), { username: { type: "string" }, email: { type: "string" } }),
  },
  test_elicitation_sep1034_defaults: {
    about: "Asks with defaults",
    call: (_args, served) =>
      elicit(served, "Please review", {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      }),
  },
  test_elicitation_sep1330_enums: {
    about: "Asks with choices",
    call: (_args, served) =>
      elicit(served, "Please choose", {
        untitledSingle: { type: "string", enum: THREE },
        titledSingle: { type: "string", oneOf: choices(["value1", "First Option"], ["value2", "Second Option"]) },
        legacyEnum: { type: "string", enum: ["opt1", "opt2"], enumNames: ["Option One", "Option Two"] },
        untitledMulti: { type: "array", items: { type: "string", enum: THREE } },
        titledMulti: {
          type: "array",
          items: { anyOf: choices(["value1", "First Choice"], ["value2", "Second Choice"]) },
        },
      }),
  },
  json_schema_2020_12_tool: {
    about: "Has a schema with definitions",
    input: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
      },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
      additionalProperties: false,
    },
    call: (args) => ({ content: [text(JSON.stringify(args))] }),
  },
};

const PROMPTS: Readonly<Record<string, (args: JsonObject) => McpPromptResult>> = {
  test_simple_prompt: () => asked(text("This is a simple prompt for testing.")),
  test_prompt_with_arguments: ({ arg1 = "", arg2 = "" }) =>
    asked(text(`Prompt with arguments: arg1='${textOf(arg1)}', arg2='${textOf(arg2)}'`)),
  test_prompt_with_embedded_resource: ({ resourceUri = "" }) =>
    asked(
      {
        type: "resource",
        resource: {
          uri: textOf(resourceUri),
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      },
      text("Please process the embedded resource above."),
    ),
  test_prompt_with_image: () => asked(image, text("Please analyze the image above.")),
};

const ARGUMENTS: Readonly<Record<string, readonly string[] | undefined>> = {
  test_prompt_with_arguments: ["arg1", "arg2"],
  test_prompt_with_embedded_resource: ["resourceUri"],
};

function asked(...contents: readonly McpContent[]): McpPromptResult {
  return { messages: contents.map((content) => ({ role: "user", content })) };
}

function toolOf([name, { about, input }]: [string, Offer]): McpTool {
  return { name, description: about, inputSchema: input ?? NO_INPUT };
}

/** The definition. */
export const conformanceOffer: McpServerDefinition<string> = {
  name: "yao-mesh-conformance",
  version: "1.0.0",
  listTools: () => Promise.resolve(Object.entries(OFFERS).map(toolOf)),
  callTool: async (name, args, served) => {
    const offer = OFFERS[name];
    return offer === undefined ? { isError: true, content: [] } : offer.call(args, served);
  },
  listResources: () =>
    Promise.resolve([
      { uri: "test://static-text", name: "Static text", mimeType: "text/plain" },
      { uri: "test://static-binary", name: "Static image", mimeType: "image/png" },
      { uri: "test://watched-resource", name: "Watched", mimeType: "text/plain" },
    ]),
  listResourceTemplates: () =>
    Promise.resolve([{ uriTemplate: "test://template/{id}/data", name: "Data by id", mimeType: "application/json" }]),
  readResource: (uri) => {
    if (uri === "test://static-binary")
      return Promise.resolve({ contents: [{ uri, mimeType: "image/png", blob: PNG }] });
    const id = /^test:\/\/template\/(.+)\/data$/.exec(uri)?.[1];
    const body =
      id === undefined
        ? "This is the content of the static text resource."
        : JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return Promise.resolve({
      contents: [{ uri, mimeType: id === undefined ? "text/plain" : "application/json", text: body }],
    });
  },
  watchResource: () => () => undefined,
  listPrompts: () =>
    Promise.resolve(
      Object.keys(PROMPTS).map((name) => ({
        name,
        description: `The suite's ${name}`,
        arguments: ARGUMENTS[name]?.map((argument) => ({ name: argument, required: true })),
      })),
    ),
  getPrompt: async (name, args) => PROMPTS[name]?.(args) ?? { messages: [] },
  complete: ({ argument }) =>
    Promise.resolve(["paris", "park", "party"].filter((word) => word.startsWith(argument.value))),
};
