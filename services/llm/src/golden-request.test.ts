/**
 * What we send beside what the official SDKs send for the same conversation. Fields that differ are listed with the reason
 * in the test; everything else must be equal.
 */

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { AzureOpenAI } from "openai";
import { afterEach, describe, expect, test, vi } from "vitest";

import { buildAnthropicRequest } from "./anthropic-request.ts";
import { buildCompletionsRequest } from "./completions-request.ts";
import { buildGeminiRequest } from "./gemini-request.ts";
import { buildResponsesRequest } from "./responses-request.ts";
import { weatherCall, weatherKey, weatherPicture, weatherSchema } from "./testing/index.ts";

interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Runs an SDK against a fetch that keeps the request and answers nothing. */
async function sentBy(call: (send: typeof fetch) => Promise<unknown>): Promise<Sent> {
  let sent: Sent | undefined;
  const send: typeof fetch = (input, init) => {
    const request = input instanceof Request ? input : undefined;
    sent = {
      url: request?.url ?? String(input as string | URL),
      headers: new Headers(init?.headers ?? request?.headers),
      body: JSON.parse(init?.body as string) as Record<string, unknown>,
    };
    return Promise.resolve(new Response("data: [DONE]\n\n", { headers: { "content-type": "text/event-stream" } }));
  };
  await call(send);
  if (sent === undefined) throw new Error("the SDK sent nothing");
  return sent;
}

afterEach(() => vi.unstubAllGlobals());

describe("OpenAI Chat Completions", () => {
  test("sends what the official SDK sends", async () => {
    const params: OpenAI.ChatCompletionCreateParamsStreaming = {
      model: "m-1",
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "Weather?" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${weatherPicture}` } },
          ],
        },
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Bern"}' } },
            { id: "call_2", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "sunny" },
        { role: "tool", tool_call_id: "call_2", content: "no such city" },
        { role: "user", content: "And tomorrow?" },
      ],
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 500,
      temperature: 0.5,
      tools: [
        {
          type: "function",
          function: { name: "weather", description: "Weather of a city", parameters: { ...weatherSchema } },
        },
      ],
    };
    const sdk = await sentBy((send) =>
      new OpenAI({ apiKey: weatherKey, maxRetries: 0, fetch: send }).chat.completions.create(params),
    );
    const ours = buildCompletionsRequest(weatherCall("openai-completions", { provider: "openai" }));
    expect(JSON.parse(ours.body)).toEqual(sdk.body);
    expect(ours.url).toBe(sdk.url);
    expect(ours.headers["authorization"]).toBe(sdk.headers.get("authorization"));
    expect(ours.headers["content-type"]).toBe(sdk.headers.get("content-type"));
  });
});

describe("OpenAI Responses", () => {
  const params: OpenAI.Responses.ResponseCreateParamsStreaming = {
    model: "m-1",
    instructions: "Be brief.",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "Weather?" },
          { type: "input_image", image_url: `data:image/png;base64,${weatherPicture}`, detail: "auto" },
        ],
      },
      // The SDK's type wants an id here, the API does not: an id without its reasoning item is refused.
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Looking.", annotations: [] }],
      } as unknown as OpenAI.Responses.ResponseOutputMessage,
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Bern"}' },
      { type: "function_call", call_id: "call_2", name: "weather", arguments: '{"city":"Oslo"}' },
      { type: "function_call_output", call_id: "call_1", output: "sunny" },
      { type: "function_call_output", call_id: "call_2", output: "no such city" },
      { role: "user", content: [{ type: "input_text", text: "And tomorrow?" }] },
    ],
    stream: true,
    max_output_tokens: 500,
    temperature: 0.5,
    tools: [
      {
        type: "function",
        name: "weather",
        description: "Weather of a city",
        parameters: { ...weatherSchema },
        strict: false,
      },
    ],
  };

  test("sends what the official SDK sends", async () => {
    const sdk = await sentBy((send) =>
      new OpenAI({ apiKey: weatherKey, maxRetries: 0, fetch: send }).responses.create(params),
    );
    const ours = buildResponsesRequest(weatherCall("openai-responses"));
    expect(JSON.parse(ours.body)).toEqual(sdk.body);
    expect(ours.url).toBe(sdk.url);
    expect(ours.headers["authorization"]).toBe(sdk.headers.get("authorization"));
  });

  test("sends to Azure what the official SDK sends there", async () => {
    const baseURL = "https://res.openai.azure.com/openai/v1/";
    const sdk = await sentBy((send) =>
      new AzureOpenAI({ apiKey: weatherKey, apiVersion: "v1", baseURL, maxRetries: 0, fetch: send }).responses.create(
        params,
      ),
    );
    const ours = buildResponsesRequest(
      weatherCall("azure-openai-responses", { baseUrl: "https://res.openai.azure.com" }),
    );
    expect(JSON.parse(ours.body)).toEqual(sdk.body);
    // The SDK always adds an api-version; the v1 API needs none.
    expect(ours.url).toBe(sdk.url.replace(/\?.*/, ""));
    expect(ours.headers["api-key"]).toBe(sdk.headers.get("api-key"));
    expect(ours.headers["authorization"]).toBeUndefined();
  });
});

describe("Anthropic Messages", () => {
  test("sends what the official SDK sends", async () => {
    const params: Anthropic.MessageCreateParamsStreaming = {
      model: "m-1",
      max_tokens: 500,
      stream: true,
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Weather?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: weatherPicture } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Looking." },
            { type: "tool_use", id: "call_1", name: "weather", input: { city: "Bern" } },
            { type: "tool_use", id: "call_2", name: "weather", input: { city: "Oslo" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "call_1", content: "sunny" },
            { type: "tool_result", tool_use_id: "call_2", content: "no such city", is_error: true },
          ],
        },
        { role: "user", content: [{ type: "text", text: "And tomorrow?" }] },
      ],
      tools: [
        { name: "weather", description: "Weather of a city", input_schema: { ...weatherSchema, required: ["city"] } },
      ],
    };
    const sdk = await sentBy((send) =>
      new Anthropic({ apiKey: weatherKey, maxRetries: 0, fetch: send }).messages.create(params),
    );
    // The SDK's newest type knows no temperature; the API still takes one from models that allow it, and so do we.
    const { temperature: _left, ...plain } = weatherCall("anthropic-messages");
    const ours = buildAnthropicRequest(plain);
    expect(JSON.parse(ours.body)).toEqual(sdk.body);
    // The SDK asks for its beta surface in the query for some calls; the plain address is the documented one.
    expect(ours.url).toBe(sdk.url.replace(/\?beta=true$/, ""));
    expect(ours.headers["content-type"]).toBe(sdk.headers.get("content-type"));
    // The SDK sends the key as a bearer token under a newer version. We stay with `x-api-key` and the version that
    // the servers which imitate this API know too; both are accepted.
    expect(sdk.headers.get("authorization")).toBe(`Bearer ${weatherKey}`);
    expect(ours.headers["x-api-key"]).toBe(weatherKey);
    expect(ours.headers["anthropic-version"]).toBe("2023-06-01");
  });
});

describe("Gemini", () => {
  test("sends what the official SDK makes of the same conversation", async () => {
    const sdk = await sentBy(async (send) => {
      // This SDK takes no fetch of its own.
      vi.stubGlobal("fetch", send);
      const client = new GoogleGenAI({ apiKey: weatherKey });
      await client.models.generateContentStream({
        model: "m-1",
        contents: [
          {
            role: "user",
            parts: [{ text: "Weather?" }, { inlineData: { mimeType: "image/png", data: weatherPicture } }],
          },
          {
            role: "model",
            parts: [
              { text: "Looking." },
              { functionCall: { id: "call_1", name: "weather", args: { city: "Bern" } } },
              { functionCall: { id: "call_2", name: "weather", args: { city: "Oslo" } } },
            ],
          },
          {
            role: "user",
            parts: [
              { functionResponse: { id: "call_1", name: "weather", response: { result: "sunny" } } },
              { functionResponse: { id: "call_2", name: "weather", response: { error: "no such city" } } },
            ],
          },
          { role: "user", parts: [{ text: "And tomorrow?" }] },
        ],
        config: {
          systemInstruction: { parts: [{ text: "Be brief." }] },
          maxOutputTokens: 500,
          temperature: 0.5,
          tools: [
            {
              functionDeclarations: [
                { name: "weather", description: "Weather of a city", parameters: weatherSchema as never },
              ],
            },
          ],
        },
      });
    });
    const ours = buildGeminiRequest(weatherCall("google-generative-ai"));
    const body = JSON.parse(ours.body) as Record<string, unknown>;
    // The SDK gives a system instruction the role "user", which the API ignores.
    expect({ ...body, systemInstruction: undefined }).toEqual({ ...sdk.body, systemInstruction: undefined });
    expect(body["systemInstruction"]).toMatchObject({ parts: [{ text: "Be brief." }] });
    expect(ours.url).toBe(sdk.url);
    expect(ours.headers["x-goog-api-key"]).toBe(sdk.headers.get("x-goog-api-key"));
  });
});
