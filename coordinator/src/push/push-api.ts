/** The part of AccountService on notifications: the browsers that a person gets them in. */

import { type Ids, MeshError, rfc3339 } from "@mesh/kernel";
import type {
  PushSubscription,
  PutPushSubscriptionRequest,
  PutPushSubscriptionResponse,
  TestPushResponse,
} from "@mesh/proto";
import { insertAudit, type Store } from "@mesh/store";

import { actorOf, type Caller } from "../auth/caller.ts";
import type { AccountApi } from "../gateway/api/account.ts";
import type { Call } from "../gateway/operation.ts";
import { resolveName } from "../webhooks/send.ts";
import { findTarget, readTargetUrl } from "../webhooks/target-guard.ts";
import { requireTarget } from "./message-encryption.ts";
import { testPayload } from "./push-message.ts";
import { authContext, isGone, type PushSendDeps, sendPush } from "./push-send.ts";
import {
  deleteGone,
  deleteSubscription,
  findSubscription,
  listSubscriptions,
  lockByEndpoint,
  noteAttempt,
  putSubscription,
  type SubscriptionRow,
  trimSubscriptions,
} from "./push-store.ts";

/** The handlers. */
export type PushApi = Pick<
  AccountApi,
  "getPushKey" | "listPushSubscriptions" | "putPushSubscription" | "removePushSubscription" | "testPush"
>;

/** What the handlers use. */
export interface PushApiDeps extends PushSendDeps {
  readonly store: Store;
  readonly ids: Ids;
}

const MAX_SUBSCRIPTIONS = 20;
const TEST_LIFE_MS = 60_000;
const MAX_AGENT_CHARS = 300;

/** Builds the handlers. */
export function createPushApi(deps: PushApiDeps): PushApi {
  const { store } = deps;
  return {
    getPushKey: async () => ({ public_key: (await deps.keys()).publicKey }),
    listPushSubscriptions: async (_request, { caller }) => ({
      subscriptions: (await listSubscriptions(store.sql, caller.userId)).map((row) => toSubscription(row, caller)),
    }),
    putPushSubscription: (request, call) => put(deps, request, call),
    removePushSubscription: async ({ subscription: id }, { caller }) => {
      await store.sql.begin(async (tx) => {
        if (!(await deleteSubscription(tx, caller.userId, id))) throw notFound(id);
        await insertAudit(tx, {
          id: deps.ids.next("audit"),
          actor: actorOf(caller),
          action: "push.remove",
          object: id,
        });
      });
      return {};
    },
    testPush: ({ subscription }, call) => test(deps, subscription, call),
  };
}

async function put(
  deps: PushApiDeps,
  request: PutPushSubscriptionRequest,
  { caller, client }: Call,
): Promise<PutPushSubscriptionResponse> {
  const { p256dh, auth, kinds } = request;
  requireTarget({ p256dh, auth });
  const endpoint = await checkedEndpoint(deps, request.endpoint);
  const { userId } = caller;
  const own =
    caller.session === undefined
      ? { sessionId: undefined, tokenId: caller.tokenId }
      : { sessionId: caller.tokenId, tokenId: undefined };
  const row = await deps.store.sql.begin(async (tx) => {
    const old = await lockByEndpoint(tx, endpoint);
    const isOwn = old?.user_id === userId;
    // What is on its way to who used this browser before must not come to the next one.
    if (old !== undefined && !isOwn) await deleteSubscription(tx, old.user_id, old.id);
    const sealedAuth = deps.secretBox.seal(auth, authContext(userId, endpoint));
    const id = isOwn ? old.id : deps.ids.next("push");
    const userAgent = (client?.userAgent ?? "").slice(0, MAX_AGENT_CHARS);
    await putSubscription(tx, { id, userId, ...own, endpoint, p256dh, sealedAuth, kinds, userAgent });
    await trimSubscriptions(tx, userId, MAX_SUBSCRIPTIONS);
    // The page puts it at each start: only what is new is audited.
    if (!isOwn) {
      const detail = { service: new URL(endpoint).host };
      await insertAudit(tx, {
        id: deps.ids.next("audit"),
        actor: actorOf(caller),
        action: "push.put",
        object: id,
        detail,
      });
    }
    return lockByEndpoint(tx, endpoint);
  });
  return { subscription: row === undefined ? undefined : toSubscription(row, caller) };
}

/** Refuses at once what would never be called. */
async function checkedEndpoint({ allowed, resolve = resolveName }: PushApiDeps, text: string): Promise<string> {
  const url = readTargetUrl(text);
  try {
    await findTarget(url, allowed, resolve);
  } catch (thrown) {
    if (thrown instanceof MeshError && thrown.code === "invalid_argument") throw thrown;
    throw new MeshError("invalid_argument", `${url.hostname} cannot be resolved; subscribe again`, { cause: thrown });
  }
  return url.href;
}

async function test(deps: PushApiDeps, id: string, { caller, signal }: Call): Promise<TestPushResponse> {
  const row = await findSubscription(deps.store.sql, caller.userId, id);
  if (row === undefined) throw notFound(id);
  const payload = testPayload(caller.locale ?? "");
  const result = await sendPush(deps, row, { payload, ttlMs: TEST_LIFE_MS }, signal);
  if (isGone(result)) await deleteGone(deps.store.sql, row.id);
  else await noteAttempt(deps.store.sql, row.id, result.error);
  return { delivered: result.error === "", error: result.error };
}

function notFound(id: string): MeshError {
  return new MeshError(
    "not_found",
    `subscription ${id.slice(0, 100)} was not found; the browser may have to subscribe again`,
  );
}

function toSubscription(row: SubscriptionRow, caller: Caller): PushSubscription {
  return {
    id: row.id,
    kinds: [...row.kinds],
    user_agent: row.user_agent,
    service: new URL(row.endpoint).host,
    created_at: rfc3339(row.created_at.getTime()),
    last_success_at: row.last_success_at === null ? undefined : rfc3339(row.last_success_at.getTime()),
    error: row.error,
    is_current: (row.session_id ?? row.token_id) === caller.tokenId,
  };
}
