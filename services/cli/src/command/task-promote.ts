/** `yao task promote`: a task becomes a task agent. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";

import { MeshError } from "@mesh/kernel";
import type { AgentFile, GetAgentResponse, PromoteTaskResponse } from "@mesh/proto";
import type { Command } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf } from "../command.ts";
import { fileErrorText } from "../file-error.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { plain } from "../terminal/terminal.ts";
import { TASK_FLAGS, taskTarget } from "./task-client.ts";

interface PromoteFlags extends WorkspaceFlags {
  readonly agent?: string;
  readonly name?: string;
  readonly instructions?: string;
  readonly out?: string;
}

/** The command. */
export function promoteCommand(builder: Builder): Command {
  return leaf<PromoteFlags>(builder, {
    name: "promote <task>",
    text: "Make a task agent of a task: an assistant with its tools, instructions, documents and examples; again makes the next version.",
    examples: [
      "yao task promote T-12",
      "yao task promote T-12 --agent weekly-report --instructions @instructions.md",
      "yao task promote T-12 --out ./agent && yao agent eval -i ./agent/assistants/*/tests/inputs.jsonl",
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--agent <id>", text: "id of the assistant (default: from the title)" },
      { flags: "--name <name>", text: "its name (default: the title)" },
      { flags: "--instructions <text>", text: "what it is told, instead of the draft; may be @FILE or -" },
      { flags: "--out <dir>", text: "also write its package here" },
    ],
    action: async (cli, [name = ""], flags) => {
      const { client, workspace, ref } = taskTarget(cli, flags);
      const { instructions } = flags;
      const answer = await client.post<PromoteTaskResponse>(apiPath`/v1/tasks/${ref(name)}/promote`, {
        body: {
          agent: flags.agent ?? "",
          name: flags.name ?? "",
          instructions: instructions === undefined ? "" : await givenText(cli, instructions, MAX_INPUT_BYTES),
        },
      });
      const { agent } = answer;
      if (agent === undefined)
        throw new MeshError("data_loss", "the coordinator told nothing about the agent — try again");
      if (flags.out !== undefined) {
        const path = apiPath`/v1/workspaces/${workspace}/agents/${agent.id}`;
        await writePackage(flags.out, (await client.get<GetAgentResponse>(path)).files);
      }
      print(
        cli,
        flags,
        answer,
        () => `${plain(agent.id)} is version ${agent.version} of the agent of ${plain(agent.task_key)}\n`,
      );
      cli.terminal.progress(`run it with: yao run ${agent.id} "…"`);
      return undefined;
    },
  });
}

/** Writes the files below `out`; what is there is written over. */
async function writePackage(out: string, files: readonly AgentFile[]): Promise<void> {
  const root = resolve(out);
  for (const { path, text } of files) {
    const target = join(root, path);
    if (!target.startsWith(root + sep)) throw new MeshError("data_loss", `${path} is no path inside of a package`);
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, text);
    } catch (error) {
      throw new MeshError("failed_precondition", `${target} cannot be written: ${fileErrorText(error)}`);
    }
  }
}
