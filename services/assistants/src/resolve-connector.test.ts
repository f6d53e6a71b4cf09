import { expect, test } from "vitest";

import { envNamesOfAssistant, envNamesOfConnector } from "./env-names.ts";
import { loadApp } from "./load-app.ts";
import {
  DEMO_CONNECTOR,
  type ResolvedConnector,
  resolveConnector,
  type WorkspaceConnector,
} from "./resolve-connector.ts";

interface Setup {
  /** The assistant's connector field. */
  readonly named?: string;
  readonly requested?: string;
  readonly connectors?: Readonly<Record<string, object>>;
  readonly workspace?: Readonly<Record<string, WorkspaceConnector>>;
  readonly settings?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const gpt = { type: "openai", options: { model: "gpt-4o", key: "$ENV.OPENAI_API_KEY", temperature: 0 } };
const plain = { type: "openai", options: { model: "m", key: "none" } };
const ready: WorkspaceConnector = { type: "openai", model: "m", key: "k" };

function load({ named, connectors = {}, settings = "" }: Setup): ReturnType<typeof loadApp>["app"] {
  const files = {
    "assistants/a/package.yao": JSON.stringify({ name: "A", ...(named === undefined ? {} : { connector: named }) }),
    "assistants/a/prompts.yml": "- role: system\n  content: $ENV.TONE $ENV.TONE $CTX.X\n",
    "agent/agent.yml": settings,
    ...Object.fromEntries(
      Object.entries(connectors).map(([id, body]) => [`connectors/${id}.conn.yao`, JSON.stringify(body)]),
    ),
  };
  const encoder = new TextEncoder();
  const { app, problems } = loadApp(new Map(Object.entries(files).map(([path, text]) => [path, encoder.encode(text)])));
  expect(problems.filter((problem) => problem.severity === "error")).toEqual([]);
  return app;
}

function resolve(setup: Setup): ResolvedConnector {
  const app = load(setup);
  return resolveConnector({
    app,
    workspaceConnectors: new Map(Object.entries(setup.workspace ?? {})),
    assistant: app.assistants.get("a")!,
    ...(setup.requested === undefined ? {} : { requested: setup.requested }),
    env: (name) => (setup.env !== undefined && Object.hasOwn(setup.env, name) ? setup.env[name] : undefined),
  });
}

test.each<[name: string, setup: Setup, id: string]>([
  ["the call's choice before the assistant's", { named: "x", requested: "y", connectors: { x: plain, y: plain } }, "y"],
  ["the assistant's", { named: "x", connectors: { x: plain } }, "x"],
  ["the app's default", { settings: "system:\n  default: x", connectors: { x: plain }, workspace: { w: ready } }, "x"],
  ["the workspace's only one", { workspace: { w: ready }, connectors: { x: plain } }, "w"],
  ["the built-in one when nothing is configured", {}, "demo"],
  ["the built-in one by its name", { named: "demo", workspace: { w: ready } }, "demo"],
  ["one named by a variable", { named: "$ENV.LLM", env: { LLM: "x" }, connectors: { x: plain } }, "x"],
  [
    "a role's",
    { named: "use::light", settings: "system:\n  light: x\n  default: y", connectors: { x: plain, y: plain } },
    "x",
  ],
  [
    "the default role's for a role without one",
    { named: "use::light", settings: "system: {default: y}", connectors: { y: plain } },
    "y",
  ],
  ["the built-in one for a role of an app without settings", { named: "use::default" }, "demo"],
  [
    "a role asked for by the call",
    { named: "x", requested: "use::light", settings: "system: {light: y}", connectors: { y: plain } },
    "y",
  ],
  [
    "a setting that is a variable",
    { settings: "system: {default: $ENV.LLM}", env: { LLM: "x" }, connectors: { x: plain } },
    "x",
  ],
])("the connector is %s", (_name, setup, id) => {
  expect(resolve(setup).id).toBe(id);
});

test("a file's variables are resolved, and what is left of its options is kept", () => {
  const connectors = {
    x: {
      type: "openai",
      options: { model: "$ENV.M", proxy: "https://$ENV.H/v1", key: "$ENV.K", temperature: 1, note: "$ENV.N" },
    },
  };
  expect(resolve({ named: "x", connectors, env: { M: "big", H: "api.example.com", K: "secret" } })).toEqual({
    id: "x",
    type: "openai",
    model: "big",
    host: "https://api.example.com/v1",
    key: "secret",
    options: { temperature: 1, note: "$ENV.N" },
  });
});

test("host wins over proxy, its old name", () => {
  const connectors = {
    x: { type: "openai", options: { model: "m", key: "none", host: "http://a", proxy: "http://b" } },
  };
  expect(resolve({ named: "x", connectors }).host).toBe("http://a");
});

test("a workspace's connector fills in and overrides the file of the same id", () => {
  const workspace = { gpt: { type: "", model: "", host: "http://local", key: "stored", options: { temperature: 1 } } };
  expect(resolve({ named: "gpt", connectors: { gpt }, workspace })).toEqual({
    id: "gpt",
    type: "openai",
    model: "gpt-4o",
    host: "http://local",
    key: "stored",
    options: { temperature: 1 },
  });
});

test("the built-in connector needs no file and no key", () => {
  expect(resolve({})).toEqual(DEMO_CONNECTOR);
  const connectors = { demo: { type: "demo", options: { model: "other", pace: 2 } } };
  expect(resolve({ named: "demo", connectors })).toEqual({
    id: "demo",
    type: "demo",
    model: "other",
    options: { pace: 2 },
  });
});

test.each<[name: string, setup: Setup, message: string]>([
  [
    "C1: a connector of the assistant that does not exist",
    { named: "gpt-5", connectors: { gpt }, workspace: { w: ready } },
    'connector "gpt-5" of assistant a does not exist; there are demo, gpt, w: add it with “yao connector add gpt-5 --type openai --model NAME --key-env NAME_API_KEY”',
  ],
  [
    "C1: a connector of the call that does not exist",
    { named: "gpt", requested: "nope", connectors: { gpt } },
    'connector "nope" does not exist; there are demo, gpt: add it with “yao connector add nope --type openai --model NAME --key-env NAME_API_KEY”',
  ],
  [
    "C2: a variable that names what does not exist",
    { named: "$ENV.LLM", env: { LLM: "sk-pasted-by-mistake" } },
    "the connector that $ENV.LLM names for assistant a does not exist; there are demo: add it with “yao connector add ID --type openai --model NAME --key-env NAME_API_KEY”",
  ],
  [
    "a connector variable without a value",
    { named: "$ENV.DEFAULT_LLM" },
    "assistant a takes its connector from $ENV.DEFAULT_LLM, which has no value: set DEFAULT_LLM to the id of a connector, such as openai.gpt-4o",
  ],
  [
    "a default variable without a value",
    { named: "use::default", settings: "system: {default: $ENV.DEFAULT_LLM}" },
    "system.default of agent/agent.yml takes its connector from $ENV.DEFAULT_LLM, which has no value: set DEFAULT_LLM to the id of a connector, such as openai.gpt-4o",
  ],
  [
    "a key variable without a value",
    { named: "gpt", connectors: { gpt } },
    "connector gpt takes its key from $ENV.OPENAI_API_KEY, which has no value: set OPENAI_API_KEY, or run “yao connector add gpt --key-env OPENAI_API_KEY”",
  ],
  [
    "a host variable without a value",
    {
      named: "x",
      connectors: { x: { type: "openai", options: { model: "m", key: "none", proxy: "$ENV.OLLAMA_HOST" } } },
    },
    "connector x takes its host from $ENV.OLLAMA_HOST, which has no value: set OLLAMA_HOST, or run “yao connector add x --host URL”",
  ],
  [
    "a connector without a key",
    { named: "openai.x", connectors: { "openai.x": { type: "openai", options: { model: "m" } } } },
    "connector openai.x has no key: run “yao connector add openai.x --key-env OPENAI_API_KEY”; a server that needs none takes any text",
  ],
  [
    "a workspace's connector without a model",
    { named: "w", workspace: { w: { type: "openai", key: "k" } } },
    "connector w has no model: run “yao connector add w --model NAME”",
  ],
  [
    "a workspace's connector without a type",
    { named: "w", workspace: { w: { model: "m", key: "k" } } },
    "connector w has no type: run “yao connector add w --type openai”",
  ],
  [
    "no choice among several",
    { workspace: { w: ready, v: ready } },
    'assistant a names no connector and the workspace has several (v, w): set "connector" in its package.yao, or system.default in agent/agent.yml',
  ],
])("%s says what to do", (_name, setup, message) => {
  expect(() => resolve(setup)).toThrow(expect.objectContaining({ name: "MeshError", message }));
});

test("an id as long as a book is not repeated in full", () => {
  expect(() => resolve({ requested: "x".repeat(100_000) })).toThrow(
    expect.objectContaining({ message: expect.not.stringContaining("x".repeat(200)) }),
  );
});

test("the variables that a run may read are listed, each once", () => {
  const app = load({ named: "$ENV.LLM", settings: "system: {default: $ENV.DEFAULT_LLM}", connectors: { gpt } });
  expect(envNamesOfAssistant(app, "a")).toEqual(["DEFAULT_LLM", "LLM", "TONE"]);
  expect(envNamesOfAssistant(app, "none")).toEqual([]);
  expect(envNamesOfConnector(app.connectors.get("gpt")!)).toEqual(["OPENAI_API_KEY"]);
  expect(envNamesOfConnector({ options: { note: "$ENV.NOT_READ", host: "http://$ENV.H" } })).toEqual(["H"]);
});
