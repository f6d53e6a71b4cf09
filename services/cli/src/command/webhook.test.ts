/** Webhooks: in this process, against a coordinator at the wire. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { type Ended, runYao } from "../testing/run-yao.ts";
import { StubGateway } from "../testing/stub-gateway.ts";

let gateway: StubGateway;
let home: string;

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
});
afterEach(async () => {
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

const yao = (...args: readonly string[]): Promise<Ended> => runYao({ url: gateway.url, home }, args);

const PATH = "/v1/workspaces/default/webhooks";
const HOOK = {
  id: "hook_1",
  url: "https://example.com/hook",
  events: ["run.failed"],
  disabled: true,
  reason: "ten attempts failed",
  created_at: "2026-01-01T00:00:00.000Z",
};
const SENT = {
  id: "msg_1",
  event: "webhook.test",
  state: "pending",
  attempts: 0,
  response_status: 0,
  error: "",
  created_at: "2026-01-01T00:00:00.000Z",
};

/** The bodies that a route is sent. */
function taken(method: string, path: string, json: unknown): unknown[] {
  const bodies: unknown[] = [];
  gateway.route(method, path, ({ body }) => {
    bodies.push(body === "" ? undefined : JSON.parse(body));
    return { json };
  });
  return bodies;
}

test("a webhook is added with its events, and its secret is printed once", async () => {
  const bodies = taken("POST", PATH, { webhook: HOOK, secret: "whsec_x" });
  const ended = await yao("webhook", "add", HOOK.url, "--event", "run.failed", "--event", "task.failed");
  expect(ended).toEqual({ code: 0, out: "webhook: hook_1\nsecret:  whsec_x\n", err: "" });
  expect(bodies).toEqual([{ url: HOOK.url, events: ["run.failed", "task.failed"] }]);
});

test("webhooks are listed and shown with what they are sent and why they are disabled", async () => {
  gateway.route("GET", PATH, () => ({ json: { webhooks: [HOOK, { ...HOOK, id: "hook_2", events: [] }] } }));
  const { out } = await yao("webhook", "list");
  expect(out).toMatch(/^hook_1 +https:\/\/example.com\/hook +run.failed +disabled/m);
  expect(out).toMatch(/^hook_2 .* all /m);
  expect((await yao("webhook", "show", "hook_1")).out).toContain("ten attempts failed");
  expect(JSON.parse((await yao("webhook", "show", "hook_1", "--json")).out)).toEqual({ webhook: HOOK });
  const unknown = await yao("webhook", "show", "hook_9");
  expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining("see `yao webhook list`") });
});

test("only what is named changes, and nothing to change is wrong usage", async () => {
  const bodies = taken("PATCH", `${PATH}/hook_1`, { webhook: { ...HOOK, disabled: false } });
  expect((await yao("webhook", "set", "hook_1", "--enable")).out).toMatch(/^state: +enabled$/m);
  expect((await yao("webhook", "set", "hook_1", "--event", "all", "--url", "https://b.test/")).code).toBe(0);
  expect(bodies).toEqual([{ disabled: false }, { events: ["all"], url: "https://b.test/" }]);
  for (const args of [[], ["--enable", "--disable"]]) {
    expect((await yao("webhook", "set", "hook_1", ...args)).code).toBe(2);
  }
  expect(bodies).toHaveLength(2);
});

test("a secret is made anew, and a webhook removed", async () => {
  taken("POST", `${PATH}/hook_1/rotate`, { secret: "whsec_y" });
  taken("DELETE", `${PATH}/hook_1`, {});
  expect((await yao("webhook", "rotate", "hook_1")).out).toBe("whsec_y\n");
  expect((await yao("webhook", "remove", "hook_1")).out).toBe("hook_1 was removed\n");
});

describe("a test waits for the first attempt and says how it went", () => {
  test.each([
    [{ state: "delivered", attempts: 1, response_status: 204 }, 0, "msg_1 was taken with 204\n"],
    [
      { attempts: 1, response_status: 500, error: "answered with 500", next_at: "2026-01-01T00:00:05.000Z" },
      1,
      "msg_1 was not taken: answered with 500; sent again at 2026-01-01T00:00:05.000Z\n",
    ],
  ])("%j", async (attempt, code, out) => {
    taken("POST", `${PATH}/hook_1/test`, { delivery: SENT });
    let looks = 0;
    gateway.route("GET", `${PATH}/hook_1/deliveries`, () => {
      looks += 1;
      const newer = { ...SENT, id: "msg_2", attempts: 1 };
      return { json: { deliveries: [newer, looks === 1 ? SENT : { ...SENT, ...attempt }], next_cursor: "" } };
    });
    expect(await yao("webhook", "test", "hook_1")).toEqual({ code, out, err: "" });
    expect(looks).toBe(2);
  });
});

test("what was sent is listed page by page, and sent again", async () => {
  const failed = { ...SENT, state: "failed", attempts: 10, response_status: 500, error: "answered with 500" };
  gateway.route("GET", `${PATH}/hook_1/deliveries`, () => ({ json: { deliveries: [failed], next_cursor: "7" } }));
  const { out } = await yao("webhook", "deliveries", "hook_1", "--limit", "1", "--cursor", "9");
  expect(out).toMatch(/^msg_1 +webhook.test +failed +10 +500 /m);
  expect(out).toContain("more: yao webhook deliveries hook_1 --cursor 7\n");
  expect(gateway.seen.at(-1)?.path).toContain("?limit=1&cursor=9");
  taken("POST", `${PATH}/hook_1/deliveries/msg_1/replay`, { delivery: SENT });
  expect((await yao("webhook", "replay", "hook_1", "msg_1")).out).toBe("msg_1 is sent again\n");
});
