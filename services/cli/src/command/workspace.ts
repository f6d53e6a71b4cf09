/** `yao workspace`. */

import type { CreateWorkspaceResponse, GetWorkspaceResponse, ListWorkspacesResponse } from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, clientOf, type CommonFlags, print, targetOf } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { readCredential, writeCredential } from "../client/credential.ts";
import { type Builder, group, leaf } from "../command.ts";
import { homeDirectory } from "../config.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { inviteCommand, membersCommand } from "./workspace-member.ts";
import { secretsCommand } from "./workspace-secret.ts";
import { renameCommand, setCommand, settingsText } from "./workspace-set.ts";

interface DeleteFlags extends CommonFlags {
  readonly force?: boolean;
}

/** The group. */
export function workspaceCommand(builder: Builder): Command {
  return group("workspace", "Manage workspaces, which keep apps, runs and keys apart.", [
    createCommand(builder),
    listCommand(builder),
    showCommand(builder),
    useCommand(builder),
    deleteCommand(builder),
    renameCommand(builder),
    setCommand(builder),
    membersCommand(builder),
    inviteCommand(builder),
    secretsCommand(builder),
  ]);
}

function createCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "create <name>",
    text: "Make a workspace.",
    examples: ["yao workspace create team"],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      const answer = await clientOf(cli, flags).post<CreateWorkspaceResponse>("/v1/workspaces", { body: { name } });
      print(cli, flags, answer, () => `${plain(name)} was made; work in it with: yao workspace use ${plain(name)}\n`);
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "list",
    text: "List your workspaces; the one in use has a star.",
    examples: ["yao workspace list"],
    action: async (cli, _args, flags) => {
      const { workspace: used } = targetOf(cli, flags);
      const answer = await clientOf(cli, flags).get<ListWorkspacesResponse>("/v1/workspaces");
      print(cli, flags, answer, () =>
        table(
          answer.workspaces,
          [
            { title: "workspace", value: (row) => (row.name === used || row.id === used ? `${row.name} *` : row.name) },
            { title: "id", value: (row) => row.id },
            { title: "created", value: (row) => row.created_at },
          ],
          "no workspace; make one with `yao workspace create NAME`",
        ),
      );
      return undefined;
    },
  });
}

function showCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "show <workspace>",
    text: "Show one workspace, by name or id.",
    examples: ["yao workspace show default"],
    action: async (cli, args, flags) => {
      const answer = await getWorkspace(cli, flags, args[0] ?? "");
      const { workspace } = answer;
      const head = fields([
        ["workspace", workspace?.name],
        ["id", workspace?.id],
        ["default", workspace?.is_default],
        ["created", workspace?.created_at],
        ["your role", workspace?.role],
      ]);
      print(cli, flags, answer, () => `${head}${settingsText(workspace?.settings)}`);
      return undefined;
    },
  });
}

function useCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "use <workspace>",
    text: "Work in this workspace from now on.",
    examples: ["yao workspace use team"],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      const answer = await getWorkspace(cli, flags, name);
      const home = homeDirectory(flags.data, cli.options);
      const target = targetOf(cli, flags);
      const stored = readCredential(home);
      // A token from the environment is not written to disk.
      writeCredential(home, {
        ...(stored?.url === target.url ? stored : { url: target.url }),
        workspace: answer.workspace?.name ?? name,
      });
      print(cli, flags, answer, () => `now working in ${plain(answer.workspace?.name ?? name)}\n`);
      return undefined;
    },
  });
}

function deleteCommand(builder: Builder): Command {
  return leaf<DeleteFlags>(builder, {
    name: "delete <workspace>",
    text: "Delete an empty workspace, or all it holds with --force.",
    examples: ["yao workspace delete team", "yao workspace delete team --force"],
    flags: [{ flags: "--force", text: "delete its apps, runs and connectors too" }],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      const query = flags.force === true ? { force: "true" } : {};
      await clientOf(cli, flags).delete(apiPath`/v1/workspaces/${name}`, { query });
      print(cli, flags, { deleted: name }, () => `${plain(name)} was deleted\n`);
      return undefined;
    },
  });
}

function getWorkspace(cli: Cli, flags: CommonFlags, name: string): Promise<GetWorkspaceResponse> {
  return clientOf(cli, flags).get<GetWorkspaceResponse>(apiPath`/v1/workspaces/${name}`);
}
