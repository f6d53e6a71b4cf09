/** `yao run`: starts a run and watches it. */

import type { Command } from "commander";

import { type Cli, targetOf, type WorkspaceFlags } from "../cli.ts";
import { Client } from "../client/client.ts";
import { type Builder, leaf, WORKSPACE_FLAG } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { requestOf, START_FLAGS, type StartFlags, startRun } from "../run/start-run.ts";

interface RunFlags extends WorkspaceFlags, StartFlags {
  readonly detach?: boolean;
}

/** The command. */
export function runCommand(builder: Builder): Command {
  return leaf<RunFlags>(builder, {
    name: "run <assistant> <text>",
    text:
      "Run an assistant and watch it live. The text may be @FILE, or - for standard input. What it asks is asked here; " +
      "where there is no terminal, the question goes to stderr and the exit code is 3 (answer with `yao runs answer`). " +
      "Exit codes: 0 succeeded, 1 failed, 2 wrong usage, 3 waits for an answer, 130 cancelled.",
    examples: [
      'yao run hello "Good morning"',
      "yao run writer @notes.md --node laptop",
      "git diff | yao run reviewer - --label gpu=yes --timeout 2m",
      'yao run hello "Hi" --json | head -1',
    ],
    flags: [WORKSPACE_FLAG, { flags: "--detach", text: "print the run's id and leave" }, ...START_FLAGS],
    action: run,
  });
}

async function run(cli: Cli, args: readonly string[], flags: RunFlags): Promise<number> {
  const [assistant = "", text = ""] = args;
  const target = targetOf(cli, flags);
  const request = requestOf(assistant, await givenText(cli, text, MAX_INPUT_BYTES), flags);
  return await startRun(cli, {
    client: new Client(cli.clock, target),
    workspace: target.workspace,
    request,
    isJson: flags.json === true,
    isDetached: flags.detach === true,
  });
}
