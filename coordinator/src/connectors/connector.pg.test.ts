import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusal, startTenant, type Tenant } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";
import { createSecretSource } from "./connector-api.ts";

let tenant: Tenant;
let admin: Call;
let workspaceId: string;

beforeAll(async () => {
  tenant = await startTenant();
  admin = tenant.as(tenant.admin);
  workspaceId = (await tenant.access.workspace(tenant.admin, "default", "read")).id;
});

afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
});

const request = {
  workspace: "default",
  connector: "openai.gpt",
  type: "openai",
  label: "GPT",
  model: "gpt-x",
  host: "https://api.example.org/v1",
  key: undefined as string | undefined,
  options_json: "",
};

/** A server that says "ok" to whoever has the key. */
async function modelServer(key: string): Promise<AsyncDisposable & { readonly host: string; calls(): number }> {
  let calls = 0;
  const server = createServer((incoming, outgoing) => {
    calls += 1;
    const isAllowed = incoming.headers.authorization === `Bearer ${key}`;
    const said = { choices: [{ index: 0, delta: { content: "ok" }, finish_reason: "stop" }] };
    outgoing.writeHead(isAllowed ? 200 : 401, { "content-type": isAllowed ? "text/event-stream" : "application/json" });
    outgoing.end(isAllowed ? `data: ${JSON.stringify(said)}\n\ndata: [DONE]\n\n` : '{"error":{"message":"bad key"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    host: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: () => calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe("a connector", () => {
  test("keeps its key encrypted, never shows it, and gives it to the run that needs it", async () => {
    const secrets = createSecretSource(tenant);
    const { connector } = await tenant.connectors.putConnector({ ...request, key: "sk-secret" }, admin);
    expect(connector).toMatchObject({ id: "openai.gpt", has_key: true, source: "workspace" });
    expect(JSON.stringify(await tenant.connectors.listConnectors({ workspace: "default" }, admin))).not.toContain(
      "sk-secret",
    );
    const stored = await tenant.store.sql`SELECT sealed_key, config::text FROM connectors`;
    expect(
      Buffer.concat([stored[0]?.["sealed_key"] as Buffer, Buffer.from(stored[0]?.["config"] as string)]).toString(
        "latin1",
      ),
    ).not.toContain("sk-secret");
    const audit = await tenant.store.sql`SELECT detail::text FROM audit`;
    expect(JSON.stringify(audit)).not.toContain("sk-secret");
    expect(await secrets({ workspaceId, connector: "" })).toEqual({ keys: { "openai.gpt": "sk-secret" }, env: {} });
    expect(await secrets({ workspaceId, connector: "openai.gpt" })).toMatchObject({
      keys: { "openai.gpt": "sk-secret" },
    });
    expect(await secrets({ workspaceId, connector: "other" })).toEqual({ keys: {}, env: {} });
  });

  test("without a key keeps the stored one; with an empty key loses it", async () => {
    await tenant.connectors.putConnector({ ...request, key: "k" }, admin);
    const kept = await tenant.connectors.putConnector({ ...request, model: "gpt-y" }, admin);
    expect(kept.connector).toMatchObject({ model: "gpt-y", has_key: true });
    const lost = await tenant.connectors.putConnector({ ...request, key: "" }, admin);
    expect(lost.connector?.has_key).toBe(false);
  });

  test.each([
    [{ host: "ftp://x" }, /host must be a URL/],
    [{ host: "https://user:pw@x" }, /no user or password/],
    [{ options_json: "[1]" }, /JSON object/],
    [{ options_json: "{" }, /not JSON/],
    [{ options_json: '{"key":"sk"}' }, /must not hold "key"/],
  ])("with %o is refused with the reason", async (part, message) => {
    expect(await refusal(tenant.connectors.putConnector({ ...request, ...part }, admin))).toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(message),
    });
  });

  describe("is tested with one call that", () => {
    const testOf = (connector: string): Promise<object> =>
      tenant.connectors.testConnector({ workspace: "default", connector }, admin);

    test("reaches its server with the stored key and tells what the model said", async () => {
      await using llm = await modelServer("right");
      await tenant.connectors.putConnector({ ...request, connector: "llm.ok", host: llm.host, key: "right" }, admin);
      expect(await testOf("llm.ok")).toMatchObject({
        ok: true,
        summary: expect.stringMatching(/llm\.ok: gpt-x answered "ok" in \d+ ms/),
        fix: "",
      });
      expect(llm.calls()).toBe(1);
    });

    test("fails, says what is wrong and what to do, and shows no key", async () => {
      await using llm = await modelServer("right");
      const put = (connector: string, change: object): Promise<unknown> =>
        tenant.connectors.putConnector({ ...request, connector, host: llm.host, key: "wrong-key", ...change }, admin);
      await put("llm.auth", {});
      await put("llm.away", { host: "http://127.0.0.1:1/v1" });
      await put("llm.env", { key: undefined, host: "$ENV.LLM_HOST" });
      await put("llm.type", { type: "sparkle" });
      await put("llm.option", { options_json: '{"temperature":"hot"}' });
      expect(await testOf("llm.auth")).toMatchObject({
        ok: false,
        error_class: "auth",
        fix: expect.stringMatching(/valid key/),
      });
      expect(await testOf("llm.away")).toMatchObject({
        ok: false,
        error_class: "network",
        fix: expect.stringMatching(/host/),
      });
      expect(await testOf("llm.env")).toMatchObject({
        ok: false,
        error_class: "config",
        summary: expect.stringMatching(/\$ENV\.LLM_HOST/),
      });
      expect(await testOf("llm.type")).toMatchObject({
        ok: false,
        error_class: "config",
        summary: expect.stringMatching(/not supported/),
      });
      expect(await testOf("llm.option")).toMatchObject({
        ok: false,
        summary: expect.stringMatching(/temperature must be a number/),
      });
      const all = await Promise.all(["llm.auth", "llm.away", "llm.env"].map(testOf));
      expect(JSON.stringify(all)).not.toContain("wrong-key");
    });

    test("never reads a variable of the coordinator", async () => {
      process.env["CONNECTOR_TEST_SECRET"] = "mine";
      await using llm = await modelServer("mine");
      const key = { key: "$ENV.CONNECTOR_TEST_SECRET" };
      await tenant.connectors.putConnector({ ...request, connector: "llm.steal", host: llm.host, ...key }, admin);
      expect(await testOf("llm.steal")).toMatchObject({ ok: false, error_class: "config" });
      expect(llm.calls()).toBe(0);
      delete process.env["CONNECTOR_TEST_SECRET"];
    });

    test("needs no server for the built-in one, and is refused for one that is not there or not yours", async () => {
      expect(await testOf("demo")).toMatchObject({ ok: true });
      expect(await refusal(testOf("nobody"))).toMatchObject({ code: "not_found" });
      const viewer = await tenant.user("viewer", ["connectors"], { workspace: "default", role: "viewer" });
      const asViewer = tenant.connectors.testConnector({ workspace: "default", connector: "demo" }, tenant.as(viewer));
      expect(await refusal(asViewer)).toMatchObject({ code: "permission_denied" });
    });
  });

  test("is removed here; one of an app or the built-in one is not", async () => {
    await tenant.connectors.putConnector({ ...request, connector: "gone" }, admin);
    await tenant.connectors.removeConnector({ workspace: "default", connector: "gone" }, admin);
    for (const [connector, code] of [
      ["gone", "not_found"],
      ["demo", "failed_precondition"],
    ] as const) {
      expect(
        await refusal(tenant.connectors.removeConnector({ workspace: "default", connector }, admin)),
      ).toMatchObject({ code });
    }
  });
});
