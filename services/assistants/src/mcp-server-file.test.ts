import { expect, test } from "vitest";

import { envNamesOfAssistant, envNamesOfMcpServer } from "./env-names.ts";
import { findMcpServer, findMcpUse, resolveMcpServer } from "./mcp-server-file.ts";
import { mcpServerRefs } from "./mcp-server-ref.ts";
import { searchConfigOf, usesOf } from "./search-config.ts";
import { load } from "./testing/app-of.ts";

const http = (url: string): object => ({ transport: "http", url });

test("a name means the assistant's own server, then the app's, and a full id always works", () => {
  const { app } = load({
    "assistants/a/mcps/tools.mcp.yao": http("http://own"),
    "mcps/tools.mcp.yao": http("http://shared"),
    "mcps/other.mcp.yao": http("http://other"),
  });
  const urlOf = (assistant: string | undefined, name: string): string | undefined =>
    findMcpServer(app, assistant, name)?.url;
  expect(urlOf("a", "tools")).toBe("http://own");
  expect(urlOf("b", "tools")).toBe("http://shared");
  expect(urlOf(undefined, "tools")).toBe("http://shared");
  expect(urlOf("b", "agents.a.tools")).toBe("http://own");
  expect(urlOf("a", "other")).toBe("http://other");
  expect(urlOf("a", "none")).toBeUndefined();
});

test("mcp:server.tool means the longest server that exists", () => {
  const { app } = load({ "mcps/a/b.mcp.yao": http("http://ab"), "mcps/a.mcp.yao": http("http://a") });
  const found = (use: string): unknown => {
    const target = findMcpUse(app, undefined, use);
    return target && [target.server.id, target.tool];
  };
  expect(found("mcp:a.b")).toEqual(["a.b", undefined]);
  expect(found("mcp:a.b.look")).toEqual(["a.b", "look"]);
  expect(found("mcp:a.c.d")).toEqual(["a", "c.d"]);
  expect(found("mcp:a.c")).toEqual(["a", "c"]);
  expect([found("mcp:"), found("mcp:x"), found("a.b"), found("disabled")]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("variables of a server are replaced; one of env without a value is left out, any other is an error", () => {
  const { app } = load({
    "mcps/s.mcp.yao": {
      transport: "stdio",
      command: "$ENV.BIN/run",
      arguments: ["--key", "$ENV.KEY", "plain"],
      env: { A: "$ENV.KEY", B: "$ENV.NONE", C: "plain" },
    },
    "mcps/h.mcp.yao": { transport: "http", url: "$ENV.URL", authorization_token: "Bearer $ENV.TOKEN" },
  });
  const server = app.mcpServers.get("s")!;
  const env = new Map([["BIN", "/bin"], ["KEY", "k"], ["URL", "http://x"]]); // prettier-ignore
  const resolved = resolveMcpServer(server, (name) => env.get(name));
  expect([resolved.command, resolved.arguments]).toEqual(["/bin/run", ["--key", "k", "plain"]]);
  expect(resolved.env).toEqual({ A: "k", C: "plain" });
  expect(envNamesOfMcpServer(server)).toEqual(["BIN", "KEY", "NONE"]);
  expect(() => resolveMcpServer(app.mcpServers.get("h")!, (name) => env.get(name))).toThrow(
    "MCP server h takes its authorization_token from $ENV.TOKEN, which has no value: set TOKEN",
  );
  // The file itself stays as it is.
  expect(server.env).toEqual({ A: "$ENV.KEY", B: "$ENV.NONE", C: "plain" });
});

test("what a hook returns is read as leniently as it comes", () => {
  expect(mcpServerRefs(undefined)).toEqual([]);
  expect(mcpServerRefs("x")).toEqual([]);
  expect(
    mcpServerRefs([null, 1, "", {}, { server_id: "" }, ["x"], { server_id: "s", tools: [1, "t"] }, { r: null }]),
  ).toEqual([{ serverId: "s", tools: ["t"] }, { serverId: "r" }]);
  expect(mcpServerRefs(Array.from({ length: 1000 }, () => "x"))).toHaveLength(200);
});

test("an assistant's own search and uses count before the app's", () => {
  const { app } = load({
    "agent/search.yml": "web:\n  provider: tavily\n  max_results: 10\nweights:\n  user: 1\n",
    "agent/agent.yml": "uses:\n  search: builtin\n  web: builtin\n",
    "assistants/a/package.yao": {
      name: "A",
      search: { web: { max_results: 3 }, kb: { graph: true } },
      uses: { search: "disabled" },
    },
  });
  const assistant = app.assistants.get("a")!;
  expect(searchConfigOf(app, assistant)).toEqual({
    web: { provider: "tavily", max_results: 3 },
    weights: { user: 1 },
    kb: { graph: true },
  });
  expect(usesOf(app, assistant)).toEqual({ search: "disabled", web: "builtin" });
});

test("the variables of a run are those of everything its assistant names", () => {
  const { app } = load({
    "agent/search.yml": "web:\n  api_key_env: TAVILY_KEY\n",
    "mcps/named.mcp.yao": { transport: "http", url: "$ENV.NAMED" },
    "mcps/unnamed.mcp.yao": { transport: "http", url: "$ENV.UNNAMED" },
    "assistants/a/mcps/own.mcp.yao": { transport: "stdio", command: "x", env: { A: "$ENV.OWN" } },
    "assistants/a/package.yao": { name: "A", connector: "$ENV.LLM", mcp: { servers: ["named"] } },
    "assistants/a/sandbox.yao": {
      version: "2.0",
      environment: { X: "$ENV.BOX" },
      secrets: { S: "$ENV.SECRET", T: { value: "$ENV.SECOND" }, U: { label: "$ENV.LABEL" } },
    },
    "assistants/b/package.yao": { name: "B", search: { web: { api_key_env: "$ENV.OTHER_KEY" } } },
  });
  expect(envNamesOfAssistant(app, "a")).toEqual(["BOX", "LLM", "NAMED", "OWN", "SECOND", "SECRET", "TAVILY_KEY"]);
  expect(envNamesOfAssistant(app, "b")).toEqual(["OTHER_KEY"]);
});
