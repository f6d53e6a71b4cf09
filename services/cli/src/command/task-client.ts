/** Calls about tasks, and tasks as text for people. */

import type { Task } from "@mesh/proto";
import { MeshError } from "@mesh/kernel";

import { type Cli, targetOf, type WorkspaceFlags } from "../cli.ts";
import { Client } from "../client/client.ts";
import type { FlagRow } from "../command.ts";
import { list, pairs, WORKSPACE_FLAG } from "../command.ts";
import { questionsText } from "../run/question.ts";
import { fields, table } from "../terminal/table.ts";

/** Flags that say where a task's runs may go. */
export interface PlacementFlags {
  readonly node?: string;
  readonly label?: Readonly<Record<string, string>>;
  readonly tool?: readonly string[];
  readonly os?: string;
  readonly arch?: string;
}

/** Their rows. */
export const PLACEMENT_FLAGS: readonly FlagRow[] = [
  { flags: "--node <name>", text: "work on this device and nowhere else" },
  { flags: "--label <key=value>", text: "work on a device with this label (repeatable)", parse: pairs },
  { flags: "--tool <name>", text: "work on a device that has this command (repeatable)", parse: list },
  { flags: "--os <name>", text: "work on a device with this operating system" },
  { flags: "--arch <name>", text: "work on a device with this processor" },
];

/** What they say; undefined when none is given. */
export function placementOf(flags: PlacementFlags): Task["placement"] {
  const { node, label, tool, os, arch } = flags;
  const isGiven = [node, label, tool, os, arch].some((value) => value !== undefined);
  if (!isGiven) return undefined;
  return { node: node ?? "", labels: { ...label }, tools: tool ?? [], os: os ?? "", arch: arch ?? "" };
}

/** The workspace flag of all commands on tasks. */
export const TASK_FLAGS: readonly FlagRow[] = [WORKSPACE_FLAG];

/** A client, the workspace, and how the API names a task that a person named by key or id. */
export interface TaskTarget {
  readonly client: Client;
  readonly workspace: string;
  readonly ref: (task: string) => string;
}

/** Resolves it: `T-12` is one of the workspace in use. */
export function taskTarget(cli: Cli, flags: WorkspaceFlags): TaskTarget {
  const target = targetOf(cli, flags);
  const ref = (task: string): string => (/^T-\d+$/i.test(task) ? `${target.workspace}:${task}` : task);
  return { client: new Client(cli.clock, target), workspace: target.workspace, ref };
}

/** The task of an answer. */
export function taskOf(answer: { readonly task?: Task | undefined }): Task {
  if (answer.task !== undefined) return answer.task;
  throw new MeshError("data_loss", "the coordinator told nothing about the task — try again, or see `yao task list`");
}

/** Tasks as a table. */
export function tasksText(tasks: readonly Task[]): string {
  return table(
    tasks,
    [
      { title: "task", value: (task) => task.key },
      { title: "state", value: (task) => task.run_state },
      { title: "column", value: (task) => task.category },
      { title: "priority", value: (task) => (task.priority === "none" ? "" : task.priority) },
      { title: "title", value: (task) => task.title },
      { title: "node", value: (task) => task.node },
      { title: "now", value: (task) => (task.run_reason === "" ? task.last_line : task.run_reason) },
    ],
    'no tasks; make one with `yao task add "What you need"`',
  );
}

/** One task for people. */
export function taskText(task: Task): string {
  const keys = (refs: Task["blocked_by"]): string => refs.map(({ key, title }) => `${key} ${title}`).join(", ");
  const head = fields([
    ["task", `${task.key} (${task.id})`],
    ["title", task.title],
    ["state", task.run_state],
    ["reason", task.run_reason],
    ["column", task.category],
    ["priority", task.priority],
    ["labels", task.labels.join(", ")],
    ["assistant", task.assistant],
    ["assignee", task.assignee],
    ["waits for", keys(task.blocked_by)],
    ["before", keys(task.blocks)],
    ["run", task.run_id],
    ["node", task.node],
    ["attempts", task.attempts],
    ["last line", task.last_line],
    ["summary", task.summary],
    ["outputs", task.outputs.map(({ target }) => target).join(", ")],
    ["schedule", task.schedule === undefined ? undefined : `${task.schedule.cron} ${task.schedule.time_zone}`],
    ["next start", task.schedule?.next_at],
    ["next try", task.retry_at],
    ["due", task.due_at],
    ["revision", task.revision],
    ["created", `${task.created_at} by ${task.created_by}`],
    ["archived", task.archived_at],
  ]);
  const about = task.description === "" ? "" : `\n${task.description}\n`;
  const asked =
    task.pending.length === 0 || task.run_id === undefined ? "" : `\n${questionsText(task.run_id, task.pending)}`;
  return `${head}${about}${asked}`;
}
