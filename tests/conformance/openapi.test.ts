/** The OpenAPI document: valid by the official schema, and every route answers as it says. */

import { Validator } from "@seriousme/openapi-schema-validator";
import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import { createUserKey, signWithSeed } from "@mesh/bus";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunView, TestMesh } from "../harness/test-mesh.ts";

interface Operation {
  readonly operationId: string;
  readonly security?: readonly unknown[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}
interface Route {
  readonly verb: string;
  readonly path: string;
  readonly operation: Operation;
}

let mesh: TestMesh;
let document: Document;
let routes: readonly Route[];
let ajv: Ajv2020;

beforeAll(async () => {
  mesh = await TestMesh.start({
    nodes: [{ name: "alpha" }],
    env: { YAO_WEBHOOK_ALLOW: "127.0.0.0/8" },
  });
  await mesh.pushApp("demo", demoAppDirectory);
  document = await mesh.api.call<Document>("GET", "/v1/openapi.json");
  routes = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([verb, operation]) => ({ verb: verb.toUpperCase(), path, operation })),
  );
  ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, "openapi");
});

afterAll(() => mesh?.stop());

/** Fails unless `body` is what the document promises for this answer. */
function expectPromised({ path, verb, operation }: Route, status: number, type: string, body: unknown): void {
  const promised = operation.responses[String(status)] === undefined ? "default" : String(status);
  expect(Object.keys(operation.responses), `${verb} ${path} answered ${status}`).toContain(promised);
  const content = operation.responses[promised]?.content ?? {};
  expect(Object.keys(content)).toContain(type.split(";", 1)[0]);
  const pointer = [
    "paths",
    path,
    verb.toLowerCase(),
    "responses",
    promised,
    "content",
    type.split(";", 1)[0] ?? "",
    "schema",
  ];
  const ref = pointer.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.compile({ $ref: `openapi#/${ref}` });
  expect(validate(body) ? [] : validate.errors, `${verb} ${path}: ${JSON.stringify(body)}`).toEqual([]);
}

interface Sample {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

async function call(
  route: Route,
  sample: Sample,
  token: string,
): Promise<{ status: number; type: string; body: unknown }> {
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => sample.path?.[name] ?? "absent");
  const { body } = sample;
  const isBytes = body instanceof Uint8Array;
  const response = await fetch(`${mesh.api.url}${path}${sample.query ?? ""}`, {
    method: route.verb,
    headers: {
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": isBytes ? "application/octet-stream" : "application/json" }),
    },
    ...(body === undefined ? {} : { body: isBytes ? Buffer.from(body) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  return { status: response.status, type, body: type.includes("json") ? JSON.parse(text) : text };
}

describe("the document", () => {
  test("is valid OpenAPI 3.1 by the official schema", async () => {
    const validator = new Validator();
    const result = await validator.validate({ ...structuredClone(document) });
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe("3.1");
  });

  test("declares exactly the parameters of each path, and names each operation once", () => {
    for (const { path, verb, operation } of routes) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter((one) => one.in === "path");
      expect(
        declared.map(({ name }) => name),
        `${verb} ${path}`,
      ).toEqual(inPath);
      expect(declared.every(({ required }) => required === true)).toBe(true);
    }
    const ids = routes.flatMap(({ operation }) => operation.operationId ?? []);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(35);
  });

  test("has no dangling reference", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((name) => document.components.schemas[name ?? ""] === undefined)).toEqual([]);
  });
});

/** A run of the demo app that waits for an approval. */
async function askingRun(): Promise<RunView> {
  const run = await mesh.createRun({
    assistant: "hello",
    input: '/tool bash {"command":"true"}',
    options: { tools: ["bash"], approve: ["bash"] },
  });
  return mesh.until(run.id, ({ state }) => state === "waiting");
}

describe("each route", () => {
  test("answers a sample as the document says", async () => {
    const key = createUserKey();
    const sign = (text: string): string => Buffer.from(signWithSeed(key.seed, Buffer.from(text))).toString("base64url");
    const { token: joinToken } = await mesh.api.call<{ token: string }>("POST", "/v1/node-tokens", {});
    const { run } = await mesh.api.call<{ run: { id: string } }>("POST", "/v1/workspaces/default/runs", {
      assistant: "hello",
      input: "hi",
    });
    await mesh.ended(run.id);
    const asking = await askingRun();
    const made = await mesh.api.call<{ token: { id: string } }>("POST", "/v1/tokens", {
      name: "sample",
      user: "sam",
      scopes: ["read"],
    });
    const atMs = Date.now();
    const blue = { workspace: "blue" };
    const talk = await mesh.createRun({ assistant: "hello", input: "hi", chat: "sample-chat" });
    await mesh.ended(talk.id);
    const webhooks = "/v1/workspaces/default/webhooks";
    const { webhook } = await mesh.api.call<{ webhook: { id: string } }>("POST", webhooks, { url: mesh.api.url });
    const hook = { workspace: "default", webhook: webhook.id };
    const sent = await mesh.api.call<{ delivery: { id: string } }>("POST", `${webhooks}/${webhook.id}/test`, {});
    const bundle = bundleApp(await readAppDirectory(demoAppDirectory)).bytes;
    // In an order in which each finds what it needs.
    const samples: Readonly<Record<string, Sample>> = {
      createJoinToken: { body: { uses: 2, labels: { a: "b" } } },
      joinNode: {
        body: { token: joinToken, nkey: key.nkey, signature: sign(`yao-join:${joinToken}`), name: "beta", protocol: 1 },
      },
      renewNode: { body: { nkey: key.nkey, at_ms: atMs, signature: sign(`yao-renew:${key.nkey}:${atMs}`) } },
      listNodes: {},
      getNode: { path: { node: "alpha" } },
      updateNode: { path: { node: "beta" }, body: { labels: { site: "home" }, slots: 2 } },
      drainNode: { path: { node: "beta" }, body: { deadline_seconds: 60 } },
      undrainNode: { path: { node: "beta" }, body: {} },
      removeNode: { path: { node: "beta" } },
      createWorkspace: { body: { name: "blue" } },
      listWorkspaces: {},
      getWorkspace: { path: blue },
      putMember: { path: { ...blue, user: "sam" }, body: { role: "member" } },
      listMembers: { path: blue },
      removeMember: { path: { ...blue, user: "sam" } },
      pushApp: { path: { ...blue, app: "demo" }, body: bundle },
      listApps: { path: blue },
      getApp: { path: { ...blue, app: "demo" } },
      listAssistants: { path: blue },
      getAssistant: { path: { ...blue, assistant: "hello" } },
      putConnector: { path: { ...blue, connector: "my.model" }, body: { type: "openai", model: "m", key: "k" } },
      listConnectors: { path: blue },
      testConnector: { path: { ...blue, connector: "demo" }, body: {} },
      removeConnector: { path: { ...blue, connector: "my.model" } },
      createRun: { path: blue, body: { assistant: "hello", input: "hi", requirements: { labels: { no: "where" } } } },
      listRuns: { path: { workspace: "default" }, query: "?limit=5&state=succeeded" },
      getRun: { path: { run: run.id } },
      cancelRun: { path: { run: run.id }, body: {} },
      answerRun: { path: { run: asking.id }, body: { call_id: asking.pending[0]?.id, decision: "deny", text: "no" } },
      retryRun: { path: { run: run.id }, body: {} },
      listRunEvents: { path: { run: run.id }, query: "?after_seq=1&limit=4" },
      createChatCompletion: { body: { model: "blue/hello", messages: [{ role: "user", content: "hi" }] } },
      listModels: {},
      retrieveModel: { path: { model: "blue/hello" } },
      describeProblem: { path: { problem: "not_found" } },
      listChats: { path: { workspace: "default" }, query: "?limit=1" },
      getChat: { path: { workspace: "default", chat: "sample-chat" } },
      listChatMessages: { path: { workspace: "default", chat: "sample-chat" } },
      deleteChat: { path: { workspace: "default", chat: "sample-chat" } },
      createWebhook: { path: blue, body: { url: mesh.api.url, events: ["run.failed"] } },
      listWebhooks: { path: blue },
      updateWebhook: { path: hook, body: { events: ["all"] } },
      rotateWebhookSecret: { path: hook, body: {} },
      testWebhook: { path: hook, body: {} },
      listDeliveries: { path: hook },
      replayDelivery: { path: { ...hook, delivery: sent.delivery.id }, body: {} },
      removeWebhook: { path: hook },
      removeApp: { path: { ...blue, app: "demo" } },
      deleteWorkspace: { path: blue, query: "?force=true" },
      createToken: { body: { name: "other", scopes: ["read"], ttl_seconds: 60 } },
      listTokens: {},
      revokeToken: { path: { token: made.token.id } },
      whoAmI: {},
      getStatus: {},
      listAudit: { query: "?limit=3" },
    };
    const named = routes.filter(({ operation }) => operation.operationId !== undefined);
    expect(Object.keys(samples).toSorted()).toEqual(named.map(({ operation }) => operation.operationId).toSorted());
    for (const [id, sample] of Object.entries(samples)) {
      const route = named.find(({ operation }) => operation.operationId === id)!;
      const { status, type, body } = await call(route, sample, mesh.api.token);
      const success = Object.keys(route.operation.responses).find((code) => code.startsWith("2"));
      expect([id, String(status)], JSON.stringify(body)).toEqual([id, success]);
      expectPromised(route, status, type, body);
    }
  });

  test("that needs a token refuses without one, as a problem of the documented form", async () => {
    const guarded = routes.filter(({ operation }) => operation.security === undefined);
    expect(guarded.length).toBeGreaterThan(30);
    for (const route of guarded) {
      const { status, type, body } = await call(route, {}, "");
      expect([route.path, status]).toEqual([route.path, 401]);
      expectPromised(route, status, type, body);
    }
  });

  test("beside the operations answers without a token: health, readiness, metrics, the document itself", async () => {
    for (const route of routes.filter(({ operation }) => operation.operationId === undefined)) {
      const { status, type, body } = await call(route, {}, "");
      expect([route.path, status]).toEqual([route.path, 200]);
      expectPromised(route, status, type, body);
    }
  });

  test("of events is also a stream, and has no body when there is nothing more", async () => {
    const run = await mesh.createRun({ assistant: "hello", input: "hi" });
    const { last_seq } = await mesh.ended(run.id);
    const route = routes.find(({ operation }) => operation.operationId === "listRunEvents")!;
    expect(Object.keys(route.operation.responses["200"]?.content ?? {})).toContain("text/event-stream");
    expect(route.operation.responses["204"]).toBeDefined();
    const answer = await fetch(`${mesh.api.url}/v1/runs/${run.id}/events?after_seq=${last_seq}`, {
      headers: { authorization: `Bearer ${mesh.api.token}`, accept: "text/event-stream" },
    });
    expect(answer.status).toBe(204);
  });
});
