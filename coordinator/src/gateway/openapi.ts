/** The OpenAPI 3.1 document: inputs from the schemas that guard the operations, answers from the wire contract. */

import { type ContractField, readContract, type ValueType } from "@mesh/rpc";
import { z } from "zod";

import { takesKey } from "./idempotency.ts";
import { OTHER_PATHS, OTHER_SCHEMAS } from "./openapi-other.ts";
import { type Operation, OPERATIONS } from "./operations.ts";
import { pathFields } from "./operation-row.ts";

type Schema = Readonly<Record<string, unknown>>;

const TITLES: Readonly<Record<Operation["service"], string>> = {
  nodes: "Nodes",
  runs: "Runs",
  workspaces: "Workspaces",
  apps: "Apps and assistants",
  connectors: "Connectors",
  tokens: "Tokens",
  system: "System",
  accounts: "Accounts",
  agents: "Agents",
  feed: "Feed",
  files: "Files",
  documents: "Documents",
  boards: "Boards",
  tasks: "Tasks",
  inbox: "Inbox",
  chats: "Chats",
  webhooks: "Webhooks",
  evals: "Evals",
};

const PROBLEM: Schema = {
  type: "object",
  required: ["type", "title", "status", "detail", "code", "request_id"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string", description: "What happened and what to do." },
    code: { type: "string", description: "The gRPC canonical code in snake case." },
    request_id: { type: "string" },
    errors: {
      type: "array",
      items: { type: "object", properties: { field: { type: "string" }, message: { type: "string" } } },
    },
    details: { type: "object", additionalProperties: true },
  },
};

/** Builds the document once; `version` is that of the coordinator. */
export function openApiDocument(version: string): Schema {
  const contract = readContract();
  const responses = new Map(contract.methods.map(({ name, response }) => [name, response]));
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of OPERATIONS) {
    const item = (paths[operation.path] ??= {});
    const verb = operation.verb.toLowerCase();
    if (operation.streaming) continue;
    item[verb] = describe(operation, responses.get(operation.method) ?? "");
  }
  for (const operation of OPERATIONS.filter(({ streaming }) => streaming)) {
    const item = (paths[operation.path] ??= {});
    const verb = operation.verb.toLowerCase();
    // Most streams share their path with a page of the same; the Accept header chooses.
    if (operation.method === "downloadFile") item[verb] = describeDownload(operation);
    else if (item[verb] === undefined) item[verb] = describeStream(operation, responses.get(operation.method) ?? "");
    else addEventStream(item[verb], operation.service);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Yao Mesh", version, description: "Devices, workspaces, assistants and runs of one mesh." },
    security: [{ token: [] }],
    tags: [...Object.values(TITLES), "OpenAI"].map((name) => ({ name })),
    paths: { ...paths, ...OTHER_PATHS },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: {
        ...Object.fromEntries([...contract.messages].map(([name, fields]) => [name, messageSchema(fields)])),
        ...OTHER_SCHEMAS,
        // `Problem` is a message of the contract: a finding in an app. The error body has a name of its own.
        ErrorProblem: PROBLEM,
      },
    },
  };
}

const ACCEPT_LANGUAGE = {
  name: "Accept-Language",
  in: "header",
  required: false,
  description: "The language wanted most becomes `locale` of the metadata, where that names none.",
  schema: { type: "string" },
};

/** A stream of events with a path of its own. */
function describeStream(operation: Operation, response: string): Schema {
  const described = describe(operation, response);
  const content = {
    "text/event-stream": { schema: { type: "string", description: `Each event's data is a ${response}.` } },
  };
  const answers = described["responses"] as Readonly<Record<string, object>>;
  return { ...described, responses: { ...answers, 200: { description: "Done.", content } } };
}

function describe(operation: Operation, response: string): Schema {
  const { properties, required } = inputSchema(operation);
  const inPath = pathFields(operation.path);
  const rest = Object.entries(properties).filter(([name]) => !inPath.includes(name));
  const isQuery = operation.verb === "GET" || operation.verb === "DELETE";
  const parameters = [
    ...inPath.map((name) => ({ name, in: "path", required: true, schema: properties[name] })),
    ...(isQuery ? rest : rest.filter(([name]) => operation.rawBody !== undefined && name !== operation.rawBody)).map(
      ([name, schema]) => ({ name, in: "query", required: false, schema }),
    ),
    ...(!takesKey(operation)
      ? []
      : [{ name: "Idempotency-Key", in: "header", required: false, schema: { type: "string", maxLength: 200 } }]),
    ...(operation.localeField === undefined ? [] : [ACCEPT_LANGUAGE]),
  ];
  return {
    operationId: operation.method,
    summary: operation.summary,
    tags: [TITLES[operation.service]],
    ...(operation.scope === "none" ? { security: [] } : { "x-scope": operation.scope }),
    // Tokens that are limited to assistants may call it.
    ...(operation.knowsAssistants === true ? { "x-assistant-tokens": true } : {}),
    parameters,
    ...(isQuery ? {} : { requestBody: requestBody(operation, rest, required) }),
    responses: {
      [operation.successStatus]: {
        description: "Done.",
        content: { "application/json": { schema: { $ref: `#/components/schemas/${response}` } } },
      },
      default: {
        description: "Refused or failed.",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/ErrorProblem" } } },
      },
    },
  };
}

/** The bytes themselves, with what HTTP says about contents. */
function describeDownload(operation: Operation): Schema {
  const bytes = { "*/*": { schema: { type: "string", format: "binary" } } };
  const { responses, ...described } = describe(operation, "") as {
    readonly responses: Readonly<Record<string, unknown>>;
  };
  const header = (name: string): Schema => ({ name, in: "header", required: false, schema: { type: "string" } });
  const parameters = (described as { readonly parameters?: readonly Schema[] }).parameters ?? [];
  return {
    ...described,
    parameters: [...parameters, header("Range"), header("If-Range"), header("If-None-Match")],
    responses: {
      200: { description: "The file, with its media type; the ETag is its hash.", content: bytes },
      206: { description: "The range that was asked for.", content: bytes },
      304: { description: "The file is still the one with that ETag." },
      default: responses["default"],
    },
  };
}

function requestBody(operation: Operation, fields: readonly [string, unknown][], required: readonly string[]): Schema {
  if (operation.rawBody !== undefined) {
    return {
      required: true,
      content: { "application/octet-stream": { schema: { type: "string", format: "binary" } } },
    };
  }
  const names = fields.map(([name]) => name);
  const needed = required.filter((name) => names.includes(name));
  const schema = {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(needed.length === 0 ? {} : { required: needed }),
    additionalProperties: false,
  };
  return { required: needed.length > 0, content: { "application/json": { schema } } };
}

function inputSchema(operation: Operation): { properties: Record<string, unknown>; required: readonly string[] } {
  const schema = z.toJSONSchema(operation.input, { io: "input", unrepresentable: "any" });
  return { properties: { ...schema.properties }, required: schema.required ?? [] };
}

function messageSchema(fields: readonly ContractField[]): Schema {
  const required = fields.filter(({ optional }) => !optional).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(field)])),
    ...(required.length === 0 ? {} : { required }),
  };
}

function fieldSchema({ type, shape }: ContractField): Schema {
  const value = valueSchema(type);
  if (shape === "list") return { type: "array", items: value };
  return shape === "map" ? { type: "object", additionalProperties: value } : value;
}

const SCHEMAS: Readonly<Record<Exclude<ValueType["kind"], "message">, Schema>> = {
  string: { type: "string" },
  boolean: { type: "boolean" },
  bytes: { type: "string", format: "byte" },
  struct: { type: "object", additionalProperties: true },
  integer: { type: "integer" },
  unsigned: { type: "integer", minimum: 0 },
  double: { type: "number" },
};

function valueSchema(type: ValueType): Schema {
  return type.kind === "message" ? { $ref: `#/components/schemas/${type.message}` } : SCHEMAS[type.kind];
}

const STREAMED: Partial<Readonly<Record<Operation["service"], string>>> = {
  runs: "event the kind, data a RunEvent",
  feed: "event the kind, data a FeedEvent",
  evals:
    "event is result and data an EvalResult, or event is eval and data an Eval; the last one is the eval as it has ended",
};

/** The page and the stream of events share a path; the Accept header chooses. */
function addEventStream(page: unknown, service: Operation["service"]): void {
  const { responses } = page as { readonly responses: Record<string, { description: string; content: object }> };
  const ok = responses["200"];
  if (ok !== undefined) {
    const description = `With Accept: text/event-stream, events as they happen: id is the seq, ${STREAMED[service] ?? ""}.`;
    ok.content = { ...ok.content, "text/event-stream": { schema: { type: "string", description } } };
  }
  if (service !== "feed") {
    responses["204"] = { description: "It has ended and the cursor stands at its end.", content: {} };
  }
}
