/** `yao inbox`: what needs the person who asks. */

import type { ListInboxResponse, MarkInboxResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { clientOf, print, type WorkspaceFlags } from "../cli.ts";
import { type Builder, leaf, list, whole } from "../command.ts";
import { table } from "../terminal/table.ts";

interface InboxFlags extends WorkspaceFlags {
  readonly kind?: string;
  readonly archived?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
  readonly read?: boolean;
  readonly archive?: boolean;
  readonly entry?: readonly string[];
}

/** The command. */
export function inboxCommand(builder: Builder): Command {
  return leaf<InboxFlags>(builder, {
    name: "inbox",
    text: "See what needs you, what failed and what was done; or mark it as read or archived.",
    examples: [
      "yao inbox",
      "yao inbox --kind needs_input",
      "yao inbox --read",
      "yao inbox --archive --entry inbox_01j8x5k2m3n4p5q6r7s8t9v0w1",
    ],
    flags: [
      { flags: "-w, --workspace <name>", text: "only of this workspace (default: all)" },
      { flags: "--kind <word>", text: "needs_input, failed or done" },
      { flags: "--archived", text: "what was archived" },
      { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, 200) },
      { flags: "--cursor <text>", text: "go on where an earlier list ended" },
      { flags: "--read", text: "mark as read" },
      { flags: "--archive", text: "archive" },
      { flags: "--entry <id>", text: "with --read or --archive: only this one (repeatable)", parse: list },
    ],
    action: async (cli, _args, flags) => {
      const client = clientOf(cli, flags);
      if (flags.read === true && flags.archive === true) throw new InvalidArgumentError("choose --read or --archive.");
      if (flags.read === true || flags.archive === true) {
        const body = { entries: flags.entry ?? [], state: flags.read === true ? "read" : "archived" };
        const marked = await client.post<MarkInboxResponse>("/v1/inbox", { body });
        print(cli, flags, marked, () => `${marked.unread} unread\n`);
        return undefined;
      }
      const answer = await client.get<ListInboxResponse>("/v1/inbox", {
        query: {
          workspace: flags.workspace,
          kind: flags.kind,
          archived: flags.archived === true ? "true" : undefined,
          limit: flags.limit,
          cursor: flags.cursor,
        },
      });
      print(cli, flags, answer, () => inboxText(answer));
      return undefined;
    },
  });
}

function inboxText(answer: ListInboxResponse): string {
  const text = table(
    answer.entries,
    [
      { title: "", value: (row) => (row.read ? "" : "*") },
      { title: "task", value: (row) => row.task_key },
      { title: "kind", value: (row) => row.kind },
      { title: "title", value: (row) => row.title },
      { title: "text", value: (row) => row.text },
      { title: "at", value: (row) => row.at },
    ],
    "nothing needs you",
  );
  return answer.next_cursor === "" ? text : `${text}more: yao inbox --cursor ${answer.next_cursor}\n`;
}
