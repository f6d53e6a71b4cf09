/** What webhooks were sent: a test, the list, and once more. */

import type { Delivery, ListDeliveriesResponse, ReplayDeliveryResponse, TestWebhookResponse } from "@mesh/proto";
import { MeshError } from "@mesh/kernel";
import type { Command } from "commander";

import { type Cli, print, type WorkspaceFlags } from "../cli.ts";
import { apiPath } from "../client/client.ts";
import { type Builder, leaf, whole } from "../command.ts";
import { table } from "../terminal/table.ts";
import { oneLine, plain } from "../terminal/terminal.ts";
import { TASK_FLAGS, type TaskTarget, taskTarget } from "./task-client.ts";

interface ListFlags extends WorkspaceFlags {
  readonly limit?: number;
  readonly cursor?: string;
}

const LOOK_MS = 300;
// The other side has 15 s to answer, and what is due is looked for every second.
const WAIT_MS = 25_000;
const PAGE = 200;

/** `yao webhook test`. */
export function testCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "test <webhook>",
    text: "Send an event of type webhook.test and wait for the answer. Exit codes: 0 it was taken, 1 it was not.",
    examples: ["yao webhook test hook_01j9zk3v0q8m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [webhook = ""], flags) => {
      const target = taskTarget(cli, flags);
      const path = apiPath`/v1/workspaces/${target.workspace}/webhooks/${webhook}/test`;
      const sent = (await target.client.post<TestWebhookResponse>(path)).delivery;
      if (sent === undefined)
        throw new MeshError("data_loss", "the coordinator did not name what it sends — try again");
      const delivery = await attempted(cli, target, webhook, sent);
      print(cli, flags, { delivery }, () => `${resultText(delivery)}\n`);
      return delivery.state === "delivered" ? 0 : 1;
    },
  });
}

/** The delivery after its first attempt. */
async function attempted(cli: Cli, target: TaskTarget, webhook: string, sent: Delivery): Promise<Delivery> {
  const endMs = cli.clock.monotonic() + WAIT_MS;
  while (cli.clock.monotonic() < endMs) {
    const { deliveries } = await readDeliveries(target, webhook, { limit: PAGE });
    const found = deliveries.find(({ id }) => id === sent.id);
    if (found !== undefined && found.attempts > 0) return found;
    await cli.clock.sleep(LOOK_MS);
  }
  throw new MeshError(
    "deadline_exceeded",
    `${sent.id} was not sent within ${WAIT_MS / 1000} s — see \`yao webhook deliveries ${webhook}\``,
  );
}

function resultText({ id, state, response_status: status, error, next_at: next }: Delivery): string {
  if (state === "delivered") return `${plain(id)} was taken with ${status}`;
  const again = next === undefined ? "" : `; sent again at ${next}`;
  return `${plain(id)} was not taken: ${oneLine(error)}${again}`;
}

/** `yao webhook deliveries`. */
export function deliveriesCommand(builder: Builder): Command {
  return leaf<ListFlags>(builder, {
    name: "deliveries <webhook>",
    text: "List what was sent in the last 30 days, the newest first.",
    examples: ["yao webhook deliveries hook_01j9zk3v0q8m4n6p7r2s5t1w3x --limit 20"],
    flags: [
      ...TASK_FLAGS,
      { flags: "--limit <number>", text: "how many (default: 50)", parse: whole(1, PAGE) },
      { flags: "--cursor <text>", text: "go on where an earlier list ended" },
    ],
    action: async (cli, [webhook = ""], flags) => {
      const answer = await readDeliveries(taskTarget(cli, flags), webhook, flags);
      print(cli, flags, answer, () => deliveriesText(answer, webhook));
      return undefined;
    },
  });
}

function deliveriesText(answer: ListDeliveriesResponse, webhook: string): string {
  const text = table(
    answer.deliveries,
    [
      { title: "delivery", value: (row) => row.id },
      { title: "event", value: (row) => row.event },
      { title: "state", value: (row) => row.state },
      { title: "attempts", value: (row) => row.attempts },
      { title: "status", value: (row) => (row.response_status === 0 ? undefined : row.response_status) },
      { title: "at", value: (row) => row.created_at },
      { title: "next", value: (row) => row.next_at },
      { title: "error", value: (row) => row.error },
    ],
    `nothing was sent yet; try it with \`yao webhook test ${plain(webhook)}\``,
  );
  if (answer.next_cursor === "") return text;
  return `${text}more: yao webhook deliveries ${plain(webhook)} --cursor ${plain(answer.next_cursor)}\n`;
}

/** `yao webhook replay`. */
export function replayCommand(builder: Builder): Command {
  return leaf<WorkspaceFlags>(builder, {
    name: "replay <webhook> <delivery>",
    text: "Send something again, under its own id.",
    examples: ["yao webhook replay hook_01j9zk3v0q8m4n6p7r2s5t1w3x msg_01j9zk4c2r7m4n6p7r2s5t1w3x"],
    flags: TASK_FLAGS,
    action: async (cli, [webhook = "", id = ""], flags) => {
      const { client, workspace } = taskTarget(cli, flags);
      const path = apiPath`/v1/workspaces/${workspace}/webhooks/${webhook}/deliveries/${id}/replay`;
      const answer = await client.post<ReplayDeliveryResponse>(path);
      print(cli, flags, answer, () => `${plain(id)} is sent again\n`);
      return undefined;
    },
  });
}

async function readDeliveries(
  { client, workspace }: TaskTarget,
  webhook: string,
  { limit, cursor }: Pick<ListFlags, "limit" | "cursor">,
): Promise<ListDeliveriesResponse> {
  return await client.get<ListDeliveriesResponse>(apiPath`/v1/workspaces/${workspace}/webhooks/${webhook}/deliveries`, {
    query: { limit, cursor },
  });
}
