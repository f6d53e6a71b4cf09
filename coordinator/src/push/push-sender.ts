/**
 * Sends notifications to the browsers that subscribed.
 *
 * P1  At least once while it is news: a message stays until the push service took it, refused it for good, its time is over, or the
 *     person has seen the entry.
 * P2  A subscription that the push service says is gone is removed.
 * P3  Nothing goes to a log-in or token that has ended, to a disabled person, or on a workspace that the person has left.
 */

import { errorText, type Service } from "@mesh/kernel";
import type { Logger } from "@mesh/observability";
import type { Store } from "@mesh/store";

import type { SendResult } from "../webhooks/send.ts";
import { payloadOf, pushRetryMs } from "./push-message.ts";
import { isGone, mayComeThrough, type PushSendDeps, sendPush } from "./push-send.ts";
import {
  deleteGone,
  dropPush,
  dropStalePushes,
  type DuePush,
  duePushes,
  noteAttempt,
  postponePush,
} from "./push-store.ts";

/** What the sender uses. */
export interface PushSenderDeps extends PushSendDeps {
  readonly store: Pick<Store, "sql">;
  readonly log: Logger;
  readonly isLeader: () => boolean;
  /** In [0, 1). */
  readonly random: () => number;
}

const TICK_MS = 500;
const CLEAN_EVERY_TICKS = 10;
const MAX_UNDER_WAY = 64;

/** The sending loop of one replica; only the leader's does anything. */
export function createPushSender(deps: PushSenderDeps): Service {
  return {
    name: "push-sender",
    async run(signal) {
      const underWay = new Map<string, Promise<void>>();
      for (let tick = 0; !signal.aborted; tick += 1) {
        await deps.clock.sleep(TICK_MS, signal);
        if (signal.aborted || !deps.isLeader()) continue;
        try {
          if (tick % CLEAN_EVERY_TICKS === 0) await dropStalePushes(deps.store.sql, deps.clock.now());
          await startDue(deps, underWay, signal);
        } catch (error) {
          deps.log.warn({ reason: errorText(error) }, "push messages not sent; tried again");
        }
      }
      await Promise.all(underWay.values());
    },
  };
}

async function startDue(
  deps: PushSenderDeps,
  underWay: Map<string, Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  const limit = MAX_UNDER_WAY - underWay.size;
  if (limit <= 0) return;
  const query = { nowMs: deps.clock.now(), except: [...underWay.keys()], limit };
  for (const due of await duePushes(deps.store.sql, query)) {
    const done = attempt(deps, due, signal)
      .catch((error: unknown) => {
        deps.log.warn({ reason: errorText(error), subscription: due.subscription_id }, "push message not sent");
        // What cannot be made ready must not be tried twice a second.
        return postponePush(deps.store.sql, due.id, deps.clock.now() + 60_000).catch(() => undefined);
      })
      .finally(() => underWay.delete(due.id));
    underWay.set(due.id, done);
  }
}

async function attempt(deps: PushSenderDeps, due: DuePush, signal: AbortSignal): Promise<void> {
  const ttlMs = due.expires_at.getTime() - deps.clock.now();
  if (ttlMs <= 0) return dropPush(deps.store.sql, due.id);
  const payload = payloadOf({ ...due, taskId: due.task_id });
  const result = await sendPush(deps, due, { payload, ttlMs }, signal);
  // Cut by our own end: it says nothing about the other side.
  if (signal.aborted && result.status === 0) return;
  await settle(deps, due, result);
}

async function settle(deps: PushSenderDeps, due: DuePush, result: SendResult): Promise<void> {
  const { sql } = deps.store;
  if (isGone(result)) {
    await deleteGone(sql, due.subscription_id);
    deps.log.info({ subscription: due.subscription_id, status: result.status }, "push subscription is gone");
    return;
  }
  await noteAttempt(sql, due.subscription_id, result.error);
  const waitMs = pushRetryMs(due.attempts + 1, deps.random());
  if (result.error === "" || !mayComeThrough(result) || waitMs === undefined) return dropPush(sql, due.id);
  await postponePush(sql, due.id, deps.clock.now() + Math.max(waitMs, result.retryAfterMs ?? 0));
}
