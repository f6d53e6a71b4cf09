/** Handlers of WebhookService. */

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

import type { Unary } from "../operation.ts";

/** Handlers of WebhookService. */
export interface WebhookApi {
  readonly createWebhook: Unary<CreateWebhookRequest, CreateWebhookResponse>;
  readonly listWebhooks: Unary<ListWebhooksRequest, ListWebhooksResponse>;
  readonly updateWebhook: Unary<UpdateWebhookRequest, UpdateWebhookResponse>;
  readonly rotateWebhookSecret: Unary<RotateWebhookSecretRequest, RotateWebhookSecretResponse>;
  readonly removeWebhook: Unary<RemoveWebhookRequest, RemoveWebhookResponse>;
  readonly testWebhook: Unary<TestWebhookRequest, TestWebhookResponse>;
  readonly listDeliveries: Unary<ListDeliveriesRequest, ListDeliveriesResponse>;
  readonly replayDelivery: Unary<ReplayDeliveryRequest, ReplayDeliveryResponse>;
}
