/** The app the blocks of the documents run in: every agent, connector, server, script and model they name. */

import { assistant } from "../../services/runtime/src/testing/app-run.ts";
import type { Block } from "./spec-document.ts";

const CONNECTORS = ["claude-3", "claude-3-haiku", "claude-3-opus", "gemini-pro", "gpt-4o", "gpt-4o-mini"];

const AGENTS =
  "agent-1 agent-2 analyzer assistant-id audio-agent backup.claude backup.gpt4 calc.agent fallback.agent fast.agent kb.business kb.legal kb.technical primary.agent search.agent slow.agent specialist.agent specialist.analyzer summarizer transfer.agent translate.agent vision-agent".split(
    " ",
  );

interface Server {
  readonly tools: readonly string[];
  readonly resources?: Readonly<Record<string, string>>;
  readonly prompts?: readonly string[];
}

const SERVERS: Readonly<Record<string, Server>> = {
  "server-id": {
    tools: ["search", "tool-name", "tool1", "tool2", "step1", "step2", "api1", "api2"],
    resources: { some: "resource://uri", user: "data://users/{id}" },
    prompts: ["prompt-name", "system"],
  },
  server1: { tools: ["search"] },
  server2: { tools: ["fetch", "analyze"] },
  server3: { tools: ["analyze"] },
  primary: { tools: ["search", "fetch"] },
  backup: { tools: ["search", "fetch"] },
  "search-primary": { tools: ["search"] },
  "search-backup": { tools: ["search"] },
  "region-us": { tools: ["ping"] },
  "region-eu": { tools: ["ping"] },
  "region-asia": { tools: ["ping"] },
  echo: {
    tools: ["echo", "ping", "status"],
    resources: { info: "echo://info" },
    prompts: ["test_connection"],
  },
  tools: { tools: ["search", "calculate", "tool1", "tool2", "fail"] },
  data: { tools: ["query"], resources: { users: "data://users/*", reports: "data://reports" } },
  resources: { tools: ["query"], resources: { some: "uri://pattern" } },
  calculator: { tools: ["add", "multiply", "calculate"] },
  search_engine: { tools: ["search"] },
  websearch: { tools: ["search"] },
  fetcher: { tools: ["fetch"] },
  tool: { tools: ["method"] },
};

const SCRIPTS: Readonly<Record<string, string>> = {
  "scripts/answer.ts": `
    export function Search(args: any) { return { items: [{ title: "Found", url: "https://example.com", content: String(args.query ?? args.q ?? args.keyword), score: 1 }] }; }
    export function Echo(args: any) { return { echo: args.message }; }
    export function Ping() { return { message: "pong" }; }
    export function Status() { return { status: "online", uptime: 3600 }; }
    export function Method() { return [1, 2, 3]; }
    export function Any(args: any) { return { ...args, field: "value" }; }
    export function Fail() { throw new Error("it broke"); }
    export function Resource(uri: any) { return { of: uri }; }`,
  "scripts/tools.ts": "export function Search(args: any) { return { items: [], asked: args }; }",
  "scripts/math.ts": `
    export function Add(args: any) { return args.a + args.b; }
    export function Multiply(args: any) { return args.a * args.b; }`,
};

const PROCESS: Readonly<Record<string, string>> = {
  add: "scripts.math.Add",
  multiply: "scripts.math.Multiply",
  fail: "scripts.answer.Fail",
  search: "scripts.answer.Search",
  echo: "scripts.answer.Echo",
  ping: "scripts.answer.Ping",
  status: "scripts.answer.Status",
  method: "scripts.answer.Method",
};

function serverFiles(id: string, { tools, resources = {}, prompts = [] }: Server): Readonly<Record<string, string>> {
  const files: Record<string, unknown> = {
    [`mcps/${id}.mcp.yao`]: {
      label: id,
      transport: "process",
      tools: Object.fromEntries(tools.map((tool) => [tool, PROCESS[tool] ?? "scripts.answer.Any"])),
      resources: Object.fromEntries(Object.keys(resources).map((name) => [name, "scripts.answer.Resource"])),
      prompts: Object.fromEntries(prompts.map((name) => [name, ""])),
    },
  };
  for (const tool of tools) {
    const schema = { type: "object", description: `The tool ${tool}`, "x-process-args": [":arguments"] };
    files[`mapping/${id}/schemes/${tool}.in.yao`] = schema;
  }
  for (const [name, uri] of Object.entries(resources)) {
    files[`mapping/${id}/resources/${name}.res.yao`] = { uri, name, description: name, "x-process-args": [":uri"] };
  }
  for (const name of prompts) {
    files[`mapping/${id}/prompts/${name}.pmt.yao`] = { description: name, template: `Be {{ role }}, ${name}.` };
  }
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [path, JSON.stringify(content)]));
}

/** Models that the documents name and do not define. */
const MODELS: Readonly<Record<string, unknown>> = {
  "models/model/name.mod.yao": {
    name: "Name",
    columns: [
      { name: "id", type: "ID" },
      { name: "title", type: "string" },
      { name: "status", type: "string", nullable: true },
    ],
  },
  "models/another/model.mod.yao": { name: "Another", columns: [{ name: "id", type: "ID" }] },
  "models/data.mod.yao": {
    name: "Data",
    columns: [
      { name: "id", type: "ID" },
      { name: "title", type: "string" },
    ],
  },
  "assistants/my-assistant/models/item.mod.yao": {
    name: "Item",
    columns: [
      { name: "id", type: "ID" },
      { name: "order_id", type: "bigInteger", index: true },
      { name: "name", type: "string" },
    ],
  },
  "assistants/my-assistant/models/customer.mod.yao": {
    name: "Customer",
    columns: [
      { name: "id", type: "string", primary: true, length: 40 },
      { name: "name", type: "string" },
    ],
  },
};

/** The app's files; the models and scripts that `models.md` shows are taken from its blocks. */
export function fixtureFiles(modelBlocks: readonly Block[]): Readonly<Record<string, string>> {
  const files: Record<string, string> = {
    ...SCRIPTS,
    "agent/agent.yml": "system:\n  default: gpt-4o\nuses:\n  search: mcp:websearch\n",
    "mapping/echo/schemes/ping.jsonl": '{"name": "one", "input": {"count": 1}, "output": {"message": "pong"}}\n',
  };
  for (const id of CONNECTORS) {
    const connector = { label: id, type: "openai", options: { model: id, key: "$ENV.KEY" } };
    files[`connectors/${id}.conn.yao`] = JSON.stringify(connector);
  }
  for (const id of AGENTS) Object.assign(files, assistant(id, { prompt: `You are ${id}.` }));
  for (const [id, server] of Object.entries(SERVERS)) Object.assign(files, serverFiles(id, server));
  for (const [path, model] of Object.entries(MODELS)) files[path] = JSON.stringify(model);
  Object.assign(files, assistant("my-assistant", {}), assistant("inventory", {}));
  for (const [name, path] of MODEL_BLOCKS) {
    const block = modelBlocks.find((each) => each.name === name);
    if (block !== undefined) files[path] = block.code;
  }
  // Named as a tool, and shown nowhere.
  files[ORDERS] = `${files[ORDERS] ?? ""}\nexport function Query(query: any) { return ListPending(); }\n`;
  return files;
}

const ORDERS = "assistants/my-assistant/src/orders.ts";

/** Where the files stand that `models.md` shows. */
const MODEL_BLOCKS: ReadonlyMap<string, string> = new Map([
  ["models:25", "assistants/my-assistant/models/order.mod.yao"],
  ["models:149", ORDERS],
  ["models:295", "assistants/inventory/models/product.mod.yao"],
  ["models:326", "assistants/inventory/src/stock.ts"],
]);

/** An assistant that holds a program of the documents, with the presets and servers they choose from. */
export function programFiles(id: string, hooks: string, parts: { readonly hasModel: boolean }): Record<string, string> {
  const folder = `assistants/${id.replaceAll(".", "/")}`;
  const files = {
    ...assistant(id, { hooks, package: parts.hasModel ? { mcp: { servers: ["tools", "calculator"] } } : {} }),
  };
  if (!parts.hasModel) return files;
  for (const preset of ["task", "chinese", "search/assistant"]) {
    files[`${folder}/prompts/${preset}.yml`] = `- role: system\n  content: The preset ${preset.replace("/", ".")}\n`;
  }
  return { ...files, [`${folder}/prompts.yml`]: "- role: system\n  content: The assistant of the documents\n" };
}
