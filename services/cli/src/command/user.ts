/** `yao user`: people, for administrators. */

import type { ListUsersResponse, UpdateUserResponse } from "@mesh/proto";
import type { Command } from "commander";

import { clientOf, type CommonFlags, print } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf } from "../command.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

/** The group. */
export function userCommand(builder: Builder): Command {
  return group("user", "Manage people (administrators only).", [
    listCommand(builder),
    changeCommand(builder, {
      name: "disable",
      text: "End a person's sessions and refuse the person's tokens, at once.",
      change: { disabled: true },
      done: "is disabled",
    }),
    changeCommand(builder, {
      name: "enable",
      text: "Let a person in again.",
      change: { disabled: false },
      done: "is enabled",
    }),
    changeCommand(builder, {
      name: "promote",
      text: "Make a person an administrator.",
      change: { is_admin: true },
      done: "is an administrator",
    }),
    changeCommand(builder, {
      name: "demote",
      text: "Make an administrator a person like others.",
      change: { is_admin: false },
      done: "is no administrator",
    }),
  ]);
}

function listCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "list",
    text: "List people.",
    examples: ["yao user list"],
    action: async (cli, _args, flags) => {
      const answer = await clientOf(cli, flags).get<ListUsersResponse>("/v1/users");
      print(cli, flags, answer, () =>
        table(
          answer.users,
          [
            { title: "user", value: (user) => user.name },
            { title: "name", value: (user) => user.display_name },
            { title: "admin", value: (user) => (user.is_admin ? "yes" : "") },
            { title: "state", value: (user) => (user.disabled ? "disabled" : "active") },
            { title: "created", value: (user) => user.created_at },
          ],
          "nobody",
        ),
      );
      return undefined;
    },
  });
}

interface Change {
  readonly name: string;
  readonly text: string;
  readonly change: { readonly disabled?: boolean; readonly is_admin?: boolean };
  readonly done: string;
}

function changeCommand(builder: Builder, { name, text, change, done }: Change): Command {
  return leaf<CommonFlags>(builder, {
    name: `${name} <user>`,
    text,
    examples: [`yao user ${name} ana`],
    action: async (cli, args, flags) => {
      const user = args[0] ?? "";
      const answer = await clientOf(cli, flags).patch<UpdateUserResponse>(apiPath`/v1/users/${user}`, { body: change });
      print(cli, flags, answer, () => `${plain(user)} ${done}\n`);
      return undefined;
    },
  });
}
