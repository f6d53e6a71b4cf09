/** `yao agent list`, `show` and `remove`: the task agents of a workspace. */

import type { Agent, GetAgentResponse, ListAgentsResponse, RemoveAgentResponse } from "@mesh/proto";
import type { Command } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf } from "../command.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { TASK_FLAGS, taskTarget } from "./task-client.ts";

/** `yao agent list`. */
export function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List the task agents of the workspace: assistants that were made of tasks.",
    examples: ["yao agent list"],
    flags: TASK_FLAGS,
    action: async (cli, _args, flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.get<ListAgentsResponse>(apiPath`/v1/workspaces/${workspace}/agents`);
      print(cli, flags, answer, () =>
        table(
          answer.agents,
          [
            { title: "agent", value: (agent) => agent.id },
            { title: "name", value: (agent) => agent.name },
            { title: "version", value: (agent) => agent.version },
            { title: "task", value: (agent) => agent.task_key },
            { title: "changed", value: (agent) => agent.updated_at },
          ],
          "no task agents; make one with `yao task promote T-1`",
        ),
      );
      return undefined;
    },
  });
}

/** `yao agent show`. */
export function showCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "show <agent>",
    text: "Show a task agent with its versions and the files of its package; their texts with --json.",
    examples: ["yao agent show weekly-report", "yao agent show weekly-report --json"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.get<GetAgentResponse>(apiPath`/v1/workspaces/${workspace}/agents/${id}`);
      print(cli, flags, answer, () => agentText(answer));
      return undefined;
    },
  });
}

function agentText({ agent, versions, files }: GetAgentResponse): string {
  const history = table(
    versions,
    [
      { title: "version", value: (version) => version.version },
      { title: "at", value: (version) => version.created_at },
    ],
    "no versions",
  );
  const paths = files.map(({ path }) => `${plain(path)}\n`).join("");
  return `${agent === undefined ? "" : headText(agent)}\n${history}\n${paths}`;
}

function headText(agent: Agent): string {
  return fields([
    ["agent", agent.id],
    ["name", agent.name],
    ["description", agent.description],
    ["task", agent.task_key],
    ["connector", agent.connector],
    ["version", agent.version],
    ["created", `${agent.created_at} by ${agent.created_by}`],
    ["changed", agent.updated_at],
  ]);
}

/** `yao agent remove`. */
export function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <agent>",
    text: "Remove a task agent with all of its versions; its task and its runs stay.",
    examples: ["yao agent remove weekly-report"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      await client.delete<RemoveAgentResponse>(apiPath`/v1/workspaces/${workspace}/agents/${id}`);
      print(cli, flags, { removed: id }, () => `${plain(id)} was removed\n`);
      return undefined;
    },
  });
}
