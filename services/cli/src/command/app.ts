/** `yao app`: checks app directories, pushes and manages them. */

import { basename, resolve } from "node:path";

import type { AppChecker } from "@mesh/assistants";
import { isObject, MeshError } from "@mesh/kernel";
import type { GetAppResponse, ListAppsResponse, Problem, PushAppResponse } from "@mesh/proto";
import type { Command } from "commander";

import { type Cli, print, targetOf, type WorkspaceFlags } from "../cli.ts";
import { apiPath, Client } from "../client/client.ts";
import { type Builder, group, leaf, WORKSPACE_FLAG } from "../command.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { checkCommand, checkDirectory, countText, isError, showProblems } from "./app-check.ts";

interface PushFlags extends WorkspaceFlags {
  readonly name?: string;
  readonly resetModels?: boolean;
}

const PUSH_MS = 120_000;

/** The group; `checkers` look at what the app package only locates, such as scripts and models. */
export function appCommand(builder: Builder, checkers: readonly AppChecker[] = []): Command {
  return group("app", "Push and manage apps of assistants.", [
    pushCommand(builder, checkers),
    checkCommand(builder, checkers),
    listCommand(builder),
    showCommand(builder),
    removeCommand(builder),
  ]);
}

function pushCommand(builder: Builder, checkers: readonly AppChecker[]): Command {
  return leaf<PushFlags>(builder, {
    name: "push <dir>",
    text: "Check an app directory and make it the newest version of an app.",
    examples: ["yao app push ./my-app", "yao app push . --name writer --workspace team"],
    flags: [
      { flags: "--name <name>", text: "name of the app (default: the directory's)" },
      { flags: "--reset-models", text: "drop and create the tables of its models anew; their rows are lost" },
      WORKSPACE_FLAG,
    ],
    action: (cli, args, flags) => push(cli, args, flags, checkers),
  });
}

async function push(
  cli: Cli,
  args: readonly string[],
  flags: PushFlags,
  checkers: readonly AppChecker[],
): Promise<undefined> {
  const { bundleApp } = await import("@mesh/assistants");
  const directory = resolve(args[0] ?? ".");
  const { files, problems } = await checkDirectory(directory, checkers);
  if (problems.some(isError)) throw refused(cli, problems);
  const target = targetOf(cli, flags);
  const name = flags.name ?? appName(directory);
  const { bytes } = bundleApp(files);
  cli.terminal.progress(`pushing ${(bytes.byteLength / 1024).toFixed(0)} KB to ${target.workspace}`);
  const answer = await pushBundle(
    cli,
    new Client(cli.clock, target),
    `${apiPath`/v1/workspaces/${target.workspace}/apps/${name}/versions`}${flags.resetModels === true ? "?reset_models=true" : ""}`,
    bytes,
  );
  showProblems(cli, answer.warnings.filter(isNoNote));
  for (const line of answer.migrations) cli.terminal.progress(line);
  const { app } = answer;
  print(cli, flags, answer, () =>
    answer.changed
      ? `${name} version ${app?.version ?? "?"} pushed: ${countText(app?.assistants ?? 0)}\n`
      : `${name} is unchanged at version ${app?.version ?? "?"}\n`,
  );
  return undefined;
}

async function pushBundle(cli: Cli, client: Client, path: string, bytes: Uint8Array): Promise<PushAppResponse> {
  try {
    return await client.post<PushAppResponse>(path, { bytes, timeoutMs: PUSH_MS });
  } catch (error) {
    const found = error instanceof MeshError ? error.details?.["problems"] : undefined;
    if (Array.isArray(found)) showProblems(cli, found.filter(isProblem));
    throw error;
  }
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List the apps of a workspace.",
    examples: ["yao app list"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, _args, flags) => {
      const target = targetOf(cli, flags);
      const answer = await new Client(cli.clock, target).get<ListAppsResponse>(
        apiPath`/v1/workspaces/${target.workspace}/apps`,
      );
      print(cli, flags, answer, () =>
        table(
          answer.apps,
          [
            { title: "app", value: (app) => app.name },
            { title: "version", value: (app) => app.version },
            { title: "assistants", value: (app) => app.assistants },
            { title: "size", value: (app) => `${Math.ceil(app.size_bytes / 1024)} KB` },
            { title: "updated", value: (app) => app.updated_at },
          ],
          "no app yet; push one with `yao app push DIR`",
        ),
      );
      return undefined;
    },
  });
}

function showCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "show <app>",
    text: "Show one app: its assistants and versions.",
    examples: ["yao app show demo"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const target = targetOf(cli, flags);
      const path = apiPath`/v1/workspaces/${target.workspace}/apps/${args[0] ?? ""}`;
      const answer = await new Client(cli.clock, target).get<GetAppResponse>(path);
      print(cli, flags, answer, () => appText(answer));
      return undefined;
    },
  });
}

function appText({ app, assistants, versions }: GetAppResponse): string {
  const head = fields([
    ["app", app?.name],
    ["version", app?.version],
    ["digest", app?.digest],
    ["updated", app?.updated_at],
  ]);
  const people = table(
    assistants,
    [
      { title: "assistant", value: (assistant) => assistant.id },
      { title: "name", value: (assistant) => assistant.name },
      { title: "connector", value: (assistant) => assistant.connector },
      { title: "description", value: (assistant) => assistant.description },
    ],
    "no assistants",
  );
  const history = table(
    versions,
    [
      { title: "version", value: (version) => version.version },
      { title: "digest", value: (version) => version.digest.slice(0, 12) },
      { title: "pushed", value: (version) => version.created_at },
    ],
    "no versions",
  );
  return `${head}\n${people}\n${history}`;
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <app>",
    text: "Remove an app. Runs that have started keep their copy.",
    examples: ["yao app remove demo"],
    flags: [WORKSPACE_FLAG],
    action: async (cli, args, flags) => {
      const target = targetOf(cli, flags);
      const app = args[0] ?? "";
      await new Client(cli.clock, target).delete(apiPath`/v1/workspaces/${target.workspace}/apps/${app}`);
      print(cli, flags, { removed: app }, () => `${plain(app)} was removed\n`);
      return undefined;
    },
  });
}

function refused(cli: Cli, problems: readonly Problem[]): MeshError {
  showProblems(cli, problems.filter(isNoNote));
  const errors = problems.filter(isError).length;
  return new MeshError(
    "invalid_argument",
    `the app has ${errors} ${errors === 1 ? "error" : "errors"} and was not pushed — mend the files above and try again`,
  );
}

// What is merely unused is for those who check, not for each push.
function isNoNote(problem: Problem): boolean {
  return problem.severity !== "note";
}

function isProblem(value: unknown): value is Problem {
  return isObject(value) && typeof value["file"] === "string" && typeof value["message"] === "string";
}

function appName(directory: string): string {
  const name = basename(directory)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  if (name === "")
    throw new MeshError("invalid_argument", `${directory} gives no name for the app — choose one with --name`);
  return name;
}
