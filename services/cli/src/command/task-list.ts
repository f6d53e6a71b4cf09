/** `yao task list` and `yao task show`. */

import type { Board, GetTaskResponse, ListBoardsResponse, ListTasksResponse } from "@mesh/proto";
import type { Command } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, type FlagRow, leaf, whole } from "../command.ts";
import { table } from "../terminal/table.ts";
import { TASK_FLAGS, taskOf, tasksText, taskTarget, taskText } from "./task-client.ts";

interface ListFlags extends WorkspaceFlags {
  readonly boards?: boolean;
  readonly board?: string;
  readonly column?: string;
  readonly category?: string;
  readonly state?: string;
  readonly assignee?: string;
  readonly assistant?: string;
  readonly node?: string;
  readonly tag?: string;
  readonly priority?: string;
  readonly search?: string;
  readonly parent?: string;
  readonly archived?: boolean;
  readonly limit?: number;
  readonly cursor?: string;
}

const LIST_FLAGS: readonly FlagRow[] = [
  ...TASK_FLAGS,
  { flags: "--boards", text: "list the boards and their columns instead" },
  { flags: "--board <name>", text: "only tasks of this board" },
  { flags: "--column <name>", text: "only tasks of this column" },
  { flags: "--category <word>", text: "backlog, todo, in_progress, in_review, done or cancelled" },
  {
    flags: "--state <word>",
    text: "idle, blocked, queued, running, waiting, succeeded, failed, cancelled or lost",
  },
  { flags: "--assignee <user>", text: "only tasks that this person looks after" },
  { flags: "--assistant <id>", text: "only tasks of this assistant" },
  { flags: "--node <name>", text: "only tasks whose newest run is on this device" },
  { flags: "--tag <label>", text: "only tasks with this label" },
  { flags: "--priority <word>", text: "only tasks of this priority" },
  { flags: "--search <words>", text: "words of title, description and conversation" },
  { flags: "--parent <task>", text: "only parts of this task" },
  { flags: "--archived", text: "archived tasks instead" },
  { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, 200) },
  { flags: "--cursor <text>", text: "go on where an earlier list ended" },
];

function queryOf(flags: ListFlags): Readonly<Record<string, string | number | undefined>> {
  return {
    board: flags.board,
    column: flags.column,
    category: flags.category,
    run_state: flags.state,
    assignee: flags.assignee,
    assistant: flags.assistant,
    node: flags.node,
    label: flags.tag,
    priority: flags.priority,
    query: flags.search,
    parent: flags.parent,
    archived: flags.archived === true ? "true" : undefined,
    limit: flags.limit,
    cursor: flags.cursor,
  };
}

/** `yao task list`. */
export function listCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "list",
    text: "List tasks: the newest first, or the cards of one column in their order.",
    examples: [
      "yao task list",
      "yao task list --state waiting",
      'yao task list --column "In progress"',
      "yao task list --search hotel",
    ],
    flags: LIST_FLAGS,
    action: async (cli, _args, flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      if (flags.boards === true) {
        const answer = await client.get<ListBoardsResponse>(apiPath`/v1/workspaces/${workspace}/boards`);
        print(cli, flags, answer, () => boardsText(answer.boards));
        return undefined;
      }
      const answer = await client.get<ListTasksResponse>(apiPath`/v1/workspaces/${workspace}/tasks`, {
        query: queryOf(flags),
      });
      const more = answer.next_cursor === "" ? "" : `more: yao task list --cursor "${answer.next_cursor}"\n`;
      print(
        cli,
        flags,
        answer,
        () =>
          `${tasksText(answer.tasks)}${answer.tasks.length < answer.total ? `${answer.total} in all\n` : ""}${more}`,
      );
      return undefined;
    },
  });
}

function boardsText(boards: readonly Board[]): string {
  const rows = boards.flatMap((board) => board.columns.map((column) => ({ board: board.name, ...column })));
  return table(
    rows,
    [
      { title: "board", value: (row) => row.board },
      { title: "column", value: (row) => row.name },
      { title: "category", value: (row) => row.category },
      { title: "limit", value: (row) => (row.wip_limit === 0 ? "" : row.wip_limit) },
    ],
    "no boards",
  );
}

/** `yao task show`. */
export function showCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "show <task>",
    text: "Show one task: its state and why, what it asks, what it waits for, what came of it.",
    examples: ["yao task show T-12", "yao task show T-12 --json"],
    flags: TASK_FLAGS,
    action: async (cli, [task = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const answer = await client.get<GetTaskResponse>(apiPath`/v1/tasks/${ref(task)}`);
      print(cli, flags, answer, () => taskText(taskOf(answer)));
      return undefined;
    },
  });
}
