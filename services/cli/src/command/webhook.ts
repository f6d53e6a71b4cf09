/** `yao webhook`: has other systems told of what happens in a workspace. */

import type {
  CreateWebhookResponse,
  ListWebhooksResponse,
  RemoveWebhookResponse,
  RotateWebhookSecretResponse,
  UpdateWebhookResponse,
  Webhook,
} from "@mesh/proto";
import { MeshError } from "@mesh/kernel";
import { type Command, InvalidArgumentError } from "commander";

import { print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, type FlagRow, group, leaf, list } from "../command.ts";
import { fields, table } from "../terminal/table.ts";
import { plain } from "../terminal/terminal.ts";
import { TASK_FLAGS, type TaskTarget, taskTarget } from "./task-client.ts";
import { deliveriesCommand, replayCommand, testCommand } from "./webhook-delivery.ts";

interface EventFlags extends WorkspaceFlags {
  readonly event?: readonly string[];
}

interface SetFlags extends EventFlags {
  readonly url?: string;
  readonly enable?: boolean;
  readonly disable?: boolean;
}

const EVENTS =
  "task.created, task.needs_input, task.succeeded, task.failed, run.succeeded, run.failed or run.waiting (repeatable";

function eventFlag(more: string): FlagRow {
  return { flags: "--event <event>", text: `${EVENTS}; ${more})`, parse: list };
}

/** The group. */
export function webhookCommand(builder: Builder): Command {
  return group("webhook", "Have other systems told of what happens (Standard Webhooks).", [
    addCommand(builder),
    listCommand(builder),
    showCommand(builder),
    setCommand(builder),
    rotateCommand(builder),
    removeCommand(builder),
    testCommand(builder),
    deliveriesCommand(builder),
    replayCommand(builder),
  ]);
}

function addCommand(builder: Builder): Command {
  return leaf<EventFlags>(builder, {
    name: "add <url>",
    text: "Have events sent to an address, and print the secret that signs them, once.",
    examples: [
      "yao webhook add https://example.com/hook",
      "yao webhook add https://example.com/hook --event run.failed --event task.needs_input",
    ],
    flags: [...TASK_FLAGS, eventFlag("default: all")],
    action: async (cli, [url = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.post<CreateWebhookResponse>(apiPath`/v1/workspaces/${workspace}/webhooks`, {
        body: { url, events: flags.event ?? [] },
      });
      print(cli, flags, answer, () =>
        fields([
          ["webhook", answer.webhook?.id],
          ["secret", answer.secret],
        ]),
      );
      cli.terminal.progress("keep the secret now: it is not shown again");
      return undefined;
    },
  });
}

function listCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "list",
    text: "List webhooks, without their secrets.",
    examples: ["yao webhook list"],
    flags: TASK_FLAGS,
    action: async (cli, _args, flags) => {
      const answer = await readWebhooks(taskTarget(cli, flags));
      print(cli, flags, answer, () =>
        table(
          answer.webhooks,
          [
            { title: "webhook", value: (webhook) => webhook.id },
            { title: "url", value: (webhook) => webhook.url },
            { title: "events", value: eventsText },
            { title: "state", value: stateText },
            { title: "last success", value: (webhook) => webhook.last_success_at },
            { title: "last failure", value: (webhook) => webhook.last_failure_at },
          ],
          "no webhooks; make one with `yao webhook add https://example.com/hook`",
        ),
      );
      return undefined;
    },
  });
}

function showCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "show <webhook>",
    text: "Show one webhook, and why it is disabled where it is.",
    examples: ["yao webhook show hook_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const target = taskTarget(cli, flags);
      const webhook = (await readWebhooks(target)).webhooks.find((each) => each.id === id);
      if (webhook === undefined) {
        throw new MeshError(
          "not_found",
          `workspace ${target.workspace} has no webhook ${id} — see \`yao webhook list\``,
        );
      }
      print(cli, flags, { webhook }, () => webhookText(webhook));
      return undefined;
    },
  });
}

function setCommand(builder: Builder): Command {
  return leaf<SetFlags>(builder, {
    name: "set <webhook>",
    text: "Change a webhook's address or events, disable it or enable it again.",
    examples: [
      "yao webhook set hook_01j9… --url https://example.com/new",
      "yao webhook set hook_01j9… --event all",
      "yao webhook set hook_01j9… --enable",
    ],
    flags: [
      ...TASK_FLAGS,
      { flags: "--url <url>", text: "the address" },
      eventFlag("all alone: all"),
      { flags: "--enable", text: "send again; what failed meanwhile is not sent by itself" },
      { flags: "--disable", text: "send nothing more" },
    ],
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const answer = await client.patch<UpdateWebhookResponse>(apiPath`/v1/workspaces/${workspace}/webhooks/${id}`, {
        body: changeOf(flags),
      });
      print(cli, flags, answer, () => (answer.webhook === undefined ? "" : webhookText(answer.webhook)));
      return undefined;
    },
  });
}

function changeOf({ url, event, enable, disable }: SetFlags): object {
  if (enable === true && disable === true) throw new InvalidArgumentError("choose --enable or --disable.");
  const change = {
    ...(url === undefined ? {} : { url }),
    ...(event === undefined ? {} : { events: event }),
    ...(enable === true ? { disabled: false } : {}),
    ...(disable === true ? { disabled: true } : {}),
  };
  if (Object.keys(change).length > 0) return change;
  throw new InvalidArgumentError("say what changes: --url, --event, --enable or --disable.");
}

function rotateCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "rotate <webhook>",
    text: "Make a new secret and print it, once; for 24 hours the old one signs as well.",
    examples: ["yao webhook rotate hook_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const path = apiPath`/v1/workspaces/${workspace}/webhooks/${id}/rotate`;
      const answer = await client.post<RotateWebhookSecretResponse>(path);
      print(cli, flags, answer, () => `${plain(answer.secret)}\n`);
      cli.terminal.progress("keep it now: it is not shown again");
      return undefined;
    },
  });
}

function removeCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "remove <webhook>",
    text: "Remove a webhook with the list of what it was sent.",
    examples: ["yao webhook remove hook_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      await client.delete<RemoveWebhookResponse>(apiPath`/v1/workspaces/${workspace}/webhooks/${id}`);
      print(cli, flags, { removed: id }, () => `${plain(id)} was removed\n`);
      return undefined;
    },
  });
}

async function readWebhooks({ client, workspace }: TaskTarget): Promise<ListWebhooksResponse> {
  return await client.get<ListWebhooksResponse>(apiPath`/v1/workspaces/${workspace}/webhooks`);
}

function webhookText(webhook: Webhook): string {
  return fields([
    ["webhook", webhook.id],
    ["url", webhook.url],
    ["events", eventsText(webhook)],
    ["state", stateText(webhook)],
    ["reason", webhook.disabled ? webhook.reason : undefined],
    ["last success", webhook.last_success_at],
    ["last failure", webhook.last_failure_at],
    ["created", webhook.created_at],
  ]);
}

function eventsText({ events }: Webhook): string {
  return events.length === 0 ? "all" : events.join(" ");
}

function stateText({ disabled }: Webhook): string {
  return disabled ? "disabled" : "enabled";
}
