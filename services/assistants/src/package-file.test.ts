import { expect, test } from "vitest";

import type { Assistant } from "./assistant.ts";
import { load } from "./testing/app-of.ts";

const PATH = "assistants/a/package.yao";

function assistantWith(fields: object): { assistant: Assistant | undefined; findings: readonly string[] } {
  const { app, findings } = load({ [PATH]: { name: "A", ...fields } });
  return { assistant: app.assistants.get("a"), findings };
}

test("an assistant that says nothing but its name has these defaults", () => {
  const { assistant, findings } = assistantWith({});
  expect(findings).toEqual([]);
  expect(assistant).toEqual({
    id: "a",
    folder: "assistants/a",
    name: "A",
    description: "",
    type: "assistant",
    connectorOptions: { isOptional: false, connectors: [], filters: [] },
    tags: [],
    options: {},
    placeholder: { title: "", description: "", prompts: [] },
    disableGlobalPrompts: false,
    prompts: [],
    promptPresets: {},
    locales: {},
    isPublic: false,
    share: "private",
    readonly: false,
    isBuiltIn: false,
    mentionable: false,
    automated: false,
    sort: 0,
    modes: [],
    mcp: { servers: [] },
    uses: {},
    evalInputs: [],
    source: { name: "A" },
  });
});

test.each<[fields: object, expected: Partial<Assistant>]>([
  [{ type: "robot-host" }, { type: "robot-host" }],
  [{ avatar: "/x.png" }, { avatar: "/x.png" }],
  [{ connector: "$ENV.LLM" }, { connector: "$ENV.LLM" }],
  [
    { connector_options: { optional: true, connectors: ["x"], filters: ["vision"] } },
    { connectorOptions: { isOptional: true, connectors: ["x"], filters: ["vision"] } },
  ],
  [{ tags: ["x"] }, { tags: ["x"] }],
  [{ sort: -1.5 }, { sort: -1.5 }],
  [{ options: { temperature: 0.7, top_k: 3 } }, { options: { temperature: 0.7, top_k: 3 } }],
  [
    { placeholder: { title: "t", description: "d", prompts: ["p"] } },
    { placeholder: { title: "t", description: "d", prompts: ["p"] } },
  ],
  [{ public: true }, { isPublic: true }],
  [{ share: "team" }, { share: "team" }],
  [{ readonly: true }, { readonly: true }],
  [{ built_in: true }, { isBuiltIn: true }],
  [{ mentionable: true }, { mentionable: true }],
  [{ automated: true }, { automated: true }],
  [{ disable_global_prompts: true }, { disableGlobalPrompts: true }],
  [
    { modes: ["chat", "task"], default_mode: "task" },
    { modes: ["chat", "task"], defaultMode: "task" },
  ],
  [{ kb: { collections: ["c"], options: { top_k: 5 } } }, { kb: { collections: ["c"], options: { top_k: 5 } } }],
  [{ db: { models: ["__yao.role"] } }, { db: { models: ["__yao.role"], options: {} } }],
  [{ uses: { vision: "v", search: "disabled" } }, { uses: { vision: "v", search: "disabled" } }],
  [
    {
      search: {
        web: { provider: "p", max_results: 3 },
        kb: null,
        citation: { format: "[{index}]", custom_prompt: null },
      },
    },
    { search: { web: { provider: "p", max_results: 3 }, citation: { format: "[{index}]" } } },
  ],
  [
    { sandbox: { command: "c", image: "i", max_memory: "4g", max_cpu: 2, timeout: "5m", arguments: { max_turns: 3 } } },
    {
      sandbox: {
        computer: { image: "i", memory: "4g", cpus: 2 },
        runner: { name: "c", options: { max_turns: 3 } },
        timeout: "5m",
      },
    },
  ],
  [
    { mcp: { servers: [], options: { tool_loop: false, max_turn: 3, timeout: 30 } } },
    { mcp: { servers: [], hasToolLoop: false, maxTurns: 3, timeoutSeconds: 30 } },
  ],
  [{ $schema: "x.json", tags: null, placeholder: null, sandbox: null }, { tags: [] }],
])("%j is read without a finding", (fields, expected) => {
  const { assistant, findings } = assistantWith(fields);
  expect(findings).toEqual([]);
  expect(assistant).toMatchObject(expected);
});

test("an MCP server is named in each of four ways", () => {
  const names = ["one", "two", "three", "four", "five"];
  const tools = { t: "utils.now.Date" };
  const files = Object.fromEntries(names.map((name) => [`mcps/${name}.mcp.yao`, { transport: "process", tools }]));
  const schemas = Object.fromEntries(names.map((name) => [`mcps/mapping/${name}/schemes/t.in.yao`, {}]));
  const servers = [
    "one",
    { server_id: "two", tools: ["t"], resources: ["uri://*"] },
    { three: ["t"] },
    { four: { tools: ["t"], resources: [] }, five: {} },
  ];
  const { app, findings } = load({ ...files, ...schemas, [PATH]: { name: "A", mcp: { servers } } });
  expect(findings).toEqual([]);
  expect(app.assistants.get("a")?.mcp.servers).toEqual([
    { serverId: "one" },
    { serverId: "two", tools: ["t"], resources: ["uri://*"] },
    { serverId: "three", tools: ["t"] },
    { serverId: "four", tools: ["t"], resources: [] },
    { serverId: "five" },
  ]);
});

test.each<[fields: object, finding: string]>([
  [{ name: 1 }, "error name must be text, not 1"],
  [{ type: [] }, "error type must be text, not a list"],
  [{ avatar: 1 }, "error avatar must be text, not 1"],
  [{ description: {} }, "error description must be text, not an object"],
  [{ connector: ["x"] }, "error connector must be text, not a list"],
  [{ connector_options: [] }, "error connector_options must be an object, not a list"],
  [{ connector_options: { optional: "yes" } }, 'error connector_options.optional must be true or false, not "yes"'],
  [
    { connector_options: { filters: ["vison"] } },
    'warning connector_options.filters.0 is "vison", which is not known here; did you mean "vision"?',
  ],
  [
    { connector_options: { connector: [] } },
    "warning unknown key connector_options.connector; did you mean connector_options.connectors?",
  ],
  [{ tags: ["x", null] }, "error tags must be a list of strings: item 2 is empty"],
  [{ sort: "1" }, 'error sort must be a number, not "1"'],
  [{ options: { temperature: "0.7" } }, 'error options.temperature must be a number, not "0.7"'],
  [{ options: { max_tokens: -1 } }, "error options.max_tokens must be a whole number of at least 0, not -1"],
  [{ options: { max_tokens: 1.5 } }, "error options.max_tokens must be a whole number of at least 0, not 1.5"],
  [{ options: { stop: 1 } }, "error options.stop must be text or a list of strings, not 1"],
  [{ placeholder: { prompts: "x" } }, 'error placeholder.prompts must be a list of strings, not "x"'],
  [{ public: 1 }, "error public must be true or false, not 1"],
  [{ share: "everybody" }, 'error share must be "private" or "team", not "everybody"'],
  [{ readonly: "x" }, 'error readonly must be true or false, not "x"'],
  [{ built_in: 0 }, "error built_in must be true or false, not 0"],
  [{ mentionable: [] }, "error mentionable must be true or false, not a list"],
  [{ automated: {} }, "error automated must be true or false, not an object"],
  [{ disable_global_prompts: "" }, 'error disable_global_prompts must be true or false, not ""'],
  [{ modes: "chat" }, 'error modes must be a list of strings, not "chat"'],
  [{ default_mode: 1 }, "error default_mode must be text, not 1"],
  [{ modes: ["chat"], default_mode: "task" }, "warning default_mode is none of modes (chat)"],
  [{ mcp: [] }, "error mcp must be an object, not a list"],
  [{ mcp: { servers: "x" } }, 'error mcp.servers must be a list of strings or objects, not "x"'],
  [{ mcp: { servers: [{ server_id: 1 }] } }, "error mcp.servers.0.server_id must be text, not 1"],
  [{ mcp: { servers: [{ x: 1 }] } }, "error mcp.servers.0.x must be a list of strings or an object, not 1"],
  [{ mcp: { options: { max_turn: 0 } } }, "error mcp.options.max_turn must be a whole number of at least 1, not 0"],
  [{ mcp: { server: [] } }, "warning unknown key mcp.server; did you mean mcp.servers?"],
  [{ kb: { collections: "x" } }, 'error kb.collections must be a list of strings, not "x"'],
  [{ db: { models: {} } }, "error db.models must be a list of strings, not an object"],
  [{ db: [] }, 'note db is a list, which is not read: write {"models": […]}'],
  [{ uses: { vison: "x" } }, "warning unknown key uses.vison; did you mean uses.vision?"],
  [{ uses: { vision: {} } }, "error uses.vision must be text, not an object"],
  [
    { search: { web: { max_results: "9" } } },
    'error search.web.max_results must be a whole number of at least 0, not "9"',
  ],
  [{ search: { kb: { threshold: 2 } } }, "error search.kb.threshold must be a number from 0 to 1, not 2"],
  [{ search: { citations: {} } }, "warning unknown key search.citations; did you mean search.citation?"],
  [{ sandbox: { max_cpu: "2" } }, 'error sandbox.max_cpu must be a number of at least 0, not "2"'],
  [{ naem: "x" }, "warning unknown key naem; did you mean name?"],
  [{ hooks: {} }, "note hooks is not read: hooks are the functions of src/index.ts"],
  [{ dependencies: [] }, "note dependencies is not read: an app brings all it needs"],
  [{ workflow: 1 }, "note workflow is not read"],
  [{ capabilities: [] }, "note capabilities is not read: a connector says what its model can do"],
  [{ version: 2 }, "note version is not read: versions are counted when an app is pushed"],
])("%j is reported", (fields, finding) => {
  const [severity = "", ...message] = finding.split(" ");
  const { assistant, findings } = assistantWith(fields);
  expect(findings).toEqual([`${severity} ${PATH}:1 ${message.join(" ")}`]);
  expect(assistant === undefined).toBe(severity === "error");
});

test("sandbox.yao counts before the older object, and says so", () => {
  const sandbox = {
    version: "2.0",
    computer: { image: "i", ports: [80], vnc: { enabled: true } },
    runner: { name: "r", connectors: { vision: "v", heavy: { connector: "h", override: "force" } } },
    prepare: [{ action: "exec", cmd: "x", once: true }],
    secrets: { A: "$ENV.A", B: { value: "$ENV.B", required: true } },
    environment: { C: "c" },
    filter: { kind: "box" },
  };
  const { app, findings } = load({
    [PATH]: { name: "A", sandbox: { command: "old" } },
    "assistants/a/sandbox.yao": sandbox,
  });
  expect(findings).toEqual(["note assistants/a/sandbox.yao:0 this file counts, and sandbox in package.yao does not"]);
  const { version: _, ...config } = sandbox;
  expect(app.assistants.get("a")?.sandbox).toEqual(config);
});

test.each<[sandbox: unknown, message: string]>([
  [[], "sandbox.yao must be an object"],
  [{}, 'version is missing: it must be "2.0"'],
  [{ version: "1.0" }, 'version must be "2.0", not "1.0"'],
  [
    { version: "2.0", lifecycle: "forever" },
    'lifecycle must be "oneshot" or "session" or "longrunning" or "persistent", not "forever"',
  ],
  [
    { version: "2.0", prepare: [{ action: "run" }] },
    'prepare.0.action must be "copy" or "exec" or "file" or "process", not "run"',
  ],
  [
    { version: "2.0", computer: { ports: [80, { port: 1 }] } },
    "computer.ports must be a list of numbers or a list of objects",
  ],
])("the sandbox %j is refused", (sandbox, message) => {
  const { app, findings } = load({ "assistants/a/sandbox.yao": sandbox });
  expect(findings).toHaveLength(1);
  expect(findings[0]).toContain(`error assistants/a/sandbox.yao:1 ${message}`);
  expect(app.assistants.has("a")).toBe(false);
});
