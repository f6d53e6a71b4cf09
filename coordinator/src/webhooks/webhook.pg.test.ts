import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { silentLogger } from "@mesh/observability";
import type { Delivery } from "@mesh/proto";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { WebhookApi } from "../gateway/api/webhook.ts";
import type { Call } from "../gateway/operation.ts";
import { MAX_DELIVERY_ATTEMPTS } from "./delivery-schedule.ts";
import { noteEvent } from "./note-event.ts";
import { networksOf } from "./target-guard.ts";
import { createWebhookApi } from "./webhook-api.ts";
import { createWebhookSender } from "./webhook-sender.ts";

interface Received {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const HOUR = 3_600_000;
const allowed = networksOf(["127.0.0.0/8"]);
let tenant: Tenant;
let admin: Call;
let api: WebhookApi;
let workspaceId: string;

beforeAll(async () => {
  tenant = await startTenant();
  admin = tenant.as(tenant.admin);
  workspaceId = (await tenant.access.workspace(tenant.admin, "default", "read")).id;
  api = createWebhookApi({ ...tenant, allowed });
});

afterAll(() => tenant[Symbol.asyncDispose]());

/** Somebody else's system, which answers as it is told. */
class Receiver {
  readonly received: Received[] = [];
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end("ok");
  readonly #server = createServer((request, response) => void this.#take(request, response));

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    this.received.push({ path: request.url ?? "", headers, body });
    this.answer(request, response);
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

let receiver: Receiver;
let clock: FakeClock;
let stopSender: () => Promise<void>;

/** A leader that sends; stopped by what is returned. */
function startSender(): () => Promise<void> {
  const stop = new AbortController();
  const sender = createWebhookSender({
    ...tenant,
    clock,
    allowed,
    log: silentLogger,
    isLeader: () => true,
    random: () => 0.5,
  });
  const running = sender.run(stop.signal);
  return async () => {
    stop.abort();
    await running;
  };
}

beforeEach(async () => {
  await tenant.store.sql`DELETE FROM webhooks`;
  receiver = new Receiver();
  await receiver.listen();
  clock = new FakeClock(Date.now());
  stopSender = startSender();
});

afterEach(async () => {
  await stopSender();
  await receiver.stop();
});

async function create(events: string[] = []): Promise<{ id: string; secret: string }> {
  const made = await api.createWebhook({ workspace: "default", url: receiver.url, events }, admin);
  return { id: made.webhook?.id ?? "", secret: made.secret };
}

async function note(type: "task.created" | "run.failed", data: object): Promise<void> {
  await tenant.store.sql.begin((tx) => noteEvent(tx, workspaceId, type, { ...data }));
}

async function deliveries(webhook: string): Promise<readonly Delivery[]> {
  return (await api.listDeliveries({ workspace: "default", webhook, limit: 0, cursor: "" }, admin)).deliveries;
}

/** Lets time pass until something is so. */
async function ticking<T>(test: () => T | Promise<T>): Promise<NonNullable<T>> {
  return (await until(async () => {
    await clock.advance(1000);
    return test();
  })) as NonNullable<T>;
}

describe("an event", () => {
  test("reaches the webhooks that want it, signed as Standard Webhooks has it", async () => {
    const all = await create();
    const some = await create(["run.failed"]);
    await note("task.created", { task: { id: "task_1", title: "ünïcode" } });
    const [sent] = await ticking(() => (receiver.received.length > 0 ? receiver.received : undefined));
    const body = new Webhook(all.secret).verify(sent?.body ?? "", sent?.headers ?? {}) as Record<string, unknown>;
    expect(body).toMatchObject({ type: "task.created", data: { task: { id: "task_1", title: "ünïcode" } } });
    expect(body["timestamp"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const [delivery] = await ticking(async () => {
      const list = await deliveries(all.id);
      return list[0]?.state === "delivered" ? list : undefined;
    });
    expect(delivery).toMatchObject({ id: sent?.headers["webhook-id"], attempts: 1, response_status: 200, error: "" });
    expect(await deliveries(some.id)).toEqual([]);
    const { webhooks } = await api.listWebhooks({ workspace: "default" }, admin);
    expect(webhooks.find(({ id }) => id === all.id)?.last_success_at).toBeDefined();
    expect(JSON.stringify(webhooks)).not.toContain("whsec_");
  });

  test("N1 of a change that is rolled back is never sent, and one too large is refused", async () => {
    const { id } = await create();
    await tenant.store.sql
      .begin(async (tx) => {
        await noteEvent(tx, workspaceId, "task.created", {});
        throw new Error("rolled back");
      })
      .catch(() => undefined);
    expect(await refusal(note("task.created", { text: "x".repeat(20_000) }))).toMatchObject({ code: "internal" });
    expect(await deliveries(id)).toEqual([]);
  });

  test("goes to no webhook of another workspace", async () => {
    const { id } = await create();
    await tenant.workspaces.createWorkspace({ name: "other" }, admin);
    const other = (await tenant.access.workspace(tenant.admin, "other", "read")).id;
    await tenant.store.sql.begin((tx) => noteEvent(tx, other, "task.created", {}));
    expect(await deliveries(id)).toEqual([]);
  });
});

describe("a message that is not taken", () => {
  test("W2 is sent again for three days, then its webhook is disabled with the reason", async () => {
    const { id } = await create();
    receiver.answer = (_request, response) => response.writeHead(500).end();
    await note("task.created", { n: 1 });
    const startedMs = clock.now();
    for (let attempt = 1; attempt <= MAX_DELIVERY_ATTEMPTS; attempt += 1) {
      await ticking(async () => {
        const [delivery] = await deliveries(id);
        return receiver.received.length === attempt && delivery?.attempts === attempt ? true : undefined;
      });
      const [delivery] = await deliveries(id);
      expect(delivery).toMatchObject({ response_status: 500, error: "answered with 500" });
      if (delivery?.next_at !== undefined) await clock.advance(Date.parse(delivery.next_at) - clock.now());
    }
    expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(clock.now() - startedMs).toBeGreaterThan(75 * HOUR);
    const [webhook] = (await api.listWebhooks({ workspace: "default" }, admin)).webhooks;
    expect(webhook).toMatchObject({ disabled: true, reason: expect.stringContaining("10 attempts") });
    expect((await deliveries(id))[0]).toMatchObject({ state: "failed", attempts: 10 });
    await note("task.created", { n: 2 });
    expect(await deliveries(id)).toHaveLength(1);
    expect(await refusal(api.testWebhook({ workspace: "default", webhook: id }, admin))).toMatchObject({
      code: "failed_precondition",
    });
  });

  test("because the address is gone (410) disables its webhook at once", async () => {
    const { id } = await create();
    receiver.answer = (_request, response) => response.writeHead(410).end();
    await note("task.created", {});
    const [webhook] = await ticking(async () => {
      const { webhooks } = await api.listWebhooks({ workspace: "default" }, admin);
      return webhooks.some(({ disabled }) => disabled) ? webhooks : undefined;
    });
    expect(webhook?.reason).toContain("410");
    // Enabled again, it is sent what is replayed, under the id it had.
    receiver.answer = (_request, response) => response.end();
    await api.updateWebhook({ workspace: "default", webhook: id, events: [], disabled: false }, admin);
    const [delivery] = await deliveries(id);
    await api.replayDelivery({ workspace: "default", webhook: id, delivery: delivery?.id ?? "" }, admin);
    await ticking(async () => ((await deliveries(id))[0]?.state === "delivered" ? true : undefined));
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([delivery?.id, delivery?.id]);
  });

  test("because of a redirect is not sent elsewhere, and one without an answer ends after 15 s", async () => {
    const { id } = await create();
    receiver.answer = (_request, response) => response.writeHead(302, { location: "/elsewhere" }).end();
    await note("task.created", {});
    await ticking(async () => ((await deliveries(id))[0]?.attempts === 1 ? true : undefined));
    expect((await deliveries(id))[0]).toMatchObject({ response_status: 302, state: "pending" });
    receiver.answer = () => undefined;
    await ticking(async () => ((await deliveries(id))[0]?.attempts === 2 ? true : undefined));
    expect((await deliveries(id))[0]).toMatchObject({ response_status: 0, error: expect.stringContaining("15 s") });
    expect(receiver.received.map(({ path }) => path)).toEqual(["/hook", "/hook"]);
  });

  test("W1 is sent by the next leader when this one ends before it has noted the answer", async () => {
    const { id } = await create();
    receiver.answer = () => undefined;
    await note("task.created", {});
    await ticking(() => (receiver.received.length === 1 ? true : undefined));
    await stopSender();
    expect((await deliveries(id))[0]).toMatchObject({ state: "pending", attempts: 0 });
    receiver.answer = (_request, response) => response.end();
    stopSender = startSender();
    await ticking(async () => ((await deliveries(id))[0]?.state === "delivered" ? true : undefined));
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(1);
    expect(ids.length).toBe(2);
  });
});

test("W3 a webhook that does not answer and has a long backlog holds up no other", async () => {
  const slow = await create();
  receiver.answer = (request, response) => {
    if (request.url !== "/hook") response.end();
  };
  for (let n = 0; n < 200; n += 1) await note("task.created", { n });
  await ticking(() => (receiver.received.length >= 4 ? true : undefined));
  await api.createWebhook({ workspace: "default", url: `${receiver.url}/fast`, events: ["run.failed"] }, admin);
  await note("run.failed", {});
  await ticking(() => receiver.received.find(({ path }) => path === "/hook/fast"));
  expect((await deliveries(slow.id)).some(({ state }) => state === "delivered")).toBe(false);
});

test("a rotated secret signs beside the old one for a day, then alone", async () => {
  const { id, secret: old } = await create();
  const { secret: present } = await api.rotateWebhookSecret({ workspace: "default", webhook: id }, admin);
  const sentWith = async (): Promise<readonly string[]> => {
    const before = receiver.received.length;
    await api.testWebhook({ workspace: "default", webhook: id }, admin);
    await ticking(() => (receiver.received.length > before ? true : undefined));
    const { body = "", headers = {} } = receiver.received.at(-1) ?? {};
    // The library compares with the wall clock; the signature is what is of interest.
    const verifies = (secret: string): boolean => {
      const signature = new Webhook(secret).sign(
        headers["webhook-id"] ?? "",
        new Date(Number(headers["webhook-timestamp"]) * 1000),
        body,
      );
      return (headers["webhook-signature"] ?? "").split(" ").includes(signature);
    };
    return [old, present].filter(verifies);
  };
  expect(await sentWith()).toEqual([old, present]);
  await clock.advance(24 * HOUR + 60_000);
  expect(await sentWith()).toEqual([present]);
});

test("where nobody of the workspace may write, nothing of its webhooks is shown or changed", async () => {
  const { id } = await create();
  const otto = tenant.as(await tenant.user("otto", ["workspaces"]));
  const vic = tenant.as(await tenant.user("vic", ["workspaces"], { workspace: "default", role: "viewer" }));
  const one = { workspace: "default", webhook: id };
  const calls: readonly ((call: Call) => Promise<unknown>)[] = [
    (call) => api.createWebhook({ workspace: "default", url: receiver.url, events: [] }, call),
    (call) => api.listWebhooks({ workspace: "default" }, call),
    (call) => api.updateWebhook({ ...one, events: [] }, call),
    (call) => api.rotateWebhookSecret(one, call),
    (call) => api.testWebhook(one, call),
    (call) => api.listDeliveries({ ...one, limit: 0, cursor: "" }, call),
    (call) => api.replayDelivery({ ...one, delivery: "msg_1" }, call),
    (call) => api.removeWebhook(one, call),
  ];
  for (const call of calls) {
    expect((await refusal(call(otto))).code).toBe("not_found");
    expect((await refusal(call(vic))).code).toBe("permission_denied");
  }
});

test("secrets are stored sealed, and addresses inside of private networks are refused when they are given", async () => {
  const { secret } = await create();
  const rows = await tenant.store.sql`SELECT sealed_secret, url FROM webhooks`;
  const stored = rows[0]?.["sealed_secret"] as Buffer;
  expect(stored.includes(Buffer.from(secret.slice(6), "base64"))).toBe(false);
  expect(stored.toString("latin1")).not.toContain(secret.slice(6));
  for (const url of ["http://10.0.0.1/", "https://169.254.169.254/latest", "http://[::1]:5432/"]) {
    expect(await refusal(api.createWebhook({ workspace: "default", url, events: [] }, admin))).toMatchObject({
      code: "invalid_argument",
    });
  }
});
