/** What we send to Bedrock beside what its official SDK sends for the same conversation. */

import { BedrockRuntimeClient, ConverseStreamCommand } from "@aws-sdk/client-bedrock-runtime";
import { expect, test } from "vitest";

import { buildBedrockRequest } from "./bedrock-request.ts";
import { weatherCall, weatherPicture, weatherSchema } from "./testing/index.ts";

const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret-secret-secret" };

interface SdkRequest {
  readonly hostname: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

async function sentByAws(input: ConstructorParameters<typeof ConverseStreamCommand>[0]): Promise<SdkRequest> {
  let sent: SdkRequest | undefined;
  const requestHandler = {
    handle(request: SdkRequest) {
      sent = request;
      return Promise.reject(new Error("no network in a test"));
    },
  };
  const client = new BedrockRuntimeClient({
    region: "us-east-1",
    credentials,
    maxAttempts: 1,
    requestHandler: requestHandler as never,
  });
  await expect(client.send(new ConverseStreamCommand(input))).rejects.toThrow("no network");
  if (sent === undefined) throw new Error("the SDK sent nothing");
  return sent;
}

test("Bedrock gets what its official SDK sends, in the same place", async () => {
  const modelId = "anthropic.claude-sonnet-4-20250514-v1:0";
  const sdk = await sentByAws({
    modelId,
    system: [{ text: "Be brief." }],
    messages: [
      {
        role: "user",
        content: [
          { text: "Weather?" },
          { image: { format: "png", source: { bytes: new Uint8Array(Buffer.from(weatherPicture, "base64")) } } },
        ],
      },
      {
        role: "assistant",
        content: [
          { text: "Looking." },
          { toolUse: { toolUseId: "call_1", name: "weather", input: { city: "Bern" } } },
          { toolUse: { toolUseId: "call_2", name: "weather", input: { city: "Oslo" } } },
        ],
      },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: "call_1", content: [{ text: "sunny" }], status: "success" } },
          { toolResult: { toolUseId: "call_2", content: [{ text: "no such city" }], status: "error" } },
          { text: "And tomorrow?" },
        ],
      },
    ],
    inferenceConfig: { maxTokens: 500, temperature: 0.5 },
    toolConfig: {
      tools: [
        {
          toolSpec: {
            name: "weather",
            description: "Weather of a city",
            inputSchema: { json: { ...weatherSchema, required: ["city"] } },
          },
        },
      ],
    },
  });
  const apiKey = `${credentials.accessKeyId}:${credentials.secretAccessKey}`;
  const ours = await buildBedrockRequest(
    { ...weatherCall("bedrock-converse-stream", { id: modelId }), apiKey },
    { env: { AWS_REGION: "us-east-1" }, nowMs: 1_700_000_000_000 },
  );
  expect(JSON.parse(ours.body)).toEqual(JSON.parse(new TextDecoder().decode(sdk.body)));
  const url = new URL(ours.url);
  expect([url.hostname, url.pathname]).toEqual([sdk.hostname, sdk.path]);
  expect(ours.headers["content-type"]).toBe(sdk.headers["content-type"]);
  // The SDK signs its own extra headers too (trace and retry counters, which we do not send) at the time of its call.
  const scope = /Credential=AKIDEXAMPLE\/\d+\/us-east-1\/bedrock\/aws4_request/;
  expect(sdk.headers["authorization"]).toMatch(scope);
  expect(ours.headers["authorization"]).toMatch(scope);
});
