import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { MeshError } from "@mesh/kernel";
import { type ContractField, readContract } from "@mesh/rpc";
import { describe, expect, test } from "vitest";

import { OPERATIONS, operationOf, validate } from "./operations.ts";
import { pathFields } from "./operation-row.ts";

const contract = readContract();
const SERVICES: Readonly<Record<string, string>> = {
  NodeService: "nodes",
  RunService: "runs",
  WorkspaceService: "workspaces",
  AppService: "apps",
  ConnectorService: "connectors",
  TokenService: "tokens",
  SystemService: "system",
  AccountService: "accounts",
  FeedService: "feed",
  FileService: "files",
  DocumentService: "documents",
  AgentService: "agents",
  BoardService: "boards",
  TaskService: "tasks",
  InboxService: "inbox",
  ChatService: "chats",
  WebhookService: "webhooks",
  EvalService: "evals",
};

/** `Service.method` to `VERB /path` as the comments of the proto files say. */
function documentedRoutes(): Map<string, string> {
  const directory = join(import.meta.dirname, "../../../proto/yao/mesh/v1");
  const routes = new Map<string, string>();
  for (const file of readdirSync(directory)) {
    let service = "";
    let comment = "";
    for (const line of readFileSync(join(directory, file), "utf8").split("\n")) {
      service = /^service (\w+)/.exec(line)?.[1] ?? service;
      comment = /\/\/ (.*)/.exec(line)?.[1] ?? comment;
      const rpc = /^\s*rpc (\w+)/.exec(line)?.[1];
      const route = /HTTP: (\w+ \/[^\s,]+)/.exec(comment)?.[1];
      if (rpc !== undefined) routes.set(`${service}.${rpc.charAt(0).toLowerCase()}${rpc.slice(1)}`, route ?? "");
    }
  }
  return routes;
}

describe("parity of the table with the wire contract", () => {
  test("every rpc has a row and every row is an rpc", () => {
    const rpcs = contract.methods.map(({ service, name }) => `${SERVICES[service]}.${name}`);
    const rows = OPERATIONS.map(({ service, method }) => `${service}.${method}`);
    expect(rows.toSorted()).toEqual(rpcs.toSorted());
  });

  test("every row streams exactly when its rpc does", () => {
    for (const { service, name, streaming } of contract.methods) {
      expect([name, operationOf(SERVICES[service] as never, name).streaming]).toEqual([name, streaming]);
    }
  });

  test("every HTTP route is the one in the comment of the proto file", () => {
    const documented = documentedRoutes();
    expect(documented.size).toBe(OPERATIONS.length);
    for (const { service, name } of contract.methods) {
      const { verb, path } = operationOf(SERVICES[service] as never, name);
      expect(`${verb} ${path}`).toBe(documented.get(`${service}.${name}`));
    }
  });

  test.each(contract.methods)(
    "the schema of $name has the fields of its request message",
    ({ service, name, request }) => {
      const { input, path } = operationOf(SERVICES[service] as never, name);
      const fields = contract.messages.get(request) ?? [];
      expect(Object.keys(input.shape).toSorted()).toEqual(fields.map((field) => field.name).toSorted());
      for (const field of pathFields(path)) expect(Object.keys(input.shape)).toContain(field);
    },
  );
});

const HUGE: Readonly<Record<string, unknown>> = {
  string: "x".repeat(2_000_000),
  integer: 2 ** 40,
  unsigned: Number.MAX_VALUE,
  struct: { text: "x".repeat(2_000_000) },
  bytes: Buffer.alloc(40 * 1024 * 1024),
};

/** An input in which one field is far too large. */
function oversized(field: ContractField): unknown {
  if (field.type.kind === "message") {
    const inner = contract.messages.get(field.type.message) ?? [];
    return inner[0] === undefined ? undefined : { [inner[0].name]: oversized(inner[0]) };
  }
  const value = HUGE[field.type.kind];
  if (field.shape === "list") return Array.from({ length: 100_000 }, () => "x");
  if (field.shape === "map") return { key: value };
  return value;
}

describe("bounds", () => {
  const fields = contract.methods.flatMap(({ service, name, request }) =>
    (contract.messages.get(request) ?? [])
      .filter(({ type }) => type.kind !== "boolean")
      .map((field) => ({ service, name, field, title: field.name })),
  );

  test.each(fields)("$name refuses an oversized $title", ({ service, name, field }) => {
    const { input } = operationOf(SERVICES[service] as never, name);
    const result = input.safeParse({ [field.name]: oversized(field) });
    const named = result.error?.issues.filter((issue) => issue.path[0] === field.name) ?? [];
    expect(named.length).toBeGreaterThan(0);
  });

  test("a decoded proto message with nothing set passes wherever nothing is required", () => {
    const operation = operationOf("runs", "createRun");
    const request = validate(operation, {
      workspace: "default",
      assistant: "demo",
      input: "",
      on_lost: "",
      priority: 0,
      timeout_seconds: 0,
      idempotency_key: "",
      queue_ttl_seconds: 0,
    });
    expect(request).toMatchObject({ workspace: "default", on_lost: "", requirements: undefined });
  });

  test("what is left out gets the defaults of the proto message", () => {
    expect(validate(operationOf("runs", "listRuns"), { workspace: "default" })).toEqual({
      workspace: "default",
      state: "",
      node: "",
      limit: 0,
      cursor: "",
    });
  });
});

/** The findings of a refused input. */
function findings(service: Parameters<typeof operationOf>[0], method: string, input: unknown): unknown {
  try {
    validate(operationOf(service, method), input);
  } catch (thrown) {
    return (thrown as MeshError).details?.["errors"];
  }
  return undefined;
}

describe("messages", () => {
  test("an unknown field is named", () => {
    expect(findings("runs", "createRun", { workspace: "w", assistant: "a", nod: "x" })).toEqual([
      { field: "nod", message: "is not a known field" },
    ]);
  });

  test("an unknown field of an inner object is named with its path", () => {
    expect(findings("runs", "createRun", { workspace: "w", assistant: "a", requirements: { gpu: 1 } })).toEqual([
      { field: "requirements.gpu", message: "is not a known field" },
    ]);
  });

  test("a missing field, a wrong type and a bad label are reported at once", () => {
    const input = { assistant: "a", priority: "high", requirements: { labels: { "bad key!": "x" } } };
    expect(findings("runs", "createRun", input)).toEqual([
      { field: "workspace", message: "is required" },
      {
        field: "requirements.labels.bad key!",
        message: "is not a label name: use 1 to 63 letters, digits, dots, dashes, underscores or slashes",
      },
      { field: "priority", message: "must be a whole number from -100 to 100" },
    ]);
  });

  test("NUL is refused in text and anywhere in structs, since PostgreSQL cannot hold it", () => {
    expect(findings("runs", "createRun", { workspace: "w", assistant: "a", input: "a\u0000b" })).toEqual([
      { field: "input", message: "holds a NUL" },
    ]);
    expect(
      findings("runs", "createRun", { workspace: "w", assistant: "a", metadata: { a: [{ b: "\u0000" }] } }),
    ).toEqual([{ field: "metadata", message: "holds a NUL" }]);
  });

  test("a struct nested a hundred thousand levels deep is refused without a stack overflow", () => {
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`);
    expect(findings("runs", "createRun", { workspace: "w", assistant: "a", options: deep })).toEqual([
      { field: "options", message: "is nested deeper than 32 levels" },
    ]);
  });

  test("a prototype in disguise is an unknown field", () => {
    const input: unknown = JSON.parse('{"workspace":"w","assistant":"a","__proto__":{"x":1}}');
    expect(findings("runs", "createRun", input)).toEqual([{ field: "__proto__", message: "is not a known field" }]);
  });
});
