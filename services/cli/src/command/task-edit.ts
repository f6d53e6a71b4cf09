/** `yao task edit`: changes fields of a task. */

import type { GetTaskResponse, UpdateTaskResponse } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf, list, whole } from "../command.ts";
import { givenText, MAX_INPUT_BYTES } from "../given-text.ts";
import {
  PLACEMENT_FLAGS,
  type PlacementFlags,
  placementOf,
  TASK_FLAGS,
  taskOf,
  taskTarget,
  taskText,
} from "./task-client.ts";

interface EditFlags extends WorkspaceFlags, PlacementFlags {
  readonly title?: string;
  readonly description?: string;
  readonly priority?: string;
  readonly tag?: readonly string[];
  readonly untag?: readonly string[];
  readonly assistant?: string;
  readonly assignee?: string;
  readonly after?: readonly string[];
  readonly parent?: string;
  readonly retries?: number;
  readonly due?: string;
}

/** The command. */
export function editCommand(builder: Builder): Command {
  return leaf<EditFlags>(builder, {
    name: "edit <task>",
    text: "Change fields of a task; what somebody else changes at the same moment is not written over.",
    examples: [
      "yao task edit T-12 --priority high --tag travel",
      "yao task edit T-12 --description @notes.md",
      "yao task edit T-12 --after T-3",
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--title <text>", text: "title" },
      { flags: "--description <text>", text: "description; may be @FILE or -" },
      { flags: "--priority <word>", text: "none, low, medium, high or urgent" },
      { flags: "--tag <label>", text: "add a label (repeatable)", parse: list },
      { flags: "--untag <label>", text: "remove a label (repeatable)", parse: list },
      { flags: "--assistant <id>", text: "who works on it" },
      { flags: "--assignee <user>", text: "who looks after it" },
      {
        flags: "--after <task>",
        text: "what must be done first, all of it (repeatable); none: --after none",
        parse: list,
      },
      { flags: "--parent <task>", text: "task that it is a part of; none: --parent none" },
      { flags: "--retries <number>", text: "how often a failed run is tried again", parse: whole(0, 10) },
      { flags: "--due <time>", text: "when it should be done; none: --due none" },
      ...PLACEMENT_FLAGS,
    ],
    action: async (cli, [name = ""], flags) => {
      const { client, ref } = taskTarget(cli, flags);
      const { revision, labels } = taskOf(await client.get<GetTaskResponse>(apiPath`/v1/tasks/${ref(name)}`));
      const isTagged = flags.tag !== undefined || flags.untag !== undefined;
      const tags = [...labels, ...(flags.tag ?? [])].filter((label) => flags.untag?.includes(label) !== true);
      const changes = Object.entries({
        title: flags.title,
        description:
          flags.description === undefined ? undefined : await givenText(cli, flags.description, MAX_INPUT_BYTES),
        priority: flags.priority,
        labels: isTagged ? { items: [...new Set(tags)] } : undefined,
        assistant: flags.assistant,
        assignee: flags.assignee,
        blocked_by: flags.after === undefined ? undefined : { items: flags.after.filter((task) => task !== "none") },
        parent: orNone(flags.parent),
        max_retries: flags.retries,
        due_at: orNone(flags.due),
        placement: placementOf(flags),
      }).filter(([, value]) => value !== undefined);
      if (changes.length === 0) throw new InvalidArgumentError("say what to change, such as --title or --priority.");
      const answer = await client.patch<UpdateTaskResponse>(apiPath`/v1/tasks/${ref(name)}`, {
        body: { revision, ...Object.fromEntries(changes) },
      });
      print(cli, flags, answer, () => taskText(taskOf(answer)));
      return undefined;
    },
  });
}

function orNone(text: string | undefined): string | undefined {
  return text === "none" ? "" : text;
}
