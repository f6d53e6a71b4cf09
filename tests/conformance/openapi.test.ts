/** The OpenAPI document: valid by the official schema, and every route answers as it says. */

import { Validator } from "@seriousme/openapi-schema-validator";
import { demoAppDirectory } from "@mesh/assistants";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { type Sample, routeSamples } from "./route-sample.ts";

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
  const plain = type.split(";", 1)[0] ?? "";
  const media = content[plain] === undefined && content["*/*"] !== undefined ? "*/*" : plain;
  expect(Object.keys(content), `${verb} ${path}`).toContain(media);
  const pointer = ["paths", path, verb.toLowerCase(), "responses", promised, "content", media, "schema"];
  const ref = pointer.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.compile({ $ref: `openapi#/${ref}` });
  expect(validate(body) ? [] : validate.errors, `${verb} ${path}: ${JSON.stringify(body)}`).toEqual([]);
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
    expect(ids.length).toBeGreaterThan(100);
  });

  test("has no dangling reference", () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(
      ([, name]) => name,
    );
    expect(references.length).toBeGreaterThan(50);
    expect(references.filter((name) => document.components.schemas[name ?? ""] === undefined)).toEqual([]);
  });
});

describe("each route", () => {
  test("answers a sample as the document says", async () => {
    const samples = await routeSamples(mesh);
    const named = routes.filter(({ operation }) => operation.operationId !== undefined);
    expect(Object.keys(samples).toSorted()).toEqual(named.map(({ operation }) => operation.operationId).toSorted());
    const refused: string[] = [];
    for (const [id, sample] of Object.entries(samples)) {
      const route = named.find(({ operation }) => operation.operationId === id)!;
      const { status, type, body } = await call(route, sample, mesh.api.token);
      const success = Object.keys(route.operation.responses).find((code) => code.startsWith("2"));
      if (String(status) === success || status === sample.refusedWith) expectPromised(route, status, type, body);
      else refused.push(`${id} ${status} ${JSON.stringify(body)}`);
    }
    expect(refused).toEqual([]);
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
