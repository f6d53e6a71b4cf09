/** `yao task schedule` and `yao task template`. */

import type {
  ListTemplatesResponse,
  PreviewScheduleResponse,
  PutScheduleResponse,
  PutTemplateResponse,
  RemoveScheduleResponse,
} from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, group, leaf, list } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import { table } from "../terminal/table.ts";
import { PLACEMENT_FLAGS, type PlacementFlags, placementOf, TASK_FLAGS, taskOf, taskTarget } from "./task-client.ts";

interface ScheduleFlags extends WorkspaceFlags {
  readonly zone?: string;
  readonly missed?: string;
  readonly overlap?: string;
  readonly message?: string;
  readonly pause?: boolean;
  readonly remove?: boolean;
  readonly preview?: boolean;
}

/** The command. */
export function scheduleCommand(builder: Builder): Command {
  return leaf<ScheduleFlags>(builder, {
    name: "schedule <task> [cron]",
    text: "Start a task by the clock: five fields (minute hour day month weekday) in a time zone.",
    examples: [
      'yao task schedule T-12 "0 9 * * 1-5" --zone Europe/Berlin',
      'yao task schedule T-12 "0 9 * * 1-5" --preview',
      "yao task schedule T-12 --remove",
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--zone <name>", text: "IANA time zone (default: that of this device)" },
      { flags: "--missed <policy>", text: "times that passed while nothing could run: skip, or once (default: skip)" },
      { flags: "--overlap <policy>", text: "when the run before is still at work: skip, or queue (default: skip)" },
      { flags: "--message <text>", text: "what is said at each start (default: the task's description); may be @FILE" },
      { flags: "--pause", text: "keep it without starting anything" },
      { flags: "--remove", text: "remove the schedule" },
      { flags: "--preview", text: "only show the next times" },
    ],
    action: async (cli, [name = "", cron], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const path = apiPath`/v1/tasks/${ref(name)}/schedule`;
      if (flags.remove === true) {
        const removed = await client.delete<RemoveScheduleResponse>(path);
        print(cli, flags, removed, () => `${taskOf(removed).key} has no schedule any more\n`);
        return undefined;
      }
      if (cron === undefined) throw new InvalidArgumentError('give the times, such as "0 9 * * 1-5", or --remove.');
      const zone = flags.zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
      if (flags.preview === true) {
        const { times } = await client.post<PreviewScheduleResponse>("/v1/schedules/preview", {
          body: { cron, time_zone: zone },
        });
        print(cli, flags, { times }, () => `${times.join("\n")}\n`);
        return undefined;
      }
      const message = flags.message === undefined ? "" : await givenText(cli, flags.message, MAX_INPUT_BYTES);
      const answer = await client.put<PutScheduleResponse>(path, {
        body: {
          schedule: {
            cron,
            time_zone: zone,
            missed: flags.missed ?? "",
            overlap: flags.overlap ?? "",
            paused: flags.pause === true,
            message,
          },
        },
      });
      const task = taskOf(answer);
      print(cli, flags, answer, () => `${task.key} starts next at ${task.schedule?.next_at ?? "no time"}\n`);
      return undefined;
    },
  });
}

interface TemplateFlags extends WorkspaceFlags, PlacementFlags {
  readonly title?: string;
  readonly message?: string;
  readonly description?: string;
  readonly assistant?: string;
  readonly priority?: string;
  readonly tag?: readonly string[];
}

/** The group. */
export function templateCommand(builder: Builder): Command {
  return group("task template", "Manage tasks that are made again and again.", [
    putCommand(builder),
    listCommand(builder),
    removeCommand(builder),
  ]);
}

function putCommand(builder: Builder): Command {
  return leaf<TemplateFlags>(builder, {
    name: "put <name>",
    text: "Make or replace a template; {{name}} in its texts is a variable.",
    examples: ['yao task template put weekly --title "Report {{week}}" --message @weekly.md'],
    flags: [
      ...TASK_FLAGS,
      { flags: "--title <text>", text: "title" },
      { flags: "--message <text>", text: "first message; may be @FILE or -" },
      { flags: "--description <text>", text: "description" },
      { flags: "--assistant <id>", text: "who works on it" },
      { flags: "--priority <word>", text: "none, low, medium, high or urgent" },
      { flags: "--tag <label>", text: "label (repeatable)", parse: list },
      ...PLACEMENT_FLAGS,
    ],
    action: async (cli, [name = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const placement = placementOf(flags);
      const answer = await client.put<PutTemplateResponse>(apiPath`/v1/workspaces/${workspace}/templates/${name}`, {
        body: {
          title: flags.title ?? "",
          message: flags.message === undefined ? "" : await givenText(cli, flags.message, MAX_INPUT_BYTES),
          description: flags.description ?? "",
          assistant: flags.assistant ?? "",
          priority: flags.priority ?? "",
          labels: flags.tag ?? [],
          ...(placement === undefined ? {} : { placement }),
        },
      });
      const variables = answer.template?.variables ?? [];
      print(
        cli,
        flags,
        answer,
        () => `template ${name}${variables.length === 0 ? "" : ` with ${variables.join(", ")}`}\n`,
      );
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List the templates of the workspace.",
    examples: ["yao task template list"],
    flags: TASK_FLAGS,
    action: async (cli, _args, flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.get<ListTemplatesResponse>(apiPath`/v1/workspaces/${workspace}/templates`);
      print(cli, flags, answer, () =>
        table(
          answer.templates,
          [
            { title: "template", value: (row) => row.name },
            { title: "title", value: (row) => row.title },
            { title: "variables", value: (row) => row.variables.join(", ") },
          ],
          "no templates; make one with `yao task template put`",
        ),
      );
      return undefined;
    },
  });
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <name>",
    text: "Remove a template.",
    examples: ["yao task template remove weekly"],
    flags: TASK_FLAGS,
    action: async (cli, [name = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      await client.delete(apiPath`/v1/workspaces/${workspace}/templates/${name}`);
      print(cli, flags, { removed: name }, () => `template ${name} is removed\n`);
      return undefined;
    },
  });
}
