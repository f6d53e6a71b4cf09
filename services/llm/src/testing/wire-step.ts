/** The bodies of all protocols in one form: who speaks, which calls are made, which are answered. */

import { isObject } from "@mesh/kernel";

import type { ApiProtocol } from "../message.ts";

/** What one side says before the other does. */
export interface WireStep {
  readonly role: "user" | "model" | "results";
  /** Calls made, each by its id, or by its name where it has none. */
  readonly calls: readonly string[];
  /** Calls answered. */
  readonly results: readonly string[];
  /** What a provider would refuse in it. */
  readonly faults: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

const EMPTY: WireStep = { role: "user", calls: [], results: [], faults: [] };

/** Reads the conversation out of a body; steps of one protocol's messages or items, in order. */
export function wireSteps(protocol: ApiProtocol, body: Fields): readonly WireStep[] {
  switch (protocol) {
    case "anthropic-messages":
      return listOf(body["messages"]).map((message) => anthropicStep(message));
    case "bedrock-converse-stream":
      return listOf(body["messages"]).map((message) => bedrockStep(message));
    case "google-generative-ai":
    case "google-vertex":
      return listOf(body["contents"]).map((content) => geminiStep(content));
    case "openai-responses":
    case "azure-openai-responses":
      return merged(listOf(body["input"]).map((item) => responsesStep(item)));
    case "openai-completions":
      return merged(listOf(body["messages"]).flatMap((message) => completionsStep(message)));
    case "demo":
      return [];
  }
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : [];
}

/** A role in the words of a protocol; anything else is a fault. */
function roleOf(role: unknown, model: string): Pick<WireStep, "role" | "faults"> {
  if (role === "user") return { role: "user", faults: [] };
  return {
    role: "model",
    faults: role === model ? [] : [`the role ${JSON.stringify(role)} is not one of this protocol`],
  };
}

function anthropicStep(message: Fields): WireStep {
  const blocks = listOf(message["content"]);
  const results = blocks.filter((block) => block["type"] === "tool_result");
  return step(roleOf(message["role"], "assistant"), {
    blocks,
    calls: blocks.filter((block) => block["type"] === "tool_use").map((block) => String(block["id"])),
    results: results.map((block) => String(block["tool_use_id"])),
    blank: blocks.some((block) => block["type"] === "text" && isBlank(block["text"])),
    mute: results.some((block) => isBlank(block["content"])),
  });
}

function bedrockStep(message: Fields): WireStep {
  const blocks = listOf(message["content"]);
  const results = blocks.map((block) => block["toolResult"]).filter(isObject);
  const calls = blocks.map((block) => block["toolUse"]).filter(isObject);
  return step(roleOf(message["role"], "assistant"), {
    blocks,
    calls: calls.map((call) => String(call["toolUseId"])),
    results: results.map((result) => String(result["toolUseId"])),
    blank: blocks.some((block) => "text" in block && isBlank(block["text"])),
    mute: results.some((result) => isBlank(result["content"])),
  });
}

function geminiStep(content: Fields): WireStep {
  const parts = listOf(content["parts"]);
  const named = (field: string): readonly string[] =>
    parts
      .map((part) => part[field])
      .filter(isObject)
      .map((call) => String(call["id"] ?? call["name"]));
  const results = parts.map((part) => part["functionResponse"]).filter(isObject);
  return step(roleOf(content["role"], "model"), {
    blocks: parts,
    calls: named("functionCall"),
    results: named("functionResponse"),
    blank: parts.some((part) => part["text"] === "" && part["thoughtSignature"] === undefined),
    mute: results.some((result) => !isObject(result["response"])),
  });
}

interface Read {
  readonly blocks: readonly Fields[];
  readonly calls: readonly string[];
  readonly results: readonly string[];
  readonly blank: boolean;
  /** Some result says nothing. */
  readonly mute: boolean;
}

function step(who: Pick<WireStep, "role" | "faults">, read: Read): WireStep {
  const faults = [...who.faults];
  if (read.blocks.length === 0) faults.push("a message is empty");
  if (read.blank) faults.push("a text is blank");
  if (read.mute) faults.push("a result is empty");
  if (who.role === "user" && read.calls.length > 0) faults.push("a user makes calls");
  if (who.role === "model" && read.results.length > 0) faults.push("the model answers calls");
  const role = who.role === "user" && read.results.length > 0 ? "results" : who.role;
  return { role, calls: read.calls, results: read.results, faults };
}

function completionsStep(message: Fields): readonly WireStep[] {
  const { role, content } = message;
  if (role === "system" || role === "developer") return [];
  if (role === "tool") {
    const faults = isBlank(content) ? ["a result is empty"] : [];
    return [{ ...EMPTY, role: "results", results: [String(message["tool_call_id"])], faults }];
  }
  const calls = listOf(message["tool_calls"]).map((call) => String(call["id"]));
  const who = roleOf(role, "assistant");
  const isSilent = isBlank(content) && calls.length === 0;
  return [{ ...who, calls, results: [], faults: [...who.faults, ...(isSilent ? ["a message is empty"] : [])] }];
}

function responsesStep(item: Fields): WireStep {
  switch (item["type"]) {
    case "function_call":
      return { ...EMPTY, role: "model", calls: [String(item["call_id"])] };
    case "function_call_output": {
      const faults = isBlank(item["output"]) ? ["a result is empty"] : [];
      return { ...EMPTY, role: "results", results: [String(item["call_id"])], faults };
    }
    case "reasoning":
      return { ...EMPTY, role: "model" };
    default: {
      const who = roleOf(item["role"], "assistant");
      return { ...EMPTY, ...who, faults: [...who.faults, ...(isBlank(item["content"]) ? ["a message is empty"] : [])] };
    }
  }
}

/** Joins what one side says in several messages; two messages of a user stay two. */
function merged(steps: readonly WireStep[]): readonly WireStep[] {
  const joined: WireStep[] = [];
  for (const each of steps) {
    const last = joined.at(-1);
    if (last === undefined || last.role !== each.role || each.role === "user") joined.push(each);
    else {
      joined[joined.length - 1] = {
        role: each.role,
        calls: [...last.calls, ...each.calls],
        results: [...last.results, ...each.results],
        faults: [...last.faults, ...each.faults],
      };
    }
  }
  return joined;
}

function isBlank(value: unknown): boolean {
  if (typeof value === "string") return value.trim() === "";
  return Array.isArray(value) ? value.length === 0 : value === undefined || value === null;
}
