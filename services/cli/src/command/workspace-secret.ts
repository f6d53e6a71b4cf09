/** `yao workspace secrets`: variables of its runs. Values never stand on the command line. */

import type { ListSecretsResponse, PutSecretResponse } from "@mesh/proto";
import type { Command } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { type Builder, group, leaf, WORKSPACE_FLAG } from "../command.ts";
import { readSecret } from "../terminal/secret.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { at } from "./workspace-member.ts";

interface SetFlags extends WorkspaceFlags {
  readonly valueEnv?: string;
  readonly valueFile?: string;
  readonly valueStdin?: boolean;
}

/** The group. */
export function secretsCommand(builder: Builder): Command {
  return group("workspace secrets", "Manage the variables that runs of a workspace get as $ENV.NAME.", [
    setCommand(builder),
    listCommand(builder),
    removeCommand(builder),
  ]);
}

function setCommand(builder: Builder): Command {
  return leaf<SetFlags>(builder, {
    name: "set <name>",
    text: "Set a variable. Its value is asked for without echo, or read from a variable, a file or standard input.",
    examples: [
      "yao workspace secrets set GITHUB_TOKEN",
      "yao workspace secrets set GITHUB_TOKEN --value-env GITHUB_TOKEN",
      "pass show github | yao workspace secrets set GITHUB_TOKEN --value-stdin",
    ],
    flags: [
      { flags: "--value-env <name>", text: "environment variable that holds the value" },
      { flags: "--value-file <path>", text: "file that holds the value" },
      { flags: "--value-stdin", text: "read the value from standard input" },
      WORKSPACE_FLAG,
    ],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      const { client, path, workspace } = at(cli, flags);
      const value = await readSecret(
        { terminal: cli.terminal, env: cli.env },
        {
          what: "the value",
          question: `value of ${name}: `,
          ...(flags.valueEnv === undefined ? {} : { variable: flags.valueEnv }),
          ...(flags.valueFile === undefined ? {} : { file: flags.valueFile }),
          ...(flags.valueStdin === true ? { isStdin: true } : {}),
          advice: "give it with --value-env NAME, --value-file PATH or --value-stdin",
        },
      );
      const answer = await client.put<PutSecretResponse>(`${path}/secrets/${encodeURIComponent(name)}`, {
        body: { value },
      });
      print(cli, flags, answer, () => `runs of ${plain(workspace)} get ${plain(name)} from now on\n`);
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List the variables, without their values.",
    examples: ["yao workspace secrets list -w team"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, _args, flags) => {
      const { client, path } = at(cli, flags);
      const answer = await client.get<ListSecretsResponse>(`${path}/secrets`);
      print(cli, flags, answer, () =>
        table(
          answer.secrets,
          [
            { title: "variable", value: (secret) => secret.name },
            { title: "set", value: (secret) => secret.updated_at },
            { title: "by", value: (secret) => secret.updated_by },
          ],
          "no variables; set one with `yao workspace secrets set NAME`",
        ),
      );
      return undefined;
    },
  });
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <name>",
    text: "Remove a variable.",
    examples: ["yao workspace secrets remove GITHUB_TOKEN -w team"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      const { client, path } = at(cli, flags);
      await client.delete(`${path}/secrets/${encodeURIComponent(name)}`);
      print(cli, flags, { removed: name }, () => `${plain(name)} was removed\n`);
      return undefined;
    },
  });
}
