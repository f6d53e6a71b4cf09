/** `yao mcp`: lists and calls the tools of assistants on the devices of the mesh, and serves them to other programs. */

import { isObject, MeshError } from "@mesh/kernel";
import type { ListAssistantsResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, type Target, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, type FlagRow, group, leaf, seconds, WORKSPACE_FLAG } from "../command.ts";
import { givenText } from "../given-text.ts";
import { parseObject } from "../run/question.ts";
import { table } from "../terminal/table.ts";
import { oneLine, plain } from "../terminal/terminal.ts";
import { runTool } from "./mcp-run.ts";
import { serveCommand } from "./mcp-serve.ts";

interface ListFlags extends WorkspaceFlags {
  readonly node?: string;
}

interface CallFlags extends ListFlags {
  readonly assistant?: string;
  readonly timeout?: number;
}

interface Tool {
  readonly server: string;
  readonly tool: string;
  readonly description?: string;
}

const LIST_SECONDS = 120;
const CALL_SECONDS = 600;
const MAX_ARGUMENT_BYTES = 64 * 1024;
const MAX_SHOWN_CHARS = 80;
const MAX_NAMED = 10;

/** The flag of commands that may name a device. */
const NODE_FLAG: FlagRow = { flags: "--node <name>", text: "on this device and nowhere else" };

/** The group. */
export function mcpCommand(builder: Builder): Command {
  return group("mcp", "List, call and serve the tools of assistants.", [
    listCommand(builder),
    callCommand(builder),
    serveCommand(builder),
  ]);
}

function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "list [assistant]",
    text: "List the MCP tools of an assistant, as a device sees them. The assistant may be left out where there is only one.",
    examples: ["yao mcp list notes", "yao mcp list notes --node laptop --json"],
    flags: [NODE_FLAG, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const target = targetOf(cli, flags);
      const assistant = await assistantOf(cli, target, args[0]);
      const options = { tool_list: true };
      const wish = { assistant, node: flags.node, options, timeoutSeconds: LIST_SECONDS };
      const { value } = await runTool(cli, target, wish);
      const tools = (Array.isArray(value) ? value : []).filter(isTool);
      print(cli, flags, { assistant, tools }, () => listText(assistant, tools));
      return undefined;
    },
  });
}

function isTool(value: unknown): value is Tool {
  return isObject(value) && typeof value["server"] === "string" && typeof value["tool"] === "string";
}

function listText(assistant: string, tools: readonly Tool[]): string {
  return table(
    tools,
    [
      { title: "server", value: ({ server }) => server },
      { title: "tool", value: ({ tool }) => tool },
      { title: "description", value: ({ description = "" }) => shortened(oneLine(description)) },
    ],
    `${plain(assistant)} has no tools; give it some in its mcps/ folder, see docs/guides/tools.md`,
  );
}

function shortened(text: string): string {
  return text.length <= MAX_SHOWN_CHARS ? text : `${text.slice(0, MAX_SHOWN_CHARS - 1)}…`;
}

function callCommand(builder: Builder): Command {
  return leaf<CallFlags>(builder, {
    name: "call <server> <tool> [arguments]",
    text:
      "Call one tool on a device and print its answer. The arguments are a JSON object, @FILE, or - for standard input. " +
      "Exit codes: 0 answered, 1 failed, 2 wrong usage, 130 interrupted.",
    examples: [
      `yao mcp call calculator add '{"a": 2, "b": 3}' --assistant math`,
      "yao mcp call files read @arguments.json --node laptop --json",
    ],
    flags: [
      { flags: "--assistant <id>", text: "whose server it is (default: the only assistant of the workspace)" },
      NODE_FLAG,
      { flags: "--timeout <duration>", text: "time the call may take (default: 10m)", parse: seconds },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const [server = "", tool = "", given = "{}"] = args;
      const target = targetOf(cli, flags);
      const call = { server, tool, arguments: await argumentsOf(cli, given) };
      const { runId, text, value } = await runTool(cli, target, {
        assistant: await assistantOf(cli, target, flags.assistant),
        node: flags.node,
        options: { tool_call: call },
        timeoutSeconds: flags.timeout ?? CALL_SECONDS,
      });
      const answer = { run: runId, server, tool, result: value ?? null };
      print(cli, flags, answer, () => `${cli.terminal.isTty ? plain(text) : text}\n`);
      return undefined;
    },
  });
}

async function argumentsOf(cli: Cli, given: string): Promise<Readonly<Record<string, unknown>>> {
  const parsed = parseObject(await givenText(cli, given, MAX_ARGUMENT_BYTES));
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError(`the arguments must be a JSON object, such as '{"path": "notes.md"}'.`);
}

/** The assistant that is named, else the only one there is. */
async function assistantOf(cli: Cli, target: Target, named: string | undefined): Promise<string> {
  if (named !== undefined && named !== "") return named;
  const path = apiPath`/v1/workspaces/${target.workspace}/assistants`;
  const { assistants } = await new Client(cli.clock, target).get<ListAssistantsResponse>(path);
  const [only, ...more] = assistants;
  if (only === undefined) {
    throw new MeshError(
      "failed_precondition",
      `workspace ${target.workspace} has no assistant yet — push an app with \`yao app push DIR\``,
    );
  }
  if (more.length === 0) return only.id;
  const ids = assistants.slice(0, MAX_NAMED).map(({ id }) => plain(id));
  const rest = assistants.length > MAX_NAMED ? ", …" : "";
  throw new InvalidArgumentError(`say which assistant: ${ids.join(", ")}${rest}.`);
}
