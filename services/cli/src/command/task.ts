/** `yao task`: the board from the command line. */

import type {
  ArchiveTaskResponse,
  CreateTaskRequest,
  CreateTaskResponse,
  DeleteTaskResponse,
  MoveTaskResponse,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { type Cli, print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf, list, pairs, whole } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { PLACEMENT_FLAGS, type PlacementFlags, placementOf, TASK_FLAGS, taskOf, taskTarget } from "./task-client.ts";
import { editCommand } from "./task-edit.ts";
import { listCommand, showCommand } from "./task-list.ts";
import { scheduleCommand, templateCommand } from "./task-plan.ts";
import { promoteCommand } from "./task-promote.ts";
import { EXITS, followCommand, inputCommand, runCommand, stopCommand, watch } from "./task-work.ts";

/** The group. */
export function taskCommand(builder: Builder): Command {
  return group("task", "Make, move, run and follow the tasks of the board.", [
    addCommand(builder),
    listCommand(builder),
    showCommand(builder),
    moveCommand(builder),
    runCommand(builder),
    inputCommand(builder),
    followCommand(builder),
    stopCommand(builder),
    editCommand(builder),
    archiveCommand(builder, "archive"),
    archiveCommand(builder, "restore"),
    deleteCommand(builder),
    scheduleCommand(builder),
    templateCommand(builder),
    promoteCommand(builder),
  ]);
}

interface AddFlags extends WorkspaceFlags, PlacementFlags {
  readonly title?: string;
  readonly assistant?: string;
  readonly board?: string;
  readonly column?: string;
  readonly priority?: string;
  readonly tag?: readonly string[];
  readonly assignee?: string;
  readonly after?: readonly string[];
  readonly parent?: string;
  readonly retries?: number;
  readonly due?: string;
  readonly start?: boolean;
  readonly detach?: boolean;
  readonly template?: string;
  readonly set?: Readonly<Record<string, string>>;
}

function addCommand(builder: Builder): Command {
  return leaf<AddFlags>(builder, {
    name: "add [message]",
    text: `Make a task of what you say. The message may be @FILE, or - for standard input. With --start it is started and watched. ${EXITS}`,
    examples: [
      'yao task add "Compare the three hotels and write me a mail"',
      "yao task add @plan.md --start --assistant writer --node laptop",
      "yao task add --template weekly --set week=12",
      'yao task add "Ship it" --after T-3 --start --detach',
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--title <text>", text: "title (default: the first sentence)" },
      { flags: "--assistant <id>", text: "who works on it (default: the workspace's default)" },
      { flags: "--board <name>", text: "board (default: the first)" },
      { flags: "--column <name>", text: "column (default: the first of category todo)" },
      { flags: "--priority <word>", text: "none, low, medium, high or urgent" },
      { flags: "--tag <label>", text: "label of the card (repeatable)", parse: list },
      { flags: "--assignee <user>", text: "who looks after it" },
      { flags: "--after <task>", text: "task that must be done first (repeatable)", parse: list },
      { flags: "--parent <task>", text: "task that it is a part of" },
      { flags: "--retries <number>", text: "how often a failed run is tried again", parse: whole(0, 10) },
      { flags: "--due <time>", text: "when it should be done, such as 2026-12-24T18:00:00Z" },
      { flags: "--template <name>", text: "make it from this template" },
      { flags: "--set <key=value>", text: "variable of the template (repeatable)", parse: pairs },
      { flags: "--start", text: "start it now, or as soon as what it waits for is done" },
      { flags: "--detach", text: "with --start: do not watch" },
      ...PLACEMENT_FLAGS,
    ],
    action: add,
  });
}

async function add(cli: Cli, [message]: readonly string[], flags: AddFlags): Promise<number | undefined> {
  if (message === undefined && flags.title === undefined && flags.template === undefined) {
    throw new InvalidArgumentError("say what the task is, or give --title or --template.");
  }
  const target = taskTarget(cli, flags);
  const placement = placementOf(flags);
  const body: Partial<CreateTaskRequest> = {
    ...(message === undefined ? {} : { message: await givenText(cli, message, MAX_INPUT_BYTES) }),
    ...given({
      title: flags.title,
      assistant: flags.assistant,
      board: flags.board,
      column: flags.column,
      priority: flags.priority,
      labels: flags.tag,
      assignee: flags.assignee,
      blocked_by: flags.after,
      parent: flags.parent,
      max_retries: flags.retries,
      due_at: flags.due,
      template: flags.template,
      variables: flags.set,
      start: flags.start,
      placement,
    }),
  };
  const answer = await target.client.post<CreateTaskResponse>(apiPath`/v1/workspaces/${target.workspace}/tasks`, {
    body,
    headers: { "idempotency-key": cli.ids.next("req") },
  });
  const task = taskOf(answer);
  const isWatched = flags.start === true && flags.detach !== true && task.run_id !== undefined;
  if (!isWatched) {
    print(
      cli,
      flags,
      answer,
      () => `${task.key} ${task.title}\n${task.run_reason === "" ? "" : `${task.run_reason}\n`}`,
    );
    return undefined;
  }
  if (flags.json !== true) cli.terminal.progress(`${task.key} ${task.title}`);
  return watch(cli, flags, target, { task, isOurs: true });
}

function given(values: Readonly<Record<string, unknown>>): Partial<CreateTaskRequest> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

interface MoveFlags extends WorkspaceFlags {
  readonly after?: string;
  readonly before?: string;
}

function moveCommand(builder: Builder): Command {
  return leaf<MoveFlags>(builder, {
    name: "move <task> <column>",
    text: "Put a card into a column: at its top, or right after or before another card.",
    examples: ['yao task move T-12 "In review"', "yao task move T-12 done --after T-9"],
    flags: [
      ...TASK_FLAGS,
      { flags: "--after <task>", text: "right after this card" },
      { flags: "--before <task>", text: "right before this card" },
    ],
    action: async (cli, [task = "", column = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const answer = await client.post<MoveTaskResponse>(apiPath`/v1/tasks/${ref(task)}/move`, {
        body: { column, after: flags.after ?? "", before: flags.before ?? "" },
      });
      print(cli, flags, answer, () => `${taskOf(answer).key} is in ${column}\n`);
      return undefined;
    },
  });
}

function archiveCommand(builder: Builder, name: "archive" | "restore"): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: `${name} <task>`,
    text: name === "archive" ? "Take a task off the board." : "Put an archived task back.",
    examples: [`yao task ${name} T-12`],
    flags: TASK_FLAGS,
    action: async (cli, [task = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const answer = await client.post<ArchiveTaskResponse>(apiPath`/v1/tasks/${ref(task)}/archive`, {
        body: { restore: name === "restore" },
      });
      print(
        cli,
        flags,
        answer,
        () => `${taskOf(answer).key} is ${name === "archive" ? "archived" : "back on the board"}\n`,
      );
      return undefined;
    },
  });
}

function deleteCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "delete <task>",
    text: "Delete an archived task with its conversation and runs.",
    examples: ["yao task archive T-12 && yao task delete T-12"],
    flags: TASK_FLAGS,
    action: async (cli, [task = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      await client.delete<DeleteTaskResponse>(apiPath`/v1/tasks/${ref(task)}`);
      print(cli, flags, { deleted: task }, () => `${task} is deleted\n`);
      return undefined;
    },
  });
}
