/** Wires notifications to browsers. */

import { randomInt } from "node:crypto";

import { type Ids, type Service, systemClock } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { LeaderElector, Store } from "@mesh/store";

import type { SecretBox } from "../auth/secret-box.ts";
import type { CoordinatorConfig } from "../config.ts";
import { createPushApi, type PushApi } from "../push/push-api.ts";
import { createPushKeys } from "../push/push-key.ts";
import type { PushSendDeps } from "../push/push-send.ts";
import { createPushSender } from "../push/push-sender.ts";

const RANDOM_STEPS = 1_000_000;

/** What notifications use. */
export interface PushCore {
  readonly config: Pick<CoordinatorConfig, "webhookAllow">;
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly ids: Ids;
  readonly log: Logger;
  readonly elector: Pick<LeaderElector, "isLeader">;
}

/** The wired feature. */
export interface Push {
  readonly api: PushApi;
  readonly services: readonly Service[];
}

/** Puts it together. */
export function createPush(core: PushCore, publicUrl: () => string): Push {
  const { config, store, secretBox, ids, log, elector } = core;
  const keys = createPushKeys({ store, secretBox });
  const send: PushSendDeps = { clock: systemClock, allowed: config.webhookAllow, secretBox, keys, publicUrl };
  return {
    api: createPushApi({ ...send, store, ids }),
    services: [
      createPushSender({
        ...send,
        store,
        log: log.child({ component: "push" }),
        isLeader: () => elector.isLeader,
        random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
      }),
    ],
  };
}
