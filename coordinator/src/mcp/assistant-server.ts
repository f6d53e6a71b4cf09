/**
 * An assistant as an MCP server: its tools, each call a run on a device, and the assistant itself as the tool `ask`.
 *
 * M1  Nothing runs here: listing and calling are runs, placed, bounded and recorded like every other.
 * M2  A tool that fails is an answer; a run that came to nothing is an error that says what to do.
 * M3  A client that cancels or goes away ends the run of its call.
 */

import { type Clock, type JsonObject, MeshError } from "@mesh/kernel";
import type { McpTool, McpToolResult } from "@mesh/mcp";
import type { McpServed, McpServerDefinition } from "@mesh/mcp/server";
import type { Assistant, GetAppResponse } from "@mesh/proto";

import type { HttpCall } from "../gateway/http-server.ts";
import { handle, operationOf, validate } from "../gateway/operations.ts";
import { callRun, type RunCallDeps, runFailure, type RunOutcome } from "./run-call.ts";
import { failedAnswer, toolAnswer } from "./tool-answer.ts";
import { ASK_TOOL, nameTools, type ToolList, type ToolLists } from "./tool-list.ts";

/** What the servers of a gateway share. */
export interface AssistantServerDeps extends RunCallDeps {
  readonly clock: Clock;
  readonly lists: ToolLists;
}

/** Which assistant, for which call. */
export interface AssistantSeat {
  readonly workspace: string;
  readonly assistant: Assistant;
  /** The device its tools must run on; empty for any. */
  readonly node: string;
  readonly call: HttpCall;
}

type Served = Pick<McpServed<HttpCall>, "signal" | "progress">;

const LIST_SECONDS = 90;
const TOOL_SECONDS = 600;
const ASK_SECONDS = 3600;
/** Clients give up on a call they hear nothing of. */
const PROGRESS_MS = 10_000;
// Options of a run hold 64 KB, of which some are for the names around them.
const MAX_ARGUMENT_CHARS = 60_000;

/** The definition of one assistant's server, for one request. */
export function assistantServer(deps: AssistantServerDeps, seat: AssistantSeat): McpServerDefinition<HttpCall> {
  const { id, name, description, app_version: version } = seat.assistant;
  const told = <T>(work: () => Promise<T>): Promise<T> =>
    work().catch((thrown: unknown) => {
      const error = MeshError.from(thrown);
      deps.errors.report(error, { requestId: seat.call.requestId, path: `mcp ${id}`, transport: "http" });
      throw error;
    });
  return {
    name: id,
    title: name,
    version: String(version),
    ...(description === "" ? {} : { instructions: description }),
    listTools: () =>
      told(async () => {
        const { tools } = await toolsOf(deps, seat);
        return [askTool(seat.assistant), ...tools];
      }),
    callTool: (tool, args, served) =>
      told(() => (tool === ASK_TOOL ? ask(deps, seat, args, served) : callTool(deps, seat, { tool, args }, served))),
  };
}

function askTool({ name, description }: Assistant): McpTool {
  return {
    name: ASK_TOOL,
    description: `Asks the assistant ${name} and returns its answer.${description === "" ? "" : ` ${description}`}`,
    inputSchema: {
      type: "object",
      properties: { message: { type: "string", description: "What the assistant should do or answer." } },
      required: ["message"],
      additionalProperties: false,
    },
  };
}

async function toolsOf(deps: AssistantServerDeps, seat: AssistantSeat): Promise<ToolList> {
  const { workspace, assistant, node, call } = seat;
  const operation = operationOf("apps", "getApp");
  const request = validate(operation, { workspace, app: assistant.app });
  const { app } = (await handle(deps.api, operation, request, call)) as GetAppResponse;
  const key = JSON.stringify([workspace, assistant.id, app?.digest, node]);
  return deps.lists.get(key, async () => {
    const wish = { workspace, assistant: assistant.id, node, input: "", options: { tool_list: true } };
    // Others may wait for the same list: it does not end with the client that asked first.
    const lasting = { ...call, signal: new AbortController().signal };
    const outcome = await callRun(deps, { ...wish, timeoutSeconds: LIST_SECONDS }, lasting, () => undefined);
    if (outcome.kind === "asks") throw new MeshError("internal", `run ${outcome.runId} asked instead of listing`);
    if (outcome.end.state !== "succeeded") throw runFailure(outcome.runId, outcome.end);
    return nameTools(outcome.end.value);
  });
}

async function ask(
  deps: AssistantServerDeps,
  seat: AssistantSeat,
  args: JsonObject,
  served: Served,
): Promise<McpToolResult> {
  const input = typeof args["message"] === "string" ? args["message"] : "";
  const outcome = await watched(deps, seat, { input, options: {}, timeoutSeconds: ASK_SECONDS }, served);
  if (outcome.kind === "asks") return failedAnswer(questionText(outcome.runId, outcome.questions));
  if (outcome.end.state !== "succeeded") throw runFailure(outcome.runId, outcome.end);
  const { output, isOutputCut } = outcome.end;
  const rest = isOutputCut ? `\n\n(cut here; all of it: yao runs follow ${outcome.runId})` : "";
  return toolAnswer(`${output}${rest}`, undefined);
}

async function callTool(
  deps: AssistantServerDeps,
  seat: AssistantSeat,
  { tool: name, args }: { readonly tool: string; readonly args: JsonObject },
  served: Served,
): Promise<McpToolResult> {
  if (JSON.stringify(args).length > MAX_ARGUMENT_CHARS) {
    return failedAnswer(`the arguments are larger than ${MAX_ARGUMENT_CHARS / 1000} KB; send less`);
  }
  const address = (await toolsOf(deps, seat)).addressOf(name);
  if (address === undefined)
    throw new MeshError("not_found", `there is no tool ${name} any more; list the tools again`);
  const options = { tool_call: { server: address.server, tool: address.tool, arguments: args } };
  const outcome = await watched(deps, seat, { input: "", options, timeoutSeconds: TOOL_SECONDS }, served);
  if (outcome.kind === "asks") return failedAnswer(questionText(outcome.runId, outcome.questions));
  const { runId, end } = outcome;
  if (end.isToolFailure) return failedAnswer(end.error?.message ?? `${name} failed`);
  if (end.state !== "succeeded") throw runFailure(runId, end);
  return toolAnswer(end.toolText ?? end.output, end.value);
}

interface SeatWish {
  readonly input: string;
  readonly options: JsonObject;
  readonly timeoutSeconds: number;
}

/** Runs it, telling the client again and again how it stands. */
async function watched(
  deps: AssistantServerDeps,
  { workspace, assistant, node, call }: AssistantSeat,
  wish: SeatWish,
  served: Served,
): Promise<RunOutcome> {
  let progress = 0;
  let message = "queued";
  const tell = (): void => served.progress({ progress: (progress += 1), message });
  const cancelTimer = deps.clock.every(PROGRESS_MS, tell);
  const bounded = { ...call, signal: AbortSignal.any([call.signal, served.signal]) };
  try {
    return await callRun(deps, { workspace, assistant: assistant.id, node, ...wish }, bounded, (line) => {
      message = line;
      tell();
    });
  } finally {
    cancelTimer();
  }
}

function questionText(runId: string, questions: readonly string[]): string {
  const lines = questions.map((question) => `- ${question}`).join("\n");
  return `the run waits for an answer of a person:\n${lines}\nanswer it with \`yao runs answer ${runId}\`, then read the result with \`yao runs show ${runId}\``;
}
