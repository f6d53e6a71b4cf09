/** WebhookService. */

import type { BlockList } from "node:net";

import { type Ids, type JsonObject, MeshError, rfc3339 } from "@mesh/kernel";
import type {
  CreateWebhookRequest,
  CreateWebhookResponse,
  Delivery,
  TestWebhookResponse,
  UpdateWebhookRequest,
  UpdateWebhookResponse,
  Webhook,
} from "@mesh/proto";
import { insertAudit, type Store, type Tx } from "@mesh/store";

import type { Access, AllowedWorkspace } from "../auth/access.ts";
import { actorOf } from "../auth/caller.ts";
import type { SecretBox } from "../auth/secret-box.ts";
import type { WebhookApi } from "../gateway/api/webhook.ts";
import type { Call } from "../gateway/operation.ts";
import { type DeliveryRow, disableWebhook, insertDelivery, listDeliveries, replayDelivery } from "./delivery-store.ts";
import { TEST_EVENT } from "./note-event.ts";
import { resolveName } from "./send.ts";
import { newWebhookSecret } from "./signature.ts";
import { findTarget, readTargetUrl, type Resolve } from "./target-guard.ts";
import {
  deleteWebhook,
  insertWebhook,
  listWebhooks,
  lockWebhook,
  rotateSecret,
  updateWebhook,
  type WebhookRow,
} from "./webhook-store.ts";

/** What the handlers use. */
export interface WebhookApiDeps {
  readonly store: Store;
  readonly access: Access;
  readonly secretBox: SecretBox;
  readonly ids: Ids;
  /** Networks of the operator's own that may be called. */
  readonly allowed: BlockList;
  readonly resolve?: Resolve;
}

const MAX_WEBHOOKS = 50;
const OVERLAP_MS = 24 * 3_600_000;

/** What the secret of a webhook is sealed for. */
export function secretContext(workspaceId: string, webhookId: string): string {
  return `webhook/${workspaceId}/${webhookId}`;
}

/** Builds the handlers. */
export function createWebhookApi(deps: WebhookApiDeps): WebhookApi {
  const { store, access } = deps;
  return {
    createWebhook: (request, call) => create(deps, request, call),
    listWebhooks: async (request, { caller }) => {
      const { id } = await access.workspace(caller, request.workspace, "write");
      return { webhooks: (await listWebhooks(store.sql, id)).map(toWebhook) };
    },
    updateWebhook: (request, call) => update(deps, request, call),
    rotateWebhookSecret: async (request, call) => {
      const secret = newWebhookSecret();
      await change(deps, { ...request, action: "webhook.rotate" }, call, async (tx, row, workspace) => {
        const sealed = deps.secretBox.seal(secret, secretContext(workspace.id, row.id));
        await rotateSecret(tx, row.id, sealed, OVERLAP_MS);
      });
      return { secret };
    },
    removeWebhook: async (request, call) => {
      await change(deps, { ...request, action: "webhook.remove" }, call, async (tx, row, workspace) => {
        await deleteWebhook(tx, workspace.id, row.id);
      });
      return {};
    },
    testWebhook: async (request, call): Promise<TestWebhookResponse> => {
      const row = await change(deps, { ...request, action: "webhook.test" }, call, async (tx, webhook) => {
        requireEnabled(webhook);
        return insertDelivery(tx, { webhookId: webhook.id, event: TEST_EVENT, data: testData(webhook) });
      });
      return { delivery: row === undefined ? undefined : toDelivery(row) };
    },
    listDeliveries: async (request, { caller }) => {
      const workspace = await access.workspace(caller, request.workspace, "write");
      const webhooks = await listWebhooks(store.sql, workspace.id);
      if (!webhooks.some(({ id }) => id === request.webhook)) throw notFound(request.webhook, workspace);
      const limit = request.limit === 0 ? 50 : request.limit;
      const rows = await listDeliveries(store.sql, { webhookId: request.webhook, before: request.cursor, limit });
      return {
        deliveries: rows.map(toDelivery),
        next_cursor: rows.length === limit ? (rows.at(-1)?.seq ?? "") : "",
      };
    },
    replayDelivery: async (request, call) => {
      const row = await change(deps, { ...request, action: "webhook.replay" }, call, async (tx, webhook) => {
        requireEnabled(webhook);
        const found = await replayDelivery(tx, webhook.id, request.delivery);
        if (found !== undefined) return found;
        throw new MeshError("not_found", `delivery ${request.delivery} was not found; it may be older than 30 days`);
      });
      return { delivery: toDelivery(row) };
    },
  };
}

async function create(deps: WebhookApiDeps, request: CreateWebhookRequest, call: Call): Promise<CreateWebhookResponse> {
  const workspace = await deps.access.workspace(call.caller, request.workspace, "write");
  const url = await checkedUrl(deps, request.url);
  const id = deps.ids.next("hook");
  const secret = newWebhookSecret();
  const sealedSecret = deps.secretBox.seal(secret, secretContext(workspace.id, id));
  const createdBy = actorOf(call.caller);
  const row = await deps.store.sql.begin(async (tx) => {
    await insertWebhook(tx, { id, workspaceId: workspace.id, url, events: request.events, sealedSecret, createdBy });
    const all = await listWebhooks(tx, workspace.id);
    if (all.length > MAX_WEBHOOKS) {
      throw new MeshError(
        "resource_exhausted",
        `a workspace holds at most ${MAX_WEBHOOKS} webhooks; remove some first`,
      );
    }
    await audit(deps, tx, call, { action: "webhook.create", object: id, workspace, detail: { url: hostOf(url) } });
    return all.find((each) => each.id === id);
  });
  return { webhook: row === undefined ? undefined : toWebhook(row), secret };
}

async function update(deps: WebhookApiDeps, request: UpdateWebhookRequest, call: Call): Promise<UpdateWebhookResponse> {
  const url = request.url === undefined ? undefined : await checkedUrl(deps, request.url);
  const row = await change(deps, { ...request, action: "webhook.update" }, call, async (tx, old) => {
    const isDisabled = request.disabled ?? old.is_disabled;
    if (isDisabled && !old.is_disabled) await disableWebhook(tx, old.id, "disabled by a person");
    const to = {
      url: url ?? old.url,
      events: request.events.length === 0 ? old.events : request.events.filter((event) => event !== "all"),
      isDisabled,
      reason: isDisabled ? old.reason || "disabled by a person" : "",
    };
    await updateWebhook(tx, old.id, to);
    return { ...old, url: to.url, events: to.events, is_disabled: isDisabled, reason: to.reason };
  });
  return { webhook: toWebhook(row) };
}

interface Change {
  readonly workspace: string;
  readonly webhook: string;
  readonly action: string;
}

/** Does something to a webhook of a workspace the caller may change, with an audit row. */
async function change<T>(
  deps: WebhookApiDeps,
  { workspace: ref, webhook: id, action }: Change,
  call: Call,
  work: (tx: Tx, row: WebhookRow, workspace: AllowedWorkspace) => Promise<T>,
): Promise<T> {
  const workspace = await deps.access.workspace(call.caller, ref, "write");
  return deps.store.sql.begin(async (tx) => {
    const row = await lockWebhook(tx, workspace.id, id);
    if (row === undefined) throw notFound(id, workspace);
    const result = await work(tx, row, workspace);
    await audit(deps, tx, call, { action, object: id, workspace, detail: { url: hostOf(row.url) } });
    return result;
  }) as Promise<T>;
}

async function audit(
  { ids }: WebhookApiDeps,
  tx: Tx,
  { caller }: Call,
  entry: {
    readonly action: string;
    readonly object: string;
    readonly workspace: AllowedWorkspace;
    readonly detail: { readonly url: string };
  },
): Promise<void> {
  const { workspace, ...rest } = entry;
  await insertAudit(tx, { id: ids.next("audit"), actor: actorOf(caller), workspaceId: workspace.id, ...rest });
}

/** Refuses at once what would never be called. */
async function checkedUrl({ allowed, resolve = resolveName }: WebhookApiDeps, text: string): Promise<string> {
  const url = readTargetUrl(text);
  try {
    await findTarget(url, allowed, resolve);
  } catch (thrown) {
    if (thrown instanceof MeshError && thrown.code === "invalid_argument") throw thrown;
    throw new MeshError("invalid_argument", `${url.hostname} cannot be resolved; check the address`, { cause: thrown });
  }
  return url.href;
}

// The rest of an address may hold a key.
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "";
}

function requireEnabled({ is_disabled: isDisabled, reason }: WebhookRow): void {
  if (!isDisabled) return;
  throw new MeshError("failed_precondition", `the webhook is disabled (${reason}); enable it first`);
}

function notFound(id: string, { name }: AllowedWorkspace): MeshError {
  return new MeshError("not_found", `webhook ${id.slice(0, 100)} was not found in workspace ${name}`);
}

function testData({ id }: WebhookRow): JsonObject {
  return { webhook: { id }, message: "This is a test of your webhook." };
}

function toWebhook(row: WebhookRow): Webhook {
  const { id, url, events, is_disabled: disabled, reason } = row;
  return {
    id,
    url,
    events: [...events],
    disabled,
    reason,
    created_at: rfc3339(row.created_at.getTime()),
    last_success_at: row.last_success_at === null ? undefined : rfc3339(row.last_success_at.getTime()),
    last_failure_at: row.last_failure_at === null ? undefined : rfc3339(row.last_failure_at.getTime()),
  };
}

function toDelivery(row: DeliveryRow): Delivery {
  const { id, event, state, attempts, response_status, error } = row;
  return {
    id,
    event,
    state,
    attempts,
    response_status,
    error,
    created_at: rfc3339(row.created_at.getTime()),
    next_at: row.next_at === null ? undefined : rfc3339(row.next_at.getTime()),
  };
}
