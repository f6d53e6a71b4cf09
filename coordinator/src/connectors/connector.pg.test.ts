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
