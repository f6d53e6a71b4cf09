/** `yao workspace set` and `rename`. */

import { MeshError } from "@mesh/kernel";
import type { GetWorkspaceResponse, UpdateWorkspaceResponse, WorkspaceSettings } from "@mesh/proto";
import { type Command, InvalidArgumentError } from "commander";

import { clientOf, type CommonFlags, print } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf, list, whole } from "../command.ts";
import { fields } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";

interface SetFlags extends CommonFlags {
  readonly defaultAssistant?: string;
  readonly node?: readonly string[];
  readonly allNodes?: boolean;
  readonly memberAssistant?: readonly string[];
  readonly allAssistants?: boolean;
  readonly maxActiveRuns?: number;
  readonly maxRunsPerDay?: number;
  readonly maxStorageMb?: number;
}

/** Settings of a workspace that sets nothing; the generated message itself would make every start slower. */
const NONE: WorkspaceSettings = {
  default_assistant: "",
  node_ids: [],
  member_assistants: [],
  max_active_runs: 0,
  max_runs_per_day: 0,
  max_storage_mb: 0,
};

/** `yao workspace rename`. */
export function renameCommand(builder: Builder): Command {
  return leaf<CommonFlags>(builder, {
    name: "rename <workspace> <name>",
    text: "Give a workspace another name.",
    examples: ["yao workspace rename team crew"],
    action: async (cli, args, flags) => {
      const [workspace = "", name = ""] = args;
      const answer = await clientOf(cli, flags).patch<UpdateWorkspaceResponse>(apiPath`/v1/workspaces/${workspace}`, {
        body: { name },
      });
      print(cli, flags, answer, () => `${plain(workspace)} is called ${plain(name)} now\n`);
      return undefined;
    },
  });
}

/** `yao workspace set`. */
export function setCommand(builder: Builder): Command {
  return leaf<SetFlags>(builder, {
    name: "set <workspace>",
    text: "Change settings of a workspace; what is not named stays as it is.",
    examples: [
      "yao workspace set team --max-active-runs 4",
      "yao workspace set team --node laptop --node server --default-assistant helper",
      "yao workspace set team --all-nodes --max-active-runs 0",
    ],
    flags: [
      { flags: "--default-assistant <id>", text: 'assistant that tasks and chats begin with ("" for none)' },
      { flags: "--node <name>", text: "device its runs may go to (repeatable)", parse: list },
      { flags: "--all-nodes", text: "its runs may go to every device that serves it" },
      { flags: "--member-assistant <id>", text: "assistant that members may run (repeatable)", parse: list },
      { flags: "--all-assistants", text: "members may run every assistant" },
      { flags: "--max-active-runs <n>", text: "runs at once; 0 for no limit", parse: whole(0, 100_000) },
      { flags: "--max-runs-per-day <n>", text: "runs within 24 hours; 0 for no limit", parse: whole(0, 100_000) },
      {
        flags: "--max-storage-mb <n>",
        text: "megabytes of uploads; 0 for no limit of its own",
        parse: whole(0, 1_000_000_000),
      },
    ],
    action: async (cli, args, flags) => {
      const name = args[0] ?? "";
      requireChange(flags);
      const client = clientOf(cli, flags);
      const path = apiPath`/v1/workspaces/${name}`;
      const { workspace } = await client.get<GetWorkspaceResponse>(path);
      if (workspace === undefined) throw new MeshError("not_found", `workspace ${name} was not found`);
      const settings = changed({ ...NONE, ...workspace.settings }, flags);
      const answer = await client.patch<UpdateWorkspaceResponse>(path, { body: { settings } });
      print(cli, flags, answer, () => settingsText(answer.workspace?.settings));
      return undefined;
    },
  });
}

/** Settings for people. */
export function settingsText(settings: WorkspaceSettings | undefined): string {
  const limit = (value: number | undefined): string =>
    value === undefined || value === 0 ? "no limit" : String(value);
  const all = (values: readonly string[] | undefined): string =>
    values === undefined || values.length === 0 ? "all" : values.join(", ");
  return fields([
    ["default assistant", settings?.default_assistant ?? ""],
    ["devices", all(settings?.node_ids)],
    ["assistants of members", all(settings?.member_assistants)],
    ["runs at once", limit(settings?.max_active_runs)],
    ["runs a day", limit(settings?.max_runs_per_day)],
    ["storage in MB", limit(settings?.max_storage_mb)],
  ]);
}

function changed(before: WorkspaceSettings, flags: SetFlags): WorkspaceSettings {
  return {
    default_assistant: flags.defaultAssistant ?? before.default_assistant,
    node_ids: flags.allNodes === true ? [] : [...(flags.node ?? before.node_ids)],
    member_assistants: flags.allAssistants === true ? [] : [...(flags.memberAssistant ?? before.member_assistants)],
    max_active_runs: flags.maxActiveRuns ?? before.max_active_runs,
    max_runs_per_day: flags.maxRunsPerDay ?? before.max_runs_per_day,
    max_storage_mb: flags.maxStorageMb ?? before.max_storage_mb,
  };
}

function requireChange(flags: SetFlags): void {
  const { json: _json, data: _data, ...given } = flags;
  if (Object.values(given).every((value) => value === undefined)) {
    throw new InvalidArgumentError("name a setting to change, such as --max-active-runs 4.");
  }
  if (
    (flags.node !== undefined && flags.allNodes === true) ||
    (flags.memberAssistant !== undefined && flags.allAssistants === true)
  ) {
    throw new InvalidArgumentError(
      "--all-nodes and --node, or --all-assistants and --member-assistant, exclude each other.",
    );
  }
}
