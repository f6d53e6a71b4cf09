/** `yao share`: links to tasks and task agents. */

import type { CreateShareResponse, ListSharesResponse, RevokeShareResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf, seconds } from "../command.ts";
import { table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { TASK_FLAGS, taskTarget } from "./task-client.ts";

interface CreateFlags extends WorkspaceFlags {
  readonly task?: string;
  readonly agent?: string;
  readonly run?: boolean;
  readonly ttl?: number;
}

/** The group. */
export function shareCommand(builder: Builder): Command {
  return group("share", "Share tasks and task agents by links that need no log-in.", [
    createCommand(builder),
    listCommand(builder),
    revokeCommand(builder),
  ]);
}

function createCommand(builder: Builder): Command {
  return leaf<CreateFlags>(builder, {
    name: "create",
    text: "Make a link and print it, once.",
    examples: ["yao share create --task T-12 --ttl 7d", "yao share create --agent weekly-report --run"],
    flags: [
      ...TASK_FLAGS,
      { flags: "--task <task>", text: "task to look at" },
      { flags: "--agent <id>", text: "task agent to look at, or to run" },
      { flags: "--run", text: "with --agent: whoever has the link may run it" },
      { flags: "--ttl <duration>", text: "how long it works (default: until it is revoked)", parse: seconds },
    ],
    action: async (cli, _args, flags) => {
      if ((flags.task === undefined) === (flags.agent === undefined)) {
        throw new InvalidArgumentError("name what is shared: either --task or --agent.");
      }
      const { client, workspace, ref } = taskTarget(cli, flags);
      const answer = await client.post<CreateShareResponse>(apiPath`/v1/workspaces/${workspace}/shares`, {
        body: {
          task: flags.task === undefined ? "" : ref(flags.task),
          agent: flags.agent ?? "",
          access: flags.run === true ? "run" : "view",
          ttl_seconds: flags.ttl ?? 0,
        },
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
    text: "List links that work, without their codes.",
    examples: ["yao share list"],
    flags: TASK_FLAGS,
    action: async (cli, _args, flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.get<ListSharesResponse>(apiPath`/v1/workspaces/${workspace}/shares`);
      print(cli, flags, answer, () =>
        table(
          answer.shares,
          [
            { title: "share", value: (share) => share.id },
            { title: "of", value: (share) => share.kind },
            { title: "title", value: (share) => share.title },
            { title: "access", value: (share) => share.access },
            { title: "opened", value: (share) => String(share.opened) },
            { title: "expires", value: (share) => share.expires_at },
            { title: "by", value: (share) => share.created_by },
          ],
          "no links; make one with `yao share create --task T-1`",
        ),
      );
      return undefined;
    },
  });
}

function revokeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "revoke <share>",
    text: "End a link at once.",
    examples: ["yao share revoke share_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.delete<RevokeShareResponse>(apiPath`/v1/workspaces/${workspace}/shares/${id}`);
      print(cli, flags, answer, () => `${plain(id)} opens nothing any more\n`);
      return undefined;
    },
  });
}
