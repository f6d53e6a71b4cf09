/**
 * The `bash` tool: one command, bounded in time and output, ended with everything it started.
 *
 * The list of refused commands keeps a model from accidents; it is not a boundary against someone who wants to.
 */

import type { Clock, JsonObject } from "@mesh/kernel";

import { type AgentTool, invalidArguments, textArgument, textOutput, toolFailed, type ToolOutput } from "../tool.ts";
import { type CommandEnd, runCommand } from "./command.ts";

/** What the tool may do. */
export interface BashOptions {
  readonly clock: Clock;
  readonly cwd: string;
  /** The environment to choose from. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Names that pass besides PATH, HOME and PWD; absent: all pass. */
  readonly allowEnv?: readonly string[];
  readonly timeoutMs?: number;
  /** Of each stream. */
  readonly maxOutputBytes?: number;
  /** Texts that no command may contain. */
  readonly deny?: readonly string[];
  /** Asked before each command; false refuses it. */
  readonly confirm?: (command: string) => boolean | Promise<boolean>;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const DEFAULT_OUTPUT_BYTES = 256 * 1024;
const MAX_COMMAND_CHARS = 100_000;
const DENIED = ["rm -rf /", "rm -fr /", "mkfs", "dd if=", ":(){ :|:& };:", ":(){:|:&};:"];

const PARAMETERS: JsonObject = {
  type: "object",
  properties: {
    command: { type: "string", description: "Bash command line." },
    timeout_ms: { type: "integer", minimum: 1, description: "Time limit, at most the configured one." },
  },
  required: ["command"],
};

/** The tool that runs a command line. */
export function bashTool(options: BashOptions): AgentTool {
  return {
    name: "bash",
    description:
      "Run a bash command and read its output and exit code. No input can be typed. " +
      "Processes left in the background end with the command.",
    parameters: PARAMETERS,
    execute: (args, context) => run(options, args, context.signal),
  };
}

async function run(options: BashOptions, args: JsonObject, signal: AbortSignal): Promise<ToolOutput> {
  const command = textArgument(args, "command");
  await assertAllowed(options, command);
  const { clock, timeoutMs = DEFAULT_TIMEOUT_MS, maxOutputBytes = DEFAULT_OUTPUT_BYTES } = options;
  const wanted = typeof args["timeout_ms"] === "number" ? args["timeout_ms"] : timeoutMs;
  const limitMs = Math.min(wanted, timeoutMs);
  const end = await runCommand(
    { file: "bash", args: ["-c", command], cwd: options.cwd, env: environment(options) },
    { clock, limitMs, maxOutputBytes, signal },
  );
  return report(end, limitMs);
}

async function assertAllowed(options: BashOptions, command: string): Promise<void> {
  if (command.trim() === "") throw invalidArguments('"command" is empty');
  if (command.length > MAX_COMMAND_CHARS) throw invalidArguments('"command" is too long; write a script file first');
  const spaced = command.replaceAll(/\s+/gu, " ");
  const denied = [...DENIED, ...(options.deny ?? [])].find((text) => spaced.includes(text));
  if (denied !== undefined && !isHarmless(spaced, denied)) {
    throw toolFailed(`The command was refused: it contains ${JSON.stringify(denied)}.`);
  }
  if (options.confirm !== undefined && !(await options.confirm(command))) throw toolFailed("The command was refused.");
}

/** `rm -rf /` also begins `rm -rf /tmp/x`, which is ordinary work; every place where it stands must be. */
function isHarmless(command: string, denied: string): boolean {
  if (!denied.endsWith(" /")) return false;
  return command
    .split(denied)
    .slice(1)
    .every((rest) => /^[A-Za-z0-9._-]/u.test(rest));
}

function environment(options: BashOptions): Record<string, string | undefined> {
  const { allowEnv, env } = options;
  if (allowEnv === undefined) return { ...env };
  const names = ["PATH", "HOME", "PWD", ...allowEnv];
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

function report({ exit, stdout, stderr, isCut }: CommandEnd, limitMs: number): ToolOutput {
  const how =
    exit === undefined
      ? `timed out after ${limitMs} ms; everything it started was ended. Output so far:`
      : `exit code: ${exit.code ?? `none, ended by ${exit.signal ?? "a signal"}`}`;
  const parts = [how, stdout];
  if (stderr !== "") parts.push(`[stderr]\n${stderr}`);
  const details = {
    exit_code: exit?.code ?? null,
    success: exit?.code === 0,
    timed_out: exit === undefined,
    cut: isCut,
  };
  return textOutput(parts.filter((part) => part !== "").join("\n"), details);
}
