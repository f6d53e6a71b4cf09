/**
 * Whether a history, as each protocol writes it, is one that its servers accept.
 *
 * W1  The first to speak is the user, and a request never ends with the model's own words.
 * W2  The calls of one answer are answered next, each once; nothing else is answered.
 * W3  Ids of calls are unique in a request and of the shape that the protocol takes.
 * W4  Roles are those of the protocol; nothing is empty or blank where it refuses that.
 * W5  Bedrock: the sides take turns, and tools are declared as soon as a history has calls.
 */

import { isObject } from "@mesh/kernel";

import { buildAnthropicRequest } from "../anthropic-request.ts";
import { bedrockBody } from "../bedrock-request.ts";
import { buildCompletionsRequest } from "../completions-request.ts";
import { buildGeminiRequest } from "../gemini-request.ts";
import type { ApiProtocol, Message } from "../message.ts";
import type { ModelConfig, StreamConfig } from "../provider.ts";
import { buildResponsesRequest } from "../responses-request.ts";
import { soundTranscript } from "../transcript.ts";
import { callOf, said } from "./conversation.ts";
import { type WireStep, wireSteps } from "./wire-step.ts";

const PICKY = { toolCallIds: "nine-alphanumeric", toolResultName: true, assistantAfterToolResult: true } as const;
const SERVERS: readonly (Pick<ModelConfig, "api"> & Partial<ModelConfig>)[] = [
  { api: "openai-completions" },
  // The vendors that are picky in every way.
  { api: "openai-completions", provider: "picky", compat: { openai: PICKY } },
  { api: "anthropic-messages" },
  { api: "openai-responses" },
  { api: "azure-openai-responses", baseUrl: "https://name.openai.azure.com" },
  { api: "google-generative-ai" },
  { api: "google-vertex", baseUrl: "https://europe-west1-aiplatform.googleapis.com/v1/models" },
  { api: "bedrock-converse-stream" },
];

const ID_SHAPES: Readonly<Partial<Record<ApiProtocol, RegExp>>> = {
  "anthropic-messages": /^[a-zA-Z0-9_-]{1,64}$/,
  "openai-responses": /^[a-zA-Z0-9_-]{1,64}$/,
  "azure-openai-responses": /^[a-zA-Z0-9_-]{1,64}$/,
  "bedrock-converse-stream": /^[a-zA-Z0-9_-]{1,64}$/,
};

/** What each protocol's servers would refuse in the next request of this history; `model` is who is asked. */
export function wireFaults(messages: readonly Message[], model = "scripted"): readonly string[] {
  // What is judged is a request: somebody has to have the word.
  const asked = soundTranscript(messages).at(-1)?.role === "toolResult" ? messages : [...messages, said("Go on")];
  return SERVERS.flatMap((server) => {
    const config = callOf({ id: model, ...server }, asked, { systemPrompt: "S" });
    const body: unknown = JSON.parse(bodyOf(config));
    const faults = isObject(body) ? wireFormFaults(server.api, body) : ["the body is no object"];
    const more = server.provider === "picky" && isObject(body) ? pickyFaults(body) : [];
    return [...faults, ...more].map((fault) => `${server.api}: ${fault}`);
  });
}

function bodyOf(config: StreamConfig): string {
  switch (config.model.api) {
    case "anthropic-messages":
      return buildAnthropicRequest(config).body;
    case "openai-completions":
      return buildCompletionsRequest(config).body;
    case "openai-responses":
    case "azure-openai-responses":
      return buildResponsesRequest(config).body;
    case "google-generative-ai":
    case "google-vertex":
      return buildGeminiRequest(config).body;
    case "bedrock-converse-stream":
      return bedrockBody(config, []);
    case "demo":
      return "{}";
  }
}

/** What a protocol's servers would refuse in the conversation of a request, whoever wrote it. */
export function wireFormFaults(protocol: ApiProtocol, body: Readonly<Record<string, unknown>>): readonly string[] {
  const steps = wireSteps(protocol, body);
  const faults = steps.flatMap((step) => step.faults);
  if (steps.length === 0) faults.push("W1: nothing is said");
  else if (steps[0]?.role !== "user") faults.push(`W1: ${steps[0]?.role} is first`);
  if (steps.at(-1)?.role === "model") faults.push("W1: the model is last");
  faults.push(...callFaults(steps), ...idFaults(protocol, steps));
  if (protocol === "bedrock-converse-stream") faults.push(...bedrockFaults(steps, body));
  return faults;
}

function callFaults(steps: readonly WireStep[]): readonly string[] {
  return steps.flatMap((step, index) => {
    const open = (steps[index - 1]?.calls ?? []).toSorted().join();
    const given = step.results.toSorted().join();
    const faults = open === given ? [] : [`W2: the calls [${open}] are followed by results of [${given}]`];
    const isLast = index === steps.length - 1;
    return isLast && step.calls.length > 0
      ? [...faults, `W2: the calls [${step.calls.join()}] are not answered`]
      : faults;
  });
}

function idFaults(protocol: ApiProtocol, steps: readonly WireStep[]): readonly string[] {
  const calls = steps.flatMap((step) => step.calls);
  const shape = ID_SHAPES[protocol];
  // Gemini knows calls by name where it gave them no id.
  const isNamed = protocol.startsWith("google-");
  const repeated = isNamed ? undefined : calls.find((id, index) => calls.indexOf(id) !== index);
  const bad = shape === undefined ? calls.find((id) => id === "") : calls.find((id) => !shape.test(id));
  return [
    ...(repeated === undefined ? [] : [`W3: the id ${repeated} is used twice`]),
    ...(bad === undefined ? [] : [`W3: the id ${JSON.stringify(bad)} is not of the protocol's shape`]),
  ];
}

function bedrockFaults(steps: readonly WireStep[], body: Readonly<Record<string, unknown>>): readonly string[] {
  const sides = steps.map((step) => (step.role === "model" ? "model" : "user"));
  const faults = sides.some((side, index) => side === sides[index - 1]) ? ["W5: one side speaks twice in a row"] : [];
  const hasCalls = steps.some((step) => step.calls.length > 0);
  return hasCalls && !isObject(body["toolConfig"]) ? [...faults, "W5: calls without a tool configuration"] : faults;
}

function pickyFaults(body: Readonly<Record<string, unknown>>): readonly string[] {
  const steps = wireSteps("openai-completions", body);
  const hasWord = steps.some((step, index) => step.role === "user" && steps[index - 1]?.role === "results");
  const bad = steps.flatMap((step) => step.calls).find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
  return [
    ...(hasWord ? ["a user speaks directly after results"] : []),
    ...(bad === undefined ? [] : [`the id ${bad} is not nine letters or digits`]),
  ];
}
