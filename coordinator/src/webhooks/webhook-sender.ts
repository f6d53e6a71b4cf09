/**
 * Sends what is due to webhooks.
 *
 * W1  At least once: a message counts as delivered only after the other side has answered with a 2xx, and what is not noted as
 *     sent is sent again, under the same id, by whichever replica leads then.
 * W2  A message is tried ten times within about three days; then its webhook is disabled, with the reason.
 * W3  One webhook that answers slowly holds up no other.
 */

import type { BlockList } from "node:net";

import { type Clock, errorText, type Ids, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import { insertAudit, type Store } from "@mesh/store";

import type { SecretBox } from "../auth/secret-box.ts";
import { MAX_DELIVERY_ATTEMPTS, retryDelayMs } from "./delivery-schedule.ts";
import {
  disableWebhook,
  dropDeliveries,
  type DueDelivery,
  dueDeliveries,
  markDelivered,
  markFailed,
} from "./delivery-store.ts";
import { sendOnce, type SendResult } from "./send.ts";
import { signatureHeaders } from "./signature.ts";
import type { Resolve } from "./target-guard.ts";
import { secretContext } from "./webhook-api.ts";

/** What the sender uses. */
export interface WebhookSenderDeps {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  /** Networks of the operator's own that may be called. */
  readonly allowed: BlockList;
  /** In [0, 1). */
  readonly random: () => number;
  readonly resolve?: Resolve;
}

const TICK_MS = 1000;
const MAX_UNDER_WAY = 64;
const MAX_PER_WEBHOOK = 4;
const KEPT_MS = 30 * 24 * 3_600_000;
const KEPT_PER_WEBHOOK = 10_000;
const CLEAN_EVERY_TICKS = 600;
const CLEAN_BATCH = 5000;
const GONE = 410;

/** The sending loop of one replica; only the leader's does anything. */
export function createWebhookSender(deps: WebhookSenderDeps): Service {
  return {
    name: "webhook-sender",
    async run(signal) {
      const underWay = new Map<string, { readonly webhookId: string; readonly done: Promise<void> }>();
      for (let tick = 0; !signal.aborted; tick += 1) {
        await deps.clock.sleep(TICK_MS, signal);
        if (signal.aborted || !deps.isLeader()) continue;
        try {
          await startDue(deps, underWay, signal);
          if (tick % CLEAN_EVERY_TICKS === 0) await clean(deps);
        } catch (error) {
          deps.log.warn({ reason: errorText(error) }, "webhooks not sent; tried again");
        }
      }
      await Promise.all([...underWay.values()].map(({ done }) => done));
    },
  };
}

type UnderWay = Map<string, { readonly webhookId: string; readonly done: Promise<void> }>;

async function startDue(deps: WebhookSenderDeps, underWay: UnderWay, signal: AbortSignal): Promise<void> {
  const limit = MAX_UNDER_WAY - underWay.size;
  if (limit <= 0) return;
  const countOf = (id: string): number => [...underWay.values()].filter(({ webhookId }) => webhookId === id).length;
  const busy = [...underWay.values()].map(({ webhookId }) => webhookId).filter((id) => countOf(id) >= MAX_PER_WEBHOOK);
  const query = { nowMs: deps.clock.now(), except: [...underWay.keys()], busy, perWebhook: MAX_PER_WEBHOOK, limit };
  for (const due of await dueDeliveries(deps.store.sql, query)) {
    if (countOf(due.webhook_id) >= MAX_PER_WEBHOOK) continue;
    const done = attempt(deps, due, signal)
      .catch((error: unknown) => {
        deps.log.warn({ reason: errorText(error), delivery: due.id }, "attempt not noted; sent again");
      })
      .finally(() => underWay.delete(due.id));
    underWay.set(due.id, { webhookId: due.webhook_id, done });
  }
}

async function attempt(deps: WebhookSenderDeps, due: DueDelivery, signal: AbortSignal): Promise<void> {
  const { clock, secretBox, store } = deps;
  const context = secretContext(due.workspace_id, due.webhook_id);
  const sealed = [due.sealed_secret, ...(due.sealed_previous === null ? [] : [due.sealed_previous])];
  const secrets = sealed.map((each) => secretBox.open(each, context));
  const message = { id: due.id, timestampSeconds: Math.floor(clock.now() / 1000), body: due.body };
  const headers = { ...signatureHeaders(message, secrets), "user-agent": "yao-webhooks/1" };
  const result = await sendOnce(deps, { url: due.url, headers, body: due.body }, signal);
  // Cut by our own end: it says nothing about the other side.
  if (signal.aborted && result.status === 0) return;
  if (result.error === "") await markDelivered(store.sql, due.id, result.status);
  else await fail(deps, due, result);
}

async function fail(deps: WebhookSenderDeps, due: DueDelivery, { status, error }: SendResult): Promise<void> {
  const delayMs = status === GONE ? undefined : retryDelayMs(due.attempts + 1, deps.random());
  const nextMs = delayMs === undefined ? undefined : deps.clock.now() + delayMs;
  if (nextMs !== undefined) {
    await markFailed(deps.store.sql, due.id, { status, error, nextMs });
    return;
  }
  const reason =
    status === GONE
      ? "the address answered that it is gone (410)"
      : `${MAX_DELIVERY_ATTEMPTS} attempts of ${due.id} failed; the last one: ${error}`;
  await deps.store.sql.begin(async (tx) => {
    await markFailed(tx, due.id, { status, error, nextMs });
    await disableWebhook(tx, due.webhook_id, reason);
    await insertAudit(tx, {
      id: deps.ids.next("audit"),
      actor: "system",
      action: "webhook.disable",
      object: due.webhook_id,
      workspaceId: due.workspace_id,
      detail: { reason },
    });
  });
  deps.log.warn({ webhook: due.webhook_id, reason }, "webhook disabled");
}

async function clean({ store }: WebhookSenderDeps): Promise<void> {
  await dropDeliveries(store.sql, { ageMs: KEPT_MS, keep: KEPT_PER_WEBHOOK, limit: CLEAN_BATCH });
}
