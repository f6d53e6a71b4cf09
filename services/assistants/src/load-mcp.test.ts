import { expect, test } from "vitest";

import { load } from "./testing/app-of.ts";

const SERVER = "mcps/s.mcp.yao";
const PROCESS = { transport: "process", tools: { t: "utils.now.Date" } };
const INPUT = { "mcps/mapping/s/schemes/t.in.yao": "{}" };

test("a server of the app and one of an assistant have their ids, their fields and what mapping says", () => {
  const { app, findings } = load({
    "mcps/deep/echo.mcp.yao": {
      label: "Echo",
      description: "Says it again",
      transport: "process",
      capabilities: { tools: { listChanged: false } },
      timeout: "30s",
      tools: { echo: "utils.fmt.Printf", plain: "utils.now.Date" },
      resources: { info: "utils.app.Inspect" },
      prompts: { ask: "utils.now.Time" },
    },
    "mcps/mapping/deep/echo/schemes/echo.in.yao": {
      type: "object",
      description: "Echoes",
      properties: { message: { type: "string" } },
      required: ["message"],
      "x-process-args": ["$args.message", ":arguments", 5],
    },
    "mcps/mapping/deep/echo/schemes/echo.out.yao": { type: "array", items: { type: "string" } },
    "mcps/mapping/deep/echo/schemes/echo.jsonl":
      '{"name": "one", "input": {"message": "hi"}, "output": "hi"}\r\n\r\n{"name": "two"}\n',
    "mcps/mapping/deep/echo/schemes/plain.in.yao": {
      name: "plain",
      description: "Whole tool",
      inputSchema: { type: "object", "x-process-args": [":arguments"] },
    },
    "mapping/deep/echo/resources/info.res.yao": {
      uri: "echo://info?check={check}",
      name: "Info",
      mimeType: "application/json",
      "x-process-args": ["$query.check"],
      schema: { type: "object" },
    },
    "mapping/deep/echo/resources/info.jsonl": '{"uri": "echo://info", "data": {"v": 1}}',
    "mapping/deep/echo/prompts/ask.pmt.yao": {
      description: "Asks",
      template: "Do {{ what }}",
      arguments: [{ name: "what", required: true }],
    },
    "assistants/a/mcps/tools.mcp.yao": {
      transport: "stdio",
      command: "python",
      arguments: ["s.py"],
      env: { K: "$ENV.K" },
    },
  });
  expect(findings).toEqual([]);
  expect([...app.mcpServers.keys()]).toEqual(["deep.echo", "agents.a.tools"]);
  expect(app.mcpServers.get("agents.a.tools")).toEqual({
    id: "agents.a.tools",
    path: "assistants/a/mcps/tools.mcp.yao",
    assistantId: "a",
    transport: "stdio",
    command: "python",
    arguments: ["s.py"],
    env: { K: "$ENV.K" },
    mapping: { tools: {}, resources: {}, prompts: {} },
  });
  const echo = app.mcpServers.get("deep.echo");
  expect(echo).toMatchObject({ label: "Echo", timeout: "30s", tools: { echo: "utils.fmt.Printf" } });
  expect(echo?.mapping).toEqual({
    tools: {
      echo: {
        input: {
          type: "object",
          description: "Echoes",
          properties: { message: { type: "string" } },
          required: ["message"],
        },
        output: { type: "array", items: { type: "string" } },
        processArgs: ["$args.message", ":arguments", 5],
        samples: [{ name: "one", input: { message: "hi" }, output: "hi" }, { name: "two" }],
      },
      plain: {
        input: { description: "Whole tool", type: "object" },
        processArgs: [":arguments"],
        samples: [],
      },
    },
    resources: {
      info: {
        uri: "echo://info?check={check}",
        name: "Info",
        mimeType: "application/json",
        schema: { type: "object" },
        processArgs: ["$query.check"],
        samples: [{ uri: "echo://info", data: { v: 1 } }],
      },
    },
    prompts: {
      ask: { description: "Asks", template: "Do {{ what }}", arguments: [{ name: "what", required: true }] },
    },
  });
});

test("old keys of a server do not get into the app", () => {
  const old = { id: "other", name: "N", tags: ["x"], enable_sampling: true, label: null, $schema: "s" };
  const { app } = load({ [SERVER]: { transport: "http", url: "http://x", ...old } });
  expect(app.mcpServers.get("s")).toEqual({
    id: "s",
    path: SERVER,
    transport: "http",
    url: "http://x",
    mapping: { tools: {}, resources: {}, prompts: {} },
  });
});

test("mapping names another folder, and mcps/mapping counts before mapping", () => {
  const { app, findings } = load({
    [SERVER]: { ...PROCESS, mapping: "mapping.other" },
    "mcps/mapping/other/schemes/t.in.yao": { description: "first" },
    "mapping/other/schemes/t.in.yao": { description: "second" },
  });
  expect(findings).toEqual([]);
  expect(app.mcpServers.get("s")?.mapping.tools["t"]?.input).toEqual({ description: "first" });
});

test("the folder of one server is not that of another whose name begins the same", () => {
  const { app } = load({
    "mcps/s.mcp.yao": PROCESS,
    "mcps/s-2.mcp.yao": PROCESS,
    "mcps/mapping/s/schemes/t.in.yao": { description: "s" },
    "mcps/mapping/s-2/schemes/t.in.yao": { description: "s-2" },
    "mcps/mapping/s/schemes/deeper/t.in.yao": { description: "deeper" },
  });
  const described = [...app.mcpServers.values()].map(({ id, mapping }) => [
    id,
    mapping.tools["t"]?.input["description"],
  ]);
  expect(described).toEqual([
    ["s-2", "s-2"],
    ["s", "s"],
  ]);
});

test.each<[server: unknown, findings: string[]]>([
  ["[]", ["error 1 a file of an MCP server must be an object"]],
  [{}, ['error 1 transport is missing: it must be "process" or "stdio" or "http" or "sse"']],
  [{ transport: "tcp" }, ['error 1 transport must be "process" or "stdio" or "http" or "sse", not "tcp"']],
  [{ transport: "process" }, ["warning 1 the server offers nothing: it has neither tools nor resources nor prompts"]],
  [{ transport: "process", tools: ["t"] }, ["error 1 tools must be an object, not a list"]],
  [{ transport: "process", tools: { t: 1 } }, ["error 1 tools.t must be text, not 1"]],
  [{ transport: "stdio" }, ["error 1 command is missing: say which program to start"]],
  [{ transport: "stdio", command: "x", arguments: "y" }, ['error 1 arguments must be a list of strings, not "y"']],
  [{ transport: "stdio", command: "x", env: { A: 1 } }, ["error 1 env.A must be text, not 1"]],
  [{ transport: "stdio", command: "x", tools: {} }, ["note 1 tools is not read: a stdio server lists its own"]],
  [{ transport: "http" }, ["error 1 url is missing: say where the server is"]],
  [{ transport: "http", url: "example.com" }, ["error 1 url must be an address such as https://example.com/mcp"]],
  [{ transport: "sse", url: "file:///etc/passwd" }, ["error 1 url must be an address such as https://example.com/mcp"]],
  [{ transport: "sse", url: "$ENV.URL" }, []],
  [
    { transport: "http", url: "http://x", authorization_token: "secret" },
    ["warning 1 authorization_token is written in the file; put it in $ENV.NAME, so that it stays out of the app"],
  ],
  [
    { transport: "http", url: "http://x", timeout: "soon" },
    ['error 1 timeout must be a duration such as 30s, not "soon"'],
  ],
  [
    { transport: "http", url: "http://x", timeout: -1 },
    ["error 1 timeout must be text or a number of at least 0, not -1"],
  ],
  [{ transport: "http", url: "http://x", timeout: 2.5 }, []],
  [{ transport: "http", url: "http://x", comand: "x" }, ["warning 1 unknown key comand; did you mean command?"]],
  [
    { transport: "http", url: "http://x", id: "i", enable_roots: true },
    [
      "note 1 enable_roots is not read: a server is shown no folders",
      "note 1 id is not read: the id of a server is the path of its file",
    ],
  ],
])("the server %j is told so", (server, expected) => {
  const { app, findings } = load({ [SERVER]: server });
  expect(findings).toEqual(
    expected.map((finding) =>
      finding.replace(/^(\w+) (\d+) /, (_, severity, line) => `${severity} ${SERVER}:${line} `),
    ),
  );
  expect(app.mcpServers.has("s")).toBe(!expected.some((finding) => finding.startsWith("error")));
});

test.each<[path: string, content: unknown, finding: string]>([
  ["schemes/t.in.yao", "[]", "error :1 the file must hold an object"],
  ["schemes/t.in.yao", "{", "error :1 not JSON: the file ends too early; a bracket is not closed"],
  ["schemes/t.in.yao", { type: "array" }, 'error :1 type must be "object", not "array"'],
  ["schemes/t.in.yao", { properties: [] }, "error :1 properties must be an object, not a list"],
  [
    "schemes/t.in.yao",
    '{"properties": {"a":\n{"type": "strng"}}}',
    'error :2 properties.a.type must be "string" or "number" or "integer" or "boolean" or "object" or "array" or "null" or a list of such words, not "strng"',
  ],
  ["schemes/t.in.yao", { required: "a" }, 'error :1 required must be a list of strings, not "a"'],
  [
    "schemes/t.in.yao",
    { inputSchema: { items: 1 } },
    "error :1 inputSchema.items must be true or false or an object or a list of values or objects, not 1",
  ],
  ["schemes/t.in.yao", { "x-process-args": "a" }, 'error :1 x-process-args must be a list of values, not "a"'],
  [
    "schemes/t.in.yao",
    { "x-process-args": [":argument", "$anything", ":uri"] },
    "warning :1 :argument stands for itself; known are :arguments, :uri, :parameters",
  ],
  ["schemes/t.jsonl", '{"name": "x"}\n\n{"name": 1}', "error :3 a sample.name must be text, not 1"],
  ["schemes/t.jsonl", '{"name": "x"}\n{"a": [}', "error :2 not JSON: a value is expected here"],
  ["schemes/t.jsonl", "[1]", "error :1 a sample must be an object, not a list"],
  ["schemes/t.jsonl", "{}\n".repeat(1001), "error :0 more than 1000 lines; split the file"],
  ["resources/r.res.yao", {}, "error :1 uri is missing: it must be text"],
  [
    "prompts/p.pmt.yao",
    { messages: [{ role: "robot", content: "x" }] },
    'error :1 messages.0.role must be "user" or "assistant" or "system", not "robot"',
  ],
])("of mapping, %s with %.60j is refused with its line", (name, content, finding) => {
  const path = `assistants/a/mcps/mapping/s/${name}`;
  const { app, findings } = load({
    "assistants/a/mcps/s.mcp.yao": {
      ...PROCESS,
      resources: { r: "utils.now.Date" },
      prompts: { p: "utils.now.Date" },
    },
    "assistants/a/mapping/s/schemes/t.in.yao": {},
    [path]: content,
  });
  expect(findings).toEqual([finding.replace(" :", ` ${path}:`)]);
  expect(app.assistants.has("a")).toBe(!finding.startsWith("error"));
});

test("what leads nowhere is reported where it is written", () => {
  const { findings } = load({
    "assistants/a/package.yao": `{
      "name": "A",
      "mcp": { "servers": [
        "ehco",
        {"server_id": "echo", "tools": ["pong", "ping"]},
        "far",
        {"registry": ["x"]},
      ] },
      "db": { "models": ["order", "__yao.role", "pet", "ghost"] },
      "uses": {
        "web": "mcp:echo.ping",
        "vision": "mcp:gone.look",
        "audio": "some.assistant",
      },
    }`,
    "assistants/a/models/order.mod.yao": { columns: [] },
    "assistants/a/src/tools.ts": "export function Do() {}",
    "models/pet.mod.yao": { columns: [] },
    "mcps/far.mcp.yao": { transport: "http", url: "https://x.example" },
    "mcps/registry/server.mcp.yao": { transport: "http", url: "https://x.example" },
    "mcps/echo.mcp.yao": `{
      "transport": "process",
      "tools": {
        "ping": "agents.a.tools.Do",
        "pull": "scripts.none.Do",
        "list": "models.agents.a.order.Get",
        "wipe": "models.cat.Get",
        "role": "models.__yao.role.Get"
      }
    }`,
    ...Object.fromEntries(
      ["ping", "pull", "list", "wipe", "past"].map((name) => [`mcps/mapping/echo/schemes/${name}.in.yao`, {}]),
    ),
    "mcps/mapping/gone/schemes/x.in.yao": {},
    "mcps/mapping/gone/schemes/y.in.yao": {},
    "mcps/mapping/notes.yao": "not read",
  });
  expect(findings).toEqual([
    "warning assistants/a/package.yao:4 this app has no MCP server ehco; did you mean echo?",
    "warning assistants/a/package.yao:5 mcps/echo.mcp.yao has no tool pong; did you mean ping?",
    "warning assistants/a/package.yao:7 this app has no MCP server registry; did you mean registry.server?",
    "warning assistants/a/package.yao:9 this app has no model ghost",
    "warning assistants/a/package.yao:12 this app has no MCP server gone.look; add the file or a server of the workspace",
    "warning mcps/echo.mcp.yao:0 mapping describes past, which is not among its tools",
    "warning mcps/echo.mcp.yao:5 tools.pull: there is no script scripts.none",
    "warning mcps/echo.mcp.yao:7 tools.wipe: this app has no model cat",
    "warning mcps/echo.mcp.yao:8 tools.role has no description: without mapping/…/schemes/role.in.yao the model has to guess its arguments",
    "warning mcps/mapping/gone/schemes/x.in.yao:0 no MCP server reads this: there is no mcps/gone.mcp.yao",
  ]);
});

test("names of objects' own members are no tools, servers or scripts", () => {
  const { app, findings } = load({
    [SERVER]: '{"transport": "process", "tools": {"constructor": "scripts.toString.valueOf", "t": "utils.now.Date"}}',
    ...INPUT,
  });
  expect(findings).toEqual([
    "warning mcps/s.mcp.yao:1 tools.constructor has no description: without mapping/…/schemes/constructor.in.yao the model has to guess its arguments",
    "warning mcps/s.mcp.yao:1 tools.constructor: there is no script scripts.toString",
  ]);
  expect(Object.keys(app.mcpServers.get("s")?.mapping.tools ?? {})).toEqual(["t"]);
});
