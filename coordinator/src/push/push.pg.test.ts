import { createECDH, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { systemClock, until } from "@mesh/kernel";
import { silentLogger } from "@mesh/observability";
import type { PushSubscription } from "@mesh/proto";
import { decrypt } from "http_ece";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { type BoardFixture, startBoard } from "../board/testing/board-fixture.ts";
import type { Call } from "../gateway/operation.ts";
import { networksOf } from "../webhooks/target-guard.ts";
import { createPushApi, type PushApi } from "./push-api.ts";
import { createPushKeys } from "./push-key.ts";
import { createPushSender } from "./push-sender.ts";

interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly atMs: number;
}

/** A push service on the wire, which answers as it is told. */
class PushService {
  readonly received: Received[] = [];
  /** Statuses of the next answers; 201 once they are used up. */
  readonly answers: number[] = [];
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      this.received.push({ path: request.url ?? "", headers, body: Buffer.concat(chunks), atMs: Date.now() });
      response.writeHead(this.answers.shift() ?? 201).end();
    });
  });

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The browser's side of a subscription: it alone can read what comes. */
class Browser {
  readonly #keys = createECDH("prime256v1");
  readonly #auth = randomBytes(16);
  readonly endpoint: string;

  constructor(service: PushService, name: string) {
    this.#keys.generateKeys();
    this.endpoint = `${service.origin}/send/${name}`;
  }

  get request(): { endpoint: string; p256dh: string; auth: string } {
    const p256dh = this.#keys.getPublicKey().toString("base64url");
    return { endpoint: this.endpoint, p256dh, auth: this.#auth.toString("base64url") };
  }

  read({ body }: Received): unknown {
    const plain = decrypt(body, { version: "aes128gcm", privateKey: this.#keys, authSecret: this.#auth });
    return JSON.parse(plain.toString());
  }
}

let board: BoardFixture;
let service: PushService;
let api: PushApi;
let stopSender: () => Promise<void>;

function deps() {
  const { store, secretBox, ids } = board.fleet.tenant;
  const keys = createPushKeys({ store, secretBox });
  const allowed = networksOf(["127.0.0.0/8"]);
  return { store, secretBox, ids, keys, allowed, clock: systemClock, publicUrl: () => "https://mesh.example" };
}

beforeEach(async () => {
  board = await startBoard();
  service = await new PushService().listen();
  api = createPushApi(deps());
  const stop = new AbortController();
  const sender = createPushSender({ ...deps(), log: silentLogger, isLeader: () => true, random: () => 0 });
  const running = sender.run(stop.signal);
  stopSender = async () => {
    stop.abort();
    await running;
  };
});

afterEach(async () => {
  await stopSender();
  await service.stop();
  await board[Symbol.asyncDispose]();
});

async function put(browser: Browser, call: Call = board.admin, kinds: string[] = []): Promise<PushSubscription> {
  const { subscription } = await api.putPushSubscription({ ...browser.request, kinds }, call);
  if (subscription === undefined) throw new Error("nothing was put");
  return subscription;
}
const list = async (call = board.admin): Promise<readonly PushSubscription[]> =>
  (await api.listPushSubscriptions({}, call)).subscriptions;
const arrived = (count: number): Promise<Received[]> =>
  until(() => Promise.resolve(service.received.length >= count ? service.received : undefined), {
    what: `${count} push messages`,
  }) as Promise<Received[]>;
const waiting = async (): Promise<number> => {
  const rows = await board.fleet.tenant.store.sql<{ n: number }[]>`SELECT count(*)::int AS n FROM push_messages`;
  return rows[0]?.n ?? -1;
};
const drained = (): Promise<unknown> => until(async () => (await waiting()) === 0, { what: "nothing on its way" });

describe("what needs a person", () => {
  test("is at their browsers within 5 s of the inbox entry, readable there and nowhere else", async () => {
    const [phone, desk] = [new Browser(service, "phone"), new Browser(service, "desk")];
    await put(phone);
    await put(desk);
    const task = await board.create({ title: "Book a room", start: true });
    await board.ask(task.run_id ?? "", "c1", "Which hotel? The secret is 1234");
    await board.keep();
    const [entry] = (
      await board.inbox.listInbox({ workspace: "", kind: "", archived: false, limit: 1, cursor: "" }, board.admin)
    ).entries;
    const got = await arrived(2);
    const byPath = new Map(got.map((one) => [one.path, one]));
    const one = byPath.get("/send/phone");
    if (one === undefined) throw new Error("nothing at the phone");
    expect(one.atMs - Date.parse(entry?.at ?? "")).toBeLessThan(5000);
    const payload = phone.read(one);
    expect(payload).toEqual({
      kind: "needs_input",
      key: "T-1",
      title: "Book a room",
      url: `/task/${task.id}`,
      tag: task.id,
      locale: "",
    });
    expect(() => desk.read(one)).toThrow();
    expect(one.headers).toMatchObject({
      "content-encoding": "aes128gcm",
      urgency: "high",
      topic: task.id,
      ttl: expect.stringMatching(/^86[34]\d\d$/),
    });
    const { public_key: publicKey } = await api.getPushKey({}, board.admin);
    expect(one.headers["authorization"]).toMatch(new RegExp(`^vapid t=[^,]+, k=${publicKey}$`));
    await drained();
    expect((await list()).map(({ error, last_success_at: at }) => [error, at !== undefined])).toEqual([
      ["", true],
      ["", true],
    ]);
  });

  test("goes by the kinds that a browser chose", async () => {
    const [failures, all] = [new Browser(service, "failures"), new Browser(service, "all")];
    await put(failures, board.admin, ["failed"]);
    await put(all);
    const good = await board.create({ title: "Good", start: true });
    await board.end(good.run_id ?? "", "succeeded");
    await board.keep();
    const bad = await board.create({ title: "Bad", start: true });
    await board.end(bad.run_id ?? "", "failed", "no disk");
    await board.keep();
    const got = await arrived(3);
    await drained();
    const said = got.map((one) => {
      const browser = one.path.endsWith("failures") ? failures : all;
      const { kind, title } = browser.read(one) as { kind: string; title: string };
      return `${one.path} ${kind} ${title} ${one.headers["urgency"]}`;
    });
    expect(said.toSorted()).toEqual([
      "/send/all done Good normal",
      "/send/all failed Bad normal",
      "/send/failures failed Bad normal",
    ]);
  });

  test("is not sent any more once the person has seen it", async () => {
    await put(new Browser(service, "phone"));
    service.answers.push(503);
    const task = await board.create({ start: true });
    await board.ask(task.run_id ?? "", "c1", "Which?");
    await board.keep();
    await arrived(1);
    await board.inbox.markInbox({ entries: [], state: "read" }, board.admin);
    await drained();
    expect(service.received.length).toBe(1);
  });
});

describe("a push service", () => {
  async function ask(): Promise<void> {
    const task = await board.create({ start: true });
    await board.ask(task.run_id ?? "", "c1", "Which?");
    await board.keep();
  }

  test("that is overloaded is asked again, with the same news", async () => {
    const phone = new Browser(service, "phone");
    await put(phone);
    service.answers.push(503);
    await ask();
    const [first, second] = await arrived(2);
    if (first === undefined || second === undefined) throw new Error("nothing came");
    expect(phone.read(second)).toEqual(phone.read(first));
    await drained();
    expect((await list()).map(({ error }) => error)).toEqual([""]);
  });

  test.each([404, 410])("that answers %i ends the subscription", async (status) => {
    await put(new Browser(service, "phone"));
    service.answers.push(status);
    await ask();
    await until(async () => (await list()).length === 0, { what: "the end of the subscription" });
    expect(await waiting()).toBe(0);
  });

  test("that refuses a message for good is not asked again, and the list says why", async () => {
    await put(new Browser(service, "phone"));
    service.answers.push(403);
    await ask();
    await until(async () => (await list())[0]?.error === "answered with 403", { what: "the reason" });
    await drained();
    expect(service.received.length).toBe(1);
  });

  test("can be tried at once, and what it answers is told", async () => {
    const phone = new Browser(service, "phone");
    const { id } = await put(phone);
    expect(await api.testPush({ subscription: id }, board.admin)).toEqual({ delivered: true, error: "" });
    const [got] = service.received;
    if (got === undefined) throw new Error("nothing came");
    expect(phone.read(got)).toMatchObject({ kind: "test", url: "/settings/notifications" });
    service.answers.push(500, 410);
    expect(await api.testPush({ subscription: id }, board.admin)).toEqual({
      delivered: false,
      error: "answered with 500",
    });
    expect((await api.testPush({ subscription: id }, board.admin)).delivered).toBe(false);
    expect(await list()).toEqual([]);
    expect((await refusal(api.testPush({ subscription: id }, board.admin))).code).toBe("not_found");
  });
});

describe("a subscription", () => {
  const member = async (name: string): Promise<Call> =>
    board.fleet.tenant.as(
      await board.fleet.tenant.user(name, ["tasks", "tokens"], { workspace: "default", role: "member" }),
    );

  test("is a browser's, for who used it last, and each sees their own", async () => {
    const phone = new Browser(service, "phone");
    const first = await put(phone);
    expect((await put(phone, board.admin, ["done"])).id).toBe(first.id);
    const mia = await member("mia");
    const taken = await put(phone, mia);
    expect([await list(), (await list(mia)).map(({ id }) => id)]).toEqual([[], [taken.id]]);
    const remove = (id: string, call: Call): Promise<unknown> => api.removePushSubscription({ subscription: id }, call);
    expect((await refusal(remove(taken.id, board.admin))).code).toBe("not_found");
    await remove(taken.id, mia);
    expect(await list(mia)).toEqual([]);
    const rows = await board.fleet.tenant.store.sql<{ actor: string; action: string }[]>`
      SELECT actor, action FROM audit WHERE action LIKE 'push.%' ORDER BY id`;
    expect(rows.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      "user:admin push.put",
      "user:mia push.put",
      "user:mia push.remove",
    ]);
  });

  test("ends with the token that made it: nothing more goes there", async () => {
    const mia = await member("mia");
    await put(new Browser(service, "phone"), mia);
    const task = await board.create({ start: true }, mia);
    await board.fleet.tenant.store.sql`UPDATE tokens SET revoked_at = now() WHERE id = ${mia.caller.tokenId}`;
    await put(new Browser(service, "other"), board.admin);
    await board.ask(task.run_id ?? "", "c1", "Which?");
    await board.keep();
    const own = await board.create({ start: true });
    await board.ask(own.run_id ?? "", "c1", "Which?");
    await board.keep();
    const got = await arrived(1);
    expect(got.map(({ path }) => path)).toEqual(["/send/other"]);
    expect(await waiting()).toBe(1);
  });

  test("ends with the log-in that made it", async () => {
    const { sql } = board.fleet.tenant.store;
    const { userId } = board.admin.caller;
    await sql`
      INSERT INTO sessions (id, user_id, hash, expires_at, ends_at)
      VALUES ('sess_1', ${userId}, 'x', now() + interval '1 day', now() + interval '1 day')`;
    const browser = { ...board.admin.caller, tokenId: "sess_1" as never, session: { csrfToken: "c" } };
    const { is_current: isCurrent } = await put(new Browser(service, "phone"), board.fleet.tenant.as(browser));
    expect([isCurrent, (await list()).map((one) => one.is_current)]).toEqual([true, [false]]);
    await sql`DELETE FROM sessions WHERE id = 'sess_1'`;
    expect(await list()).toEqual([]);
  });

  test("to an address inside of the network, without encryption, or with keys of no browser is refused", async () => {
    const strict = createPushApi({ ...deps(), allowed: networksOf([]), resolve: () => Promise.resolve(["10.1.2.3"]) });
    const good = new Browser(service, "phone").request;
    const tried = (part: object): Promise<{ code: string; message: string }> =>
      refusal(strict.putPushSubscription({ ...good, kinds: [], ...part }, board.admin));
    expect((await tried({})).message).toContain("inside of a private network");
    expect((await tried({ endpoint: "https://inside.example/x" })).message).toContain("private network");
    expect((await tried({ endpoint: "http://1.1.1.1/x" })).message).toContain("https://");
    expect((await tried({ endpoint: "ftp://1.1.1.1/x" })).code).toBe("invalid_argument");
    expect((await tried({ p256dh: "AAAA" })).message).toContain("p256dh");
    expect(await list()).toEqual([]);
  });

  test("is one of at most 20 of a person; the oldest goes", async () => {
    for (let n = 0; n <= 20; n += 1) await put(new Browser(service, `n${n}`));
    const { sql } = board.fleet.tenant.store;
    const rows = await sql<{ endpoint: string }[]>`SELECT endpoint FROM push_subscriptions`;
    expect(rows.length).toBe(20);
    expect(rows.some(({ endpoint }) => endpoint.endsWith("/n0"))).toBe(false);
  });
});

test("the keys are made once, whoever asks first, and the private one is sealed", async () => {
  const [first, second] = await Promise.all([deps().keys(), deps().keys()]);
  expect(second).toEqual(first);
  const rows = await board.fleet.tenant.store.sql<{ public_key: string; sealed_private: Buffer }[]>`
    SELECT public_key, sealed_private FROM push_keys`;
  expect(rows.map((row) => row.public_key)).toEqual([first.publicKey]);
  expect(rows[0]?.sealed_private.includes(Buffer.from(first.privateKey))).toBe(false);
});
