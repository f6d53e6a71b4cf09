/** `yao workspace members` and `invite`. */

import type { CreateInvitationResponse, ListMembersResponse, PutMemberResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, seconds, whole, WORKSPACE_FLAG } from "../command.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface RoleFlags extends WorkspaceFlags {
  readonly role?: string;
}

interface InviteFlags extends RoleFlags {
  readonly ttl?: number;
  readonly uses?: number;
}

const ROLES = ["owner", "member", "viewer"];

/** `yao workspace members`. */
export function membersCommand(builder: Builder): Command {
  return group("workspace members", "Manage who belongs to a workspace.", [
    listCommand(builder),
    putCommand(builder, "add", "Add a user, by name.", "yao workspace members add ana --role viewer"),
    putCommand(builder, "role", "Change what a member may do.", "yao workspace members role ana --role owner"),
    removeCommand(builder),
  ]);
}

/** `yao workspace invite`. */
export function inviteCommand(builder: Builder): Command {
  return leaf<InviteFlags>(builder, {
    name: "invite",
    text: "Print a link with which people join the workspace and make their account.",
    examples: ["yao workspace invite", "yao workspace invite -w team --role viewer --uses 10 --ttl 24h"],
    flags: [
      { flags: "--role <role>", text: "owner, member or viewer (default: member)", parse: role },
      { flags: "--uses <number>", text: "how many people may use it (default: 1)", parse: whole(1, 100) },
      { flags: "--ttl <duration>", text: "how long it is valid (default: 7 days)", parse: seconds },
      WORKSPACE_FLAG,
    ],
    action: async (cli, _args, flags) => {
      const { client, path } = at(cli, flags);
      const answer = await client.post<CreateInvitationResponse>(`${path}/invitations`, {
        body: { role: flags.role ?? "", uses: flags.uses ?? 0, ttl_seconds: flags.ttl ?? 0 },
      });
      print(cli, flags, answer, () => `${plain(answer.url)}\n`);
      cli.terminal.progress("keep it now: it is not shown again");
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List the members.",
    examples: ["yao workspace members list -w team"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, _args, flags) => {
      const { client, path } = at(cli, flags);
      const answer = await client.get<ListMembersResponse>(`${path}/members`);
      print(cli, flags, answer, () =>
        table(
          answer.members,
          [
            { title: "user", value: (member) => member.user },
            { title: "role", value: (member) => member.role },
          ],
          "no members",
        ),
      );
      return undefined;
    },
  });
}

function putCommand(builder: Builder, name: string, text: string, example: string): Command {
  return leaf<RoleFlags>(builder, {
    name: `${name} <user>`,
    text,
    examples: [example],
    flags: [{ flags: "--role <role>", text: "owner, member or viewer (default: member)", parse: role }, WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const user = args[0] ?? "";
      const { client, path, workspace } = at(cli, flags);
      const body = { role: flags.role ?? "member" };
      const answer = await client.put<PutMemberResponse>(`${path}/members/${encodeURIComponent(user)}`, { body });
      print(cli, flags, answer, () => `${plain(user)} is ${body.role} of ${plain(workspace)}\n`);
      return undefined;
    },
  });
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <user>",
    text: "Remove a member.",
    examples: ["yao workspace members remove ana -w team"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const user = args[0] ?? "";
      const { client, path, workspace } = at(cli, flags);
      await client.delete(`${path}/members/${encodeURIComponent(user)}`);
      print(cli, flags, { removed: user }, () => `${plain(user)} is no member of ${plain(workspace)} any more\n`);
      return undefined;
    },
  });
}

function role(text: string): string {
  if (ROLES.includes(text)) return text;
  throw new InvalidArgumentError(`"${text}" must be one of: ${ROLES.join(", ")}.`);
}

/** The workspace of the flags, as a path. */
export function at(
  cli: Cli,
  flags: WorkspaceFlags,
): { readonly client: Client; readonly path: string; readonly workspace: string } {
  const target = targetOf(cli, flags);
  const { workspace } = target;
  return { client: new Client(cli.clock, target), path: apiPath`/v1/workspaces/${workspace}`, workspace };
}
