/** Wires what the open interface adds: chats, webhooks and answers that are given again. */

import { randomInt } from "node:crypto";

import { type Ids, type Service, systemClock } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { LeaderElector, Store } from "@mesh/store";

import type { Access } from "../auth/access.ts";
import type { SecretBox } from "../auth/secret-box.ts";
import type { CoordinatorConfig } from "../config.ts";
import type { Api } from "../gateway/operation.ts";
import { createChatApi } from "../state/chat-api.ts";
import { createWebhookApi } from "../webhooks/webhook-api.ts";
import { createWebhookSender } from "../webhooks/webhook-sender.ts";

const RANDOM_STEPS = 1_000_000;

/** What these parts use. */
export interface OpenApiCore {
  readonly config: Pick<CoordinatorConfig, "webhookAllow">;
  readonly store: Store;
  readonly access: Access;
  readonly secretBox: SecretBox;
  readonly ids: Ids;
  readonly log: Logger;
  readonly elector: Pick<LeaderElector, "isLeader">;
}

/** The handlers. */
export function createOpenApi(core: OpenApiCore): Pick<Api, "chats" | "webhooks"> {
  const { store, access, ids, secretBox, config } = core;
  return {
    chats: createChatApi({ store, access, ids }),
    webhooks: createWebhookApi({ store, access, ids, secretBox, allowed: config.webhookAllow }),
  };
}

/** The loops. */
export function createOpenServices(core: OpenApiCore): readonly Service[] {
  const { store, ids, secretBox, config, log, elector } = core;
  return [
    createWebhookSender({
      store,
      ids,
      secretBox,
      clock: systemClock,
      allowed: config.webhookAllow,
      log: log.child({ component: "webhooks" }),
      isLeader: () => elector.isLeader,
      random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
    }),
  ];
}
