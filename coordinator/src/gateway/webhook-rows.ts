/** Rows of WebhookService. */

import {
  CreateWebhookRequest,
  ListDeliveriesRequest,
  ListWebhooksRequest,
  RemoveWebhookRequest,
  ReplayDeliveryRequest,
  RotateWebhookSecretRequest,
  TestWebhookRequest,
  UpdateWebhookRequest,
} from "@mesh/proto";
import { z } from "zod";

import { WEBHOOK_EVENTS } from "../webhooks/note-event.ts";
import type { WebhookApi } from "./api/webhook.ts";
import { optionalInt, reference, required } from "./field.ts";
import { type OperationRow, row } from "./operation-row.ts";

const MAX_URL_CHARS = 2000;
const PATH = "/v1/workspaces/{workspace}/webhooks";
const ONE = `${PATH}/{webhook}` as const;

const events = (...more: readonly string[]): z.ZodOptional<z.ZodArray<z.ZodEnum<Record<string, string>>>> =>
  z
    .array(z.enum([...WEBHOOK_EVENTS, ...more], `must be one of: ${[...WEBHOOK_EVENTS, ...more].join(", ")}`))
    .max(WEBHOOK_EVENTS.length, `has more than ${WEBHOOK_EVENTS.length} entries`)
    .optional();
const byWebhook = z.strictObject({ workspace: reference, webhook: reference });
const cursor = z
  .string()
  .regex(/^\d{0,18}$/, "is no cursor of this list")
  .optional();

/** What WebhookService accepts, and where. */
export const WEBHOOK_ROWS: { readonly [M in keyof WebhookApi]: OperationRow<Parameters<WebhookApi[M]>[0]> } = {
  createWebhook: row(
    `POST ${PATH}`,
    {
      scope: "workspaces",
      summary: "Has events of a workspace sent to an address; the signing secret is shown once.",
      input: z.strictObject({ workspace: reference, url: required(MAX_URL_CHARS), events: events() }),
      message: CreateWebhookRequest,
    },
    { successStatus: 201 },
  ),
  listWebhooks: row(`GET ${PATH}`, {
    scope: "workspaces",
    summary: "Lists the webhooks of a workspace, without their secrets.",
    input: z.strictObject({ workspace: reference }),
    message: ListWebhooksRequest,
  }),
  updateWebhook: row(`PATCH ${ONE}`, {
    scope: "workspaces",
    summary: 'Changes the address or the events ("all" alone means all), disables it or enables it again.',
    input: z.strictObject({
      workspace: reference,
      webhook: reference,
      url: z.string().min(1, "is empty").max(MAX_URL_CHARS, `is longer than ${MAX_URL_CHARS} characters`).optional(),
      events: events("all"),
      disabled: z.boolean().optional(),
    }),
    message: UpdateWebhookRequest,
  }),
  rotateWebhookSecret: row(`POST ${ONE}/rotate`, {
    scope: "workspaces",
    summary: "Makes a new signing secret, shown once; for 24 hours the old one signs as well.",
    input: byWebhook,
    message: RotateWebhookSecretRequest,
  }),
  removeWebhook: row(`DELETE ${ONE}`, {
    scope: "workspaces",
    summary: "Removes a webhook and the log of what it was sent.",
    input: byWebhook,
    message: RemoveWebhookRequest,
  }),
  testWebhook: row(`POST ${ONE}/test`, {
    scope: "workspaces",
    summary: "Sends one event of type webhook.test; the list of deliveries shows how it went.",
    input: byWebhook,
    message: TestWebhookRequest,
  }),
  listDeliveries: row(`GET ${ONE}/deliveries`, {
    scope: "workspaces",
    summary: "Lists what was sent in the last 30 days, newest first.",
    input: z.strictObject({ workspace: reference, webhook: reference, limit: optionalInt(0, 200), cursor }),
    message: ListDeliveriesRequest,
  }),
  replayDelivery: row(`POST ${ONE}/deliveries/{delivery}/replay`, {
    scope: "workspaces",
    summary: "Sends something again, under its own id.",
    input: z.strictObject({ workspace: reference, webhook: reference, delivery: reference }),
    message: ReplayDeliveryRequest,
  }),
};
