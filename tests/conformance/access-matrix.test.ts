/** Who may call what, for every route of the document: each scope, no token, tokens for one assistant, and other workspaces. */

import { demoAppDirectory } from "@mesh/assistants";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { callRoute, documentRoutes, parametersOf, type Route } from "./document-route.ts";
import { grownAgent, routeSamples } from "./route-sample.ts";

const SCOPES = ["read", "runs", "apps", "connectors", "nodes", "workspaces", "tokens", "tasks", "files"] as const;

let mesh: TestMesh;
let routes: readonly Route[];

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }], env: { YAO_WEBHOOK_ALLOW: "127.0.0.0/8" } });
  await mesh.pushApp("demo", demoAppDirectory);
  routes = await documentRoutes(mesh);
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
    "getAgent",
    "getAssistant",
    "getChat",
    "getRun",
    "getWorkspace",
    "listAgents",
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
    const talk = await mesh.createRun({ assistant: "counter", input: "/count 2", chat: "theirs" });
    await mesh.ended(talk.id);
    for (const body of [{ chat: "theirs" }, { metadata: { chat_id: "theirs" } }]) {
      const joining = JSON.stringify({ assistant: "hello", input: "what was said?", ...body });
      expect((await get("/v1/workspaces/default/runs", { method: "POST", body: joining })).status).toBe(404);
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
    "acceptInvitation",
    "changePassword",
    "createChatCompletion",
    "createJoinToken",
    "createLoginCode",
    "createToken",
    "createWorkspace",
    "describeProblem",
    "drainNode",
    "endSession",
    "getAccount",
    "getInvitation",
    "getLoginOptions",
    "getNode",
    "getPushKey",
    "getShareRun",
    "getStatus",
    "joinNode",
    "listAudit",
    "listInbox",
    "listModels",
    "listNodes",
    "listPushSubscriptions",
    "listSessions",
    "listTokens",
    "listUsers",
    "listWorkspaces",
    "logIn",
    "logOut",
    "markInbox",
    "openShare",
    "previewSchedule",
    "putPushSubscription",
    "removeNode",
    "removePushSubscription",
    "renewNode",
    "revokeToken",
    "runShare",
    "testPush",
    "undrainNode",
    "updateAccount",
    "updateNode",
    "updateUser",
    "whoAmI",
  ];
  /** These make what they name. */
  const MAKING = ["pushApp", "putConnector", "putSecret", "putTemplate"];

  /** Ids of one thing of each kind in the workspace blue. */
  async function thingsOfBlue(): Promise<Record<string, string>> {
    const blue = "/v1/workspaces/blue";
    const post = <T>(path: string, body: unknown): Promise<T> => mesh.api.call<T>("POST", `${blue}${path}`, body);
    const run = await mesh.createRun({ assistant: "hello", input: "hi", workspace: "blue", chat: "talk" });
    await mesh.ended(run.id);
    const { webhook } = await post<{ webhook: { id: string } }>("/webhooks", { url: mesh.api.url });
    const sent = await post<{ delivery: { id: string } }>(`/webhooks/${webhook.id}/test`, {});
    await mesh.api.call("PUT", `${blue}/connectors/mine`, { type: "openai", model: "m", key: "k" });
    await mesh.api.call("PUT", `${blue}/secrets/MINE`, { value: "v" });
    await mesh.api.call("PUT", `${blue}/templates/weekly`, { title: "Weekly" });
    const { board } = await post<{ board: { id: string } }>("/boards", { name: "Blue" });
    const { task, agent } = await grownAgent(mesh, "blue");
    const { share } = await post<{ share: { id: string } }>("/shares", { agent, access: "run" });
    const { document } = await post<{ document: { id: string } }>("/documents?name=a.txt", Buffer.from("text"));
    const { invitation } = await post<{ invitation: { id: string } }>("/invitations", {});
    const wish = { workspace: "blue", assistant: "hello", draft: true };
    const made = await mesh.api.call<{ eval: { id: string } }>("POST", "/v1/evals", wish);
    return {
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
      board: board.id,
      task,
      agent,
      share: share.id,
      document: document.id,
      invitation: invitation.id,
      eval: made.eval.id,
      template: "weekly",
      name: "MINE",
    };
  }

  test("and all that is in it does not exist for those who are not in it, by any route", async () => {
    const samples = await routeSamples(mesh);
    await mesh.api.call("POST", "/v1/workspaces", { name: "blue" });
    await mesh.api.call("POST", "/v1/workspaces", { name: "red" });
    await mesh.pushApp("demo", demoAppDirectory, "blue");
    const otto = await tokenOf({ user: "otto", scopes: [...SCOPES] });
    await mesh.api.call("PUT", "/v1/workspaces/red/members/otto", { role: "owner" });
    const ids = await thingsOfBlue();
    const concerned = routes.filter(({ operation }) => !OF_NO_WORKSPACE.includes(operation.operationId));
    expect(concerned.length).toBeGreaterThan(80);
    const wrong: string[] = [];
    for (const route of concerned) {
      const { operationId } = route.operation;
      const named = parametersOf(route);
      expect([operationId, named.filter((name) => !Object.hasOwn(ids, name))], "give the test such an id").toEqual([
        operationId,
        [],
      ]);
      const { body, query = "" } = samples[operationId] ?? {};
      const ask = async (path: Record<string, string>): Promise<void> => {
        const { status, text } = await callRoute(mesh, route, { token: otto, path, query, body });
        if (status !== 404) wrong.push(`${operationId} in ${path["workspace"]}: ${status} ${text.slice(0, 200)}`);
      };
      await ask(ids);
      // Its things are not to be had through a workspace of one's own either.
      const things = named.filter((name) => name !== "workspace" && name !== "user" && name !== "model");
      if (named.includes("workspace") && things.length > 0 && !MAKING.includes(operationId)) {
        await ask({ ...ids, workspace: "red" });
      }
    }
    expect(wrong).toEqual([]);
    const chat = await fetch(`${mesh.api.url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${otto}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "blue/hello", messages: [{ role: "user", content: "x" }] }),
    });
    expect(chat.status).toBe(404);
  });
});
