/**
 * Images and sounds in words, for models that do not see or hear.
 *
 * D1  Asked is whom `uses` names for the sense (an agent, or a tool of an MCP server), else, for images, the app's connector of
 *     the role `vision`; where there is nobody, the error says what to set.
 * D2  Within one run the same bytes are described once, whoever shows them.
 * D3  A describer gets no describer of its own: agents cannot send an image round in a circle.
 */

import { createHash } from "node:crypto";

import { findMcpUse } from "@mesh/assistants";
import { isObject, type JsonObject, MeshError } from "@mesh/kernel";
import { toolResultText } from "@mesh/mcp";

import type { AgentContext } from "../agent-context.ts";
import { assistantOf } from "../agent-request.ts";
import { toLoop } from "../chat-message.ts";
import { mcpClient } from "../mcp-tool.ts";
import { targetOf } from "../model-call.ts";
import { askModel } from "../model-run.ts";
import { OutputStream } from "../output-stream.ts";
import { answerText, askAgent } from "./ask-agent.ts";
import type { Attachment } from "@mesh/documents";

/** A file to describe. */
export interface Described {
  readonly sense: "vision" | "audio";
  readonly file: Attachment;
  /** As its bytes say. */
  readonly mimeType: string;
}

/** Who asks. */
export interface DescribeScope {
  readonly context: AgentContext;
  readonly assistantId: string;
  /** Whom `uses` names for the sense. */
  readonly describer: string | undefined;
}

const SENSES = {
  vision: {
    noun: "image",
    tool: "describe_image",
    argument: "image",
    request:
      "Describe this image for someone who cannot see it: what it shows, what is where, and every text in it word by word.",
  },
  audio: {
    noun: "audio",
    tool: "transcribe_audio",
    argument: "audio",
    request: "Write down what is said in this recording, word by word, and name what else is to be heard.",
  },
} as const;

const VISION_ROLE = "vision";
const NO_DESCRIBERS = { vision: "", audio: "" };

/** What a file shows or says, in words; throws where nobody can tell. */
export function describe(described: Described, scope: DescribeScope): Promise<string> {
  const { described: known } = scope.context.shared;
  const digest = createHash("sha256").update(described.file.bytes).digest("hex");
  const { describer = "", assistantId } = scope;
  // The same name of a server may mean another one to another assistant.
  const key = JSON.stringify([described.sense, describer, describer.startsWith("mcp:") ? assistantId : "", digest]);
  const before = known.get(key);
  if (before !== undefined) return before;
  const words = inWords(described, scope);
  known.set(key, words);
  // What failed may succeed for the next one who asks, who may not have been cancelled.
  words.catch(() => known.delete(key));
  return words;
}

async function inWords(described: Described, scope: DescribeScope): Promise<string> {
  const { describer } = scope;
  const { noun } = SENSES[described.sense];
  if (describer?.startsWith("mcp:") === true) return byTool(described, describer, scope);
  if (describer !== undefined && describer !== "") return byAgent(described, describer, scope);
  if (described.sense === "vision" && hasVisionRole(scope.context)) return byModel(described, scope);
  throw new MeshError(
    "failed_precondition",
    `this model takes no ${noun}; name an agent or "mcp:<server>" that describes it in uses.${described.sense}`,
  );
}

async function byTool(described: Described, use: string, { context, assistantId }: DescribeScope): Promise<string> {
  const { argument, tool: usual } = SENSES[described.sense];
  const found = findMcpUse(context.shared.input.app, assistantId, use);
  if (found === undefined) throw new MeshError("not_found", `there is no MCP server for "${use}"`);
  const { server, tool = usual } = found;
  const caller = { context, assistantId };
  const args = { [argument]: dataUri(described), content_type: described.mimeType };
  const answer = await mcpClient(server.id, caller).callToolRaw(tool, args, { caller, signal: context.signal });
  const text = toolResultText(answer);
  if (answer.isError === true) throw new MeshError("failed_precondition", text === "" ? `${tool} failed` : text);
  return answerText(text, tool);
}

async function byAgent(described: Described, agent: string, { context }: DescribeScope): Promise<string> {
  const content = [{ type: "text", text: SENSES[described.sense].request }, partOf(described)];
  const question = { agent, content, options: { uses: NO_DESCRIBERS } };
  return answerText(await askAgent(question, context, context.signal), agent);
}

function hasVisionRole({ shared }: AgentContext): boolean {
  const roles = shared.input.app.settings["system"];
  const role = isObject(roles) ? roles[VISION_ROLE] : undefined;
  return typeof role === "string" && role !== "";
}

/** Asks the model alone: no prompts, no hooks, no tools. */
async function byModel(described: Described, { context, assistantId }: DescribeScope): Promise<string> {
  const { shared, signal } = context;
  const { clock, prices } = shared.ports;
  const options = { connector: `use::${VISION_ROLE}` };
  const assistant = { ...assistantOf(assistantId, shared.input), options: {} };
  const target = targetOf({ ...shared.input, options }, assistant, options, prices);
  if (target.model.vision === false) {
    throw new MeshError("failed_precondition", `the connector of the role ${VISION_ROLE} cannot see images itself`);
  }
  const content = [{ type: "text", text: SENSES.vision.request }, partOf(described)];
  const { history, prompts } = toLoop([{ role: "user", content }], clock.now());
  const answer = await askModel(
    {
      target,
      systemPrompt: "",
      history,
      prompts,
      tools: [],
      rounds: { kind: "loop", maxTurns: 1 },
      label: `${assistantId} ${VISION_ROLE}`,
    },
    { shared, signal, out: new OutputStream(clock, () => undefined) },
  );
  if (answer.error !== undefined) throw answer.error;
  return answerText(answer.completion?.content ?? null, target.model.id);
}

function partOf(described: Described): JsonObject {
  if (described.sense === "vision") return { type: "image_url", image_url: { url: dataUri(described) } };
  const data = Buffer.from(described.file.bytes).toString("base64");
  return { type: "input_audio", input_audio: { data, format: FORMATS[described.mimeType] ?? "wav" } };
}

const FORMATS: Readonly<Record<string, string>> = {
  "audio/mpeg": "mp3",
  "audio/mp4": "m4a",
  "audio/ogg": "ogg",
  "audio/flac": "flac",
  "audio/webm": "webm",
  "audio/aac": "aac",
};

function dataUri({ file, mimeType }: Described): string {
  return `data:${mimeType};base64,${Buffer.from(file.bytes).toString("base64")}`;
}
