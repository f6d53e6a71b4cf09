/** Webhooks: one constant per call of the API. */

import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  ListDeliveriesRequest,
  ListDeliveriesResponse,
  ListWebhooksRequest,
  ListWebhooksResponse,
  RemoveWebhookRequest,
  RemoveWebhookResponse,
  ReplayDeliveryRequest,
  ReplayDeliveryResponse,
  RotateWebhookSecretRequest,
  RotateWebhookSecretResponse,
  TestWebhookRequest,
  TestWebhookResponse,
  UpdateWebhookRequest,
  UpdateWebhookResponse,
} from "@mesh/proto";

import { endpoint } from "./client.ts";

/** ; the signing secret is returned once. */
export const createWebhook = endpoint<CreateWebhookRequest, CreateWebhookResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/webhooks",
);

/** List webhooks. */
export const listWebhooks = endpoint<ListWebhooksRequest, ListWebhooksResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/webhooks",
);

/** Changes the address or the events, or enables it again. */
export const updateWebhook = endpoint<UpdateWebhookRequest, UpdateWebhookResponse>()(
  "PATCH",
  "/v1/workspaces/{workspace}/webhooks/{webhook}",
);

/** Makes a new secret; for 24 hours both sign. */
export const rotateWebhookSecret = endpoint<RotateWebhookSecretRequest, RotateWebhookSecretResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/webhooks/{webhook}/rotate",
);

/** Remove webhook. */
export const removeWebhook = endpoint<RemoveWebhookRequest, RemoveWebhookResponse>()(
  "DELETE",
  "/v1/workspaces/{workspace}/webhooks/{webhook}",
);

/** Sends one event of type webhook.test. */
export const testWebhook = endpoint<TestWebhookRequest, TestWebhookResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/webhooks/{webhook}/test",
);

/** Lists what was sent, newest first. */
export const listDeliveries = endpoint<ListDeliveriesRequest, ListDeliveriesResponse>()(
  "GET",
  "/v1/workspaces/{workspace}/webhooks/{webhook}/deliveries",
);

/** Sends one again, under its own id. */
export const replayDelivery = endpoint<ReplayDeliveryRequest, ReplayDeliveryResponse>()(
  "POST",
  "/v1/workspaces/{workspace}/webhooks/{webhook}/deliveries/{delivery}/replay",
);
