/** Who may call what, for every route of the document: each scope, no token, tokens for one assistant, and other workspaces. */

import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { callRoute, documentRoutes, parametersOf, type Route } from "./document-route.ts";

const SCOPES = ["read", "runs", "apps", "connectors", "nodes", "workspaces", "tokens"] as const;

let mesh: TestMesh;
let routes: readonly Route[];
let bundle: Uint8Array;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }], env: { YAO_WEBHOOK_ALLOW: "127.0.0.0/8" } });
  await mesh.pushApp("demo", demoAppDirectory);
  routes = await documentRoutes(mesh);
  bundle = bundleApp(await readAppDirectory(demoAppDirectory)).bytes;
});

afterAll(() => mesh?.stop());

async function tokenOf(body: Record<string, unknown>): Promise<string> {
  return (await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", { name: "t", ...body })).secret;
}

const guarded = (): readonly Route[] => routes.filter(({ operation }) => operation.security === undefined);
const allows = (route: Route, scope: string): boolean =>
  route.operation["x-scope"] === scope || route.operation["x-scope"] === "read";

test("every route says its scope or that it needs no token", () => {
  expect(routes.length).toBeGreaterThan(50);
  for (const { operation } of routes) {
    expect([operation.operationId, operation["x-scope"] ?? operation.security]).not.toEqual([
      operation.operationId,
      undefined,
    ]);
  }
});

test.each(SCOPES)(
  "a token with the scope %s alone gets through where the document says so, and nowhere else",
  async (scope) => {
    const token = await tokenOf({ scopes: [scope] });
    for (const route of guarded()) {
      const { status, text } = await callRoute(mesh, route, { token });
      const isRefused = status === 403 && text.includes("lacks the scope");
      expect([route.operation.operationId, isRefused], text).toEqual([
        route.operation.operationId,
        !allows(route, scope),
      ]);
      expect(status, text).not.toBe(401);
    }
  },
);

test("no guarded route answers without a token, or with one that nobody made, also from this machine", async () => {
  for (const route of guarded()) {
    for (const token of ["", `yao_${"A".repeat(43)}`]) {
      expect([route.operation.operationId, (await callRoute(mesh, route, { token })).status]).toEqual([
        route.operation.operationId,
        401,
      ]);
    }
  }
});

describe("a token for one assistant", () => {
  /** A new one is a decision: its handler must hold the token to its assistants. */
  const KNOWING = [
    "answerRun",
    "cancelRun",
    "createChatCompletion",
    "createRun",
    "deleteChat",
    "getAssistant",
    "getChat",
    "getRun",
    "getWorkspace",
    "listAssistants",
    "listChatMessages",
    "listChats",
    "listModels",
    "listRunEvents",
    "listRuns",
    "listWorkspaces",
    "retrieveModel",
    "retryRun",
    "whoAmI",
  ];

  test("reaches only the operations that know of such tokens", async () => {
    const token = await tokenOf({ assistants: ["hello"] });
    const reached: string[] = [];
    for (const route of guarded()) {
      const { status } = await callRoute(mesh, route, { token });
      if (status !== 403) reached.push(route.operation.operationId);
    }
    expect(reached.toSorted()).toEqual(KNOWING);
    const marked = guarded().filter(({ operation }) => operation["x-assistant-tokens"] === true);
    expect(marked.map(({ operation }) => operation.operationId).toSorted()).toEqual(KNOWING);
  });

  test("runs and sees that assistant and its runs, and no other", async () => {
    const token = await tokenOf({ assistants: ["hello"] });
    const mine = await mesh.createRun({ assistant: "hello", input: "hi" });
    const other = await mesh.createRun({ assistant: "counter", input: "/count 2" });
    await Promise.all([mesh.ended(mine.id), mesh.ended(other.id)]);
    const get = async (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${mesh.api.url}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      });
    const json = async <T>(response: Response): Promise<T> => (await response.json()) as T;
    const models = await json<{ data: { id: string }[] }>(await get("/v1/models"));
    expect(models.data.map(({ id }) => id)).toEqual(["hello"]);
    const { assistants } = await json<{ assistants: { id: string }[] }>(await get("/v1/workspaces/default/assistants"));
    expect(assistants.map(({ id }) => id)).toEqual(["hello"]);
    const { runs } = await json<{ runs: { assistant: string }[] }>(await get("/v1/workspaces/default/runs"));
    expect(new Set(runs.map(({ assistant }) => assistant))).toEqual(new Set(["hello"]));
    expect((await get(`/v1/runs/${mine.id}`)).status).toBe(200);
    for (const path of [
      `/v1/runs/${other.id}`,
      `/v1/runs/${other.id}/events`,
      "/v1/workspaces/default/assistants/counter",
    ]) {
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    }
    const mcp = "/v1/workspaces/default/assistants/counter/mcp";
    expect((await get(mcp, { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' })).status).toBe(
      404,
    );
    for (const [path, body] of [
      ["/v1/workspaces/default/runs", { assistant: "counter", input: "/count 2" }],
      ["/v1/chat/completions", { model: "counter", messages: [{ role: "user", content: "x" }] }],
      [`/v1/runs/${other.id}/retry`, {}],
      [`/v1/runs/${other.id}/cancel`, {}],
    ] as const) {
      expect([path, (await get(path, { method: "POST", body: JSON.stringify(body) })).status]).toEqual([path, 404]);
    }
    const allowed = await get("/v1/chat/completions", {
      method: "POST",
      body: JSON.stringify({ model: "hello", messages: [{ role: "user", content: "x" }] }),
    });
    expect(allowed.status).toBe(200);
  });

  test("holds no scope beyond reading and running", async () => {
    for (const scope of ["admin", "tokens", "apps"]) {
      await expect(tokenOf({ assistants: ["hello"], scopes: [scope] })).rejects.toThrow("read");
    }
  });
});

describe("another workspace", () => {
  /** What is not of a workspace; a new route is in one list or the other. */
  const OF_NO_WORKSPACE = [
    "createChatCompletion",
    "createJoinToken",
    "createToken",
    "createWorkspace",
    "describeProblem",
    "drainNode",
    "getNode",
    "getStatus",
    "joinNode",
    "listAudit",
    "listModels",
    "listNodes",
    "listTokens",
    "listWorkspaces",
    "removeNode",
    "renewNode",
    "revokeToken",
    "undrainNode",
    "updateNode",
    "whoAmI",
  ];
  const BODIES: Readonly<Record<string, unknown>> = {
    createRun: { assistant: "hello", input: "x" },
    answerRun: { call_id: "c", decision: "deny" },
    putMember: { role: "member" },
    putConnector: { type: "openai", model: "m" },
    createWebhook: { url: "http://127.0.0.1:9/" },
  };

  test("and all that is in it does not exist for those who are not in it, by any route", async () => {
    await mesh.api.call("POST", "/v1/workspaces", { name: "blue" });
    await mesh.api.call("POST", "/v1/workspaces", { name: "red" });
    await mesh.pushApp("demo", demoAppDirectory, "blue");
    const otto = await tokenOf({ user: "otto", scopes: [...SCOPES] });
    await mesh.api.call("PUT", "/v1/workspaces/red/members/otto", { role: "owner" });
    const run = await mesh.createRun({ assistant: "hello", input: "hi", workspace: "blue", chat: "talk" });
    await mesh.ended(run.id);
    const webhooks = "/v1/workspaces/blue/webhooks";
    const { webhook } = await mesh.api.call<{ webhook: { id: string } }>("POST", webhooks, { url: mesh.api.url });
    const sent = await mesh.api.call<{ delivery: { id: string } }>("POST", `${webhooks}/${webhook.id}/test`, {});
    await mesh.api.call("PUT", "/v1/workspaces/blue/connectors/mine", { type: "openai", model: "m", key: "k" });
    const ids = {
      workspace: "blue",
      run: run.id,
      app: "demo",
      assistant: "hello",
      connector: "mine",
      user: "admin",
      chat: "talk",
      webhook: webhook.id,
      delivery: sent.delivery.id,
      model: "blue/hello",
    };
    const concerned = routes.filter(({ operation }) => !OF_NO_WORKSPACE.includes(operation.operationId));
    expect(concerned.length).toBeGreaterThan(30);
    for (const route of concerned) {
      const { operationId } = route.operation;
      const named = parametersOf(route);
      expect([operationId, named.filter((name) => !Object.hasOwn(ids, name))], "give the test such an id").toEqual([
        operationId,
        [],
      ]);
      const body = operationId === "pushApp" ? bundle : (BODIES[operationId] ?? {});
      const { status, text } = await callRoute(mesh, route, { token: otto, path: ids, body });
      expect([operationId, status], text).toEqual([operationId, 404]);
      // Its things are not to be had through a workspace of one's own either.
      const things = named.filter((name) => name !== "workspace" && name !== "user" && name !== "model");
      if (!named.includes("workspace") || things.length === 0 || ["pushApp", "putConnector"].includes(operationId))
        continue;
      const inside = await callRoute(mesh, route, { token: otto, path: { ...ids, workspace: "red" }, body });
      expect([operationId, inside.status], inside.text).toEqual([operationId, 404]);
    }
    const chat = await fetch(`${mesh.api.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${otto}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "blue/hello", messages: [{ role: "user", content: "x" }] }),
    });
    expect(chat.status).toBe(404);
  });
});
