/** `yao mcp serve`: an assistant's tools as an MCP server on standard input and output, for programs that start one as a command. */

import { stdin } from "node:process";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

import { MeshError } from "@mesh/kernel";
import type { Command } from "commander";

import { type Cli, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, leaf, WORKSPACE_FLAG } from "../command.ts";
import { exitCodeOf, type StopSignal } from "../terminal/interrupt.ts";
import { McpBridge } from "./mcp-bridge.ts";

interface ServeFlags extends WorkspaceFlags {
  readonly node?: string;
}

// The coordinator takes no more in one request.
const MAX_LINE_CHARS = 1024 * 1024;

/** The command. */
export function serveCommand(builder: Builder): Command {
  return leaf<ServeFlags>(builder, {
    name: "serve <assistant>",
    text:
      "Serve an assistant and its tools over MCP on standard input and output, for programs that start MCP servers as commands. " +
      "It logs in as every other command does.",
    examples: ["yao mcp serve notes", "yao mcp serve notes --node laptop --workspace team"],
    flags: [{ flags: "--node <name>", text: "run its tools on this device and nowhere else" }, WORKSPACE_FLAG],
    action: (cli, args, flags) => serve(cli, args[0] ?? "", flags),
  });
}

async function serve(cli: Cli, assistant: string, flags: ServeFlags): Promise<number> {
  const { terminal, clock, interrupts } = cli;
  const target = targetOf(cli, flags);
  const path = apiPath`/v1/workspaces/${target.workspace}/assistants/${assistant}/mcp`;
  const bridge = new McpBridge(
    {
      client: new Client(clock, target),
      clock,
      write: (message) => terminal.out(`${message}\n`),
      warn: (text) => terminal.err(`yao: ${text}\n`),
    },
    { path, node: flags.node },
  );
  const leave = new AbortController();
  let stopped: StopSignal | undefined;
  const unlisten = interrupts.listen((signal) => {
    stopped ??= signal;
    leave.abort();
  });
  const signal = AbortSignal.any([leave.signal, terminal.closed]);
  terminal.progress(`serving ${assistant} of ${target.workspace} at ${target.url}; end it with Ctrl-C`);
  try {
    for await (const line of linesOf(stdin, signal)) void bridge.take(line);
  } finally {
    unlisten();
    bridge.stop();
    stdin.destroy();
  }
  return stopped === undefined ? 0 : exitCodeOf(stopped);
}

/** The lines of a stream that are not empty, until it ends or the signal aborts. */
async function* linesOf(input: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const stop = (): void => void input.destroy();
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) return;
  const decoder = new StringDecoder("utf8");
  let rest = "";
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      const parts = (rest + decoder.write(chunk)).split("\n");
      rest = parts.pop() ?? "";
      yield* parts.map((part) => part.trim()).filter((part) => part !== "");
      if (rest.length > MAX_LINE_CHARS) throw tooLong();
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function tooLong(): MeshError {
  return new MeshError("resource_exhausted", "the client sent a line longer than 1 MB; send smaller arguments");
}
