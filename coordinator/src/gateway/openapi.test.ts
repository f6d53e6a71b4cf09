import { expect, test } from "vitest";

import { openApiDocument } from "./openapi.ts";
import { OPERATIONS } from "./operations.ts";

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Record<string, unknown> }> };
  readonly responses: Record<string, { readonly content: Record<string, object> }>;
}

const document = JSON.parse(JSON.stringify(openApiDocument("1.2.3"))) as {
  readonly paths: Record<string, Record<string, Described>>;
  readonly components: {
    readonly schemas: Record<string, { readonly properties: object; readonly required?: string[] }>;
  };
};

test("every operation is described once, with its path parameters, input and answer", () => {
  for (const operation of OPERATIONS.filter(({ streaming }) => !streaming)) {
    const described = document.paths[operation.path]?.[operation.verb.toLowerCase()];
    expect(described?.operationId).toBe(operation.method);
    expect(described?.responses[String(operation.successStatus)]?.content["application/json"]).toBeDefined();
    const body = described?.requestBody?.content["application/json"]?.schema["properties"] ?? {};
    const named = [...(described?.parameters ?? []).map(({ name }) => name), ...Object.keys(body)];
    for (const field of Object.keys(operation.input.shape)) {
      if (field !== operation.rawBody)
        expect([operation.method, named]).toEqual([operation.method, expect.arrayContaining([field])]);
    }
  }
});

test("every reference leads to a schema", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)];
  expect(references.length).toBeGreaterThan(50);
  for (const [, name] of references) expect(Object.keys(document.components.schemas)).toContain(name);
});

test("bounds and optional fields are those of the schemas and of the contract", () => {
  const create = document.paths["/v1/workspaces/{workspace}/runs"]?.["post"];
  expect(create?.requestBody?.content["application/json"]?.schema).toMatchObject({
    additionalProperties: false,
    properties: { priority: { type: "integer", minimum: -100, maximum: 100 }, input: { maxLength: 262_144 } },
  });
  const answer = document.paths["/v1/runs/{run}/answer"]?.["post"];
  expect(answer?.requestBody?.content["application/json"]?.schema).toMatchObject({ required: ["call_id", "decision"] });
  expect(create?.parameters).toContainEqual(expect.objectContaining({ name: "Idempotency-Key", in: "header" }));
  expect(create?.parameters).toContainEqual(expect.objectContaining({ name: "Accept-Language", in: "header" }));
  const run = document.components.schemas["Run"];
  expect(run?.required).toContain("state");
  expect(run?.required).not.toContain("node_id");
  expect(run?.properties).toMatchObject({
    usage: { type: "object" },
    placement: { $ref: "#/components/schemas/Placement" },
  });
});
