/**
 * An assistant's tools from outside: by the command line, by the official client over HTTP and by the same client over
 * `yao mcp serve`, with processes of the app and a public MCP server behind them, on two devices.
 */

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { until } from "@mesh/kernel";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult, Progress } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { type Outcome, YAO_MAIN, YaoHome } from "./yao-command.ts";

const require = createRequire(import.meta.url);
const EVERYTHING = join(
  dirname(require.resolve("@modelcontextprotocol/server-everything/package.json")),
  "dist/index.js",
);

const ROOT = join(import.meta.dirname, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/tools.md"), "utf8");

/** The blocks of the guide in these languages. */
function guideBlocks(...languages: readonly string[]): string[] {
  return [...GUIDE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, language = "", code = ""]) =>
    languages.includes(language) ? [code] : [],
  );
}

/** The files of the guide, by the path in their first line; a public server that `npx` would fetch is the installed one. */
function guideFiles(): Record<string, string> {
  const blocks = guideBlocks("jsonc", "typescript").map(
    (code) => [/^\/\/ (\S+)\n/.exec(code)?.[1] ?? "", code] as const,
  );
  const memory = join(dirname(require.resolve("@modelcontextprotocol/server-memory/package.json")), "dist/index.js");
  return Object.fromEntries(
    blocks.map(([path, code]) => [
      path,
      code
        .replace('"npx"', JSON.stringify(process.execPath))
        .replace('"-y", "@modelcontextprotocol/server-memory"', JSON.stringify(memory)),
    ]),
  );
}

const schema = (properties: object, args: readonly string[]): string =>
  JSON.stringify({ type: "object", properties, required: Object.keys(properties), "x-process-args": args });
const FILES: Readonly<Record<string, string>> = {
  "assistants/math/package.yao": '{"name":"Math","description":"Counts.","mcp":{"servers":["numbers","everything"]}}',
  "assistants/math/mcps/numbers.mcp.yao":
    '{"transport":"process","tools":{"add":"agents.math.numbers.Add","divide":"agents.math.numbers.Divide"}}',
  "assistants/math/mcps/mapping/numbers/schemes/add.in.yao": schema({ a: { type: "number" }, b: { type: "number" } }, [
    "$args.a",
    "$args.b",
  ]),
  "assistants/math/mcps/mapping/numbers/schemes/divide.in.yao": schema({ by: { type: "number" } }, ["$args.by"]),
  "assistants/math/mcps/everything.mcp.yao": JSON.stringify({
    transport: "stdio",
    command: process.execPath,
    arguments: [EVERYTHING, "stdio"],
  }),
  "assistants/math/src/numbers.ts": `
    export function Add(a: number, b: number) { return { sum: a + b }; }
    export function Divide(by: number) { if (by === 0) throw new Error("by must not be 0"); return 1 / by; }`,
  "assistants/plain/package.yao": '{"name":"Plain"}',
  ...guideFiles(),
};

let mesh: TestMesh;
let dir: string;
let home: YaoHome;
const clients: Client[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-app-"));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  home = new YaoHome();
  mesh = await TestMesh.start({
    nodes: [
      { name: "one", slots: 8 },
      { name: "two", slots: 8 },
    ],
  });
  await mesh.pushApp("app", dir);
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await mesh?.stop();
  rmSync(dir, { recursive: true, force: true });
});

interface Where {
  readonly token?: string;
  readonly workspace?: string;
  readonly assistant?: string;
  readonly node?: string;
}

function endpoint({ workspace = "default", assistant = "math" }: Where = {}): URL {
  return new URL(`/v1/workspaces/${workspace}/assistants/${assistant}/mcp`, mesh.api.url);
}

/** The official client over HTTP. */
async function httpClient(where: Where = {}): Promise<Client> {
  const headers = {
    authorization: `Bearer ${where.token ?? mesh.api.token}`,
    ...(where.node === undefined ? {} : { "yao-node": where.node }),
  };
  const client = new Client({ name: "test", version: "1" });
  clients.push(client);
  // The SDK's own class does not fit its own interface under exactOptionalPropertyTypes.
  await client.connect(new StreamableHTTPClientTransport(endpoint(where), { requestInit: { headers } }) as never);
  return client;
}

function cliEnv(token: string = mesh.api.token): Record<string, string> {
  return { YAO_URL: mesh.api.url, YAO_TOKEN: token };
}

/** The official client over a `yao mcp serve` that it started. */
async function stdioClient(args: readonly string[], token?: string): Promise<{ client: Client; stderr: () => string }> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [YAO_MAIN, "mcp", "serve", ...args],
    env: { ...home.env, ...cliEnv(token) },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const client = new Client({ name: "test", version: "1" });
  clients.push(client);
  await client.connect(transport);
  return { client, stderr: () => stderr };
}

async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> {
  return (await client.callTool({ name, arguments: args })) as CallToolResult;
}

function textOf({ content }: CallToolResult): string {
  return content.map((item) => (item.type === "text" ? item.text : `[${item.type}]`)).join("\n");
}

/** What a call that did not succeed says, as an answer of the tool or as an error of the protocol. */
async function failureOf(work: Promise<CallToolResult>): Promise<string> {
  const outcome = await work.then(
    (result) => ({ text: textOf(result), failed: result.isError === true }),
    (error: unknown) => ({ text: String(error), failed: true }),
  );
  expect(outcome).toMatchObject({ failed: true });
  return outcome.text;
}

const SLOW = "everything__trigger-long-running-operation";

async function runs(): Promise<readonly RunView[]> {
  return (await mesh.api.call<{ runs: RunView[] }>("GET", "/v1/workspaces/default/runs?limit=50")).runs;
}

/** The newest run, once it does its work. */
async function runningRun(): Promise<RunView> {
  const before = new Set((await runs()).filter(({ state }) => state !== "running").map(({ id }) => id));
  return until(
    async () => {
      const run = (await runs()).find(({ id, state }) => !before.has(id) && state === "running");
      if (run === undefined) return undefined;
      const events = await mesh.api.pages(run.id);
      return events.some(({ data }) => data["type"] === "execute") ? run : undefined;
    },
    { timeoutMs: 30_000, everyMs: 100, what: "a run that calls its tool" },
  );
}

function yao(...args: readonly string[]): Promise<Outcome> {
  return home.run(["mcp", ...args], { env: cliEnv() });
}

describe("the command line", () => {
  test("lists the tools as a named device has them", async () => {
    const { code, stdout, stderr } = await yao("list", "math", "--node", "two");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^SERVER +TOOL +DESCRIPTION\n/);
    expect(stdout).toMatch(/^numbers +add /m);
    expect(stdout).toMatch(/^everything +echo +Echoes/m);
    const listed = JSON.parse((await yao("list", "math", "--json")).stdout) as { assistant: string; tools: object[] };
    expect(listed.assistant).toBe("math");
    expect(listed.tools).toContainEqual(
      expect.objectContaining({
        server: "numbers",
        tool: "add",
        input_schema: expect.objectContaining({ required: ["a", "b"] }),
      }),
    );
    expect((await runs()).some(({ node }) => node === "two")).toBe(true);
  });

  test("calls a tool with arguments from the line, a file and standard input", async () => {
    const line = await yao("call", "numbers", "add", '{"a": 2, "b": 3}', "--assistant", "math");
    expect(line).toMatchObject({ code: 0, stdout: '{"sum":5}\n', stderr: "" });
    const file = join(dir, "arguments.json");
    writeFileSync(file, '{"a": 1, "b": 1}');
    const fromFile = await yao("call", "numbers", "add", `@${file}`, "--assistant", "math", "--json");
    expect(JSON.parse(fromFile.stdout)).toMatchObject({ server: "numbers", tool: "add", result: { sum: 2 } });
    const fromInput = await home.run(
      ["mcp", "call", "everything", "echo", "-", "--assistant", "math", "--node", "one"],
      { env: cliEnv(), input: '{"message": "héllo"}' },
    );
    expect(fromInput).toMatchObject({ code: 0, stdout: "Echo: héllo\n" });
    expect((await runs())[0]).toMatchObject({ node: "one", state: "succeeded" });
  });

  test.each([
    [["call", "numbers", "add", '{"a": 1}', "--assistant", "math"], 1, /arguments: .*"b"/],
    [["call", "numbers", "sub", "--assistant", "math"], 1, /there is no tool "sub"; it has add, divide/],
    [["call", "nowhere", "add", "--assistant", "math"], 1, /there is no MCP server "nowhere"/],
    [["call", "numbers", "divide", '{"by": 0}', "--assistant", "math"], 1, /by must not be 0/],
    [["call", "numbers", "add", "[1]", "--assistant", "math"], 2, /must be a JSON object/],
    [["call", "numbers", "add", "@nowhere.json", "--assistant", "math"], 1, /nowhere\.json cannot be read/],
    [["call", "numbers", "add"], 2, /say which assistant: clerk, desk, math, plain/],
    [["list", "nobody"], 1, /assistant "nobody" was not found/],
    [["list", "math", "--node", "toaster"], 1, /device "toaster" is not known; see yao node list/],
  ])("%j fails and says why", async (args, code, says) => {
    const outcome = await yao(...args);
    expect(outcome).toMatchObject({ code, stdout: "" });
    expect(outcome.stderr).toMatch(says);
    expect(outcome.stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  test("an assistant without servers has no tools, and the command says how to give it some", async () => {
    expect(await yao("list", "plain")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("docs/guides/tools.md"),
    });
  });

  test("an interrupt cancels the run", async () => {
    const args = ["call", "everything", "trigger-long-running-operation", '{"duration": 60}', "--assistant", "math"];
    const command = home.start(["mcp", ...args], { env: cliEnv() });
    const { id } = await runningRun();
    command.child.kill("SIGINT");
    expect(await home.ended(command)).toMatchObject({ code: 130, stderr: "yao: interrupted\n" });
    expect(await mesh.ended(id)).toMatchObject({ state: "cancelled" });
  });
});

describe("the official client over HTTP", () => {
  test("lists the tools of every server under names that lead back, and the assistant as ask", async () => {
    const client = await httpClient();
    expect(client.getServerVersion()).toMatchObject({ name: "math", title: "Math" });
    expect(client.getInstructions()).toBe("Counts.");
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["ask", "numbers__add", "numbers__divide", "everything__echo"]));
    expect(new Set(names).size).toBe(names.length);
  });

  test("calls tools: text, an object, a picture, and one that fails", async () => {
    const client = await httpClient({ node: "two" });
    expect(await call(client, "numbers__add", { a: 2, b: 3 })).toMatchObject({ structuredContent: { sum: 5 } });
    expect(textOf(await call(client, "everything__echo", { message: "hi" }))).toBe("Echo: hi");
    const { content } = await call(client, "everything__get-tiny-image");
    expect(content).toContainEqual(expect.objectContaining({ type: "image", mimeType: "image/png" }));
    const failed = await call(client, "numbers__divide", { by: 0 });
    expect(failed).toMatchObject({ isError: true });
    expect(textOf(failed)).toContain("by must not be 0");
    expect((await runs()).slice(0, 4).map(({ node }) => node)).toEqual(["two", "two", "two", "two"]);
  });

  test("ask talks to the assistant itself", async () => {
    expect(textOf(await call(await httpClient(), "ask", { message: "hello" }))).toBe("You said: hello");
  });

  test("wrong arguments name the field, an unknown tool is refused", async () => {
    const client = await httpClient();
    const wrong = await call(client, "numbers__add", { a: "two", b: 3 });
    expect(wrong).toMatchObject({ isError: true });
    expect(textOf(wrong)).toMatch(/a: .*number/);
    await expect(call(client, "numbers__sub")).rejects.toThrow(/Unknown tool: numbers__sub/);
  });

  test("says how a long call stands", async () => {
    const client = await httpClient();
    const heard: Progress[] = [];
    const args = { duration: 1, steps: 2 };
    await client.callTool({ name: SLOW, arguments: args }, undefined, { onprogress: (each) => heard.push(each) });
    expect(heard.map(({ message }) => message)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^placed on (one|two)$/), "tool trigger-long-running-operation"]),
    );
  });

  test("a client that cancels its call ends the run", async () => {
    const client = await httpClient();
    const cancel = new AbortController();
    const done = client.callTool({ name: SLOW, arguments: { duration: 60 } }, undefined, { signal: cancel.signal });
    const { id } = await runningRun();
    cancel.abort("changed my mind");
    await expect(done).rejects.toThrow();
    expect(await mesh.ended(id, 15_000)).toMatchObject({ state: "cancelled" });
  });

  test("a client that goes away in the middle ends the run", async () => {
    const client = await httpClient();
    const done = call(client, SLOW, { duration: 60 }).catch(() => undefined);
    const { id } = await runningRun();
    await client.close();
    await done;
    expect(await mesh.ended(id, 15_000)).toMatchObject({ state: "cancelled" });
  });

  test("wrong tokens, other scopes and other workspaces are refused", async () => {
    await mesh.api.call("POST", "/v1/workspaces", { name: "other" });
    const { workspace } = await mesh.api.call<{ workspace: { id: string } }>("GET", "/v1/workspaces/other");
    const made = async (body: object): Promise<string> =>
      (await mesh.api.call<{ secret: string }>("POST", "/v1/tokens", body)).secret;
    const reader = await made({ name: "reader", scopes: ["read"] });
    const limited = await made({ name: "limited", scopes: ["runs"], workspace_ids: [workspace.id] });
    await expect(httpClient({ token: "yao_wrong" })).rejects.toThrow(/unknown, expired or revoked/);
    await expect(httpClient({ token: reader })).rejects.toThrow(/lacks the scope "runs"|lacks the scope \\"runs\\"/);
    await expect(httpClient({ token: limited })).rejects.toThrow(/workspace default was not found/);
    await expect(httpClient({ workspace: "other" })).rejects.toThrow(/assistant math was not found/);
    await expect(httpClient({ assistant: "nobody" })).rejects.toThrow(/assistant nobody was not found/);
  });

  test("a call on a device that is away says so within the time clients wait", async () => {
    await mesh.addNode({ name: "away" });
    await mesh.node("away").process.stop();
    await mesh.untilNode("away", "offline");
    const client = await httpClient({ node: "away" });
    const text = await failureOf(call(client, "numbers__add", { a: 1, b: 1 }));
    expect(text).toMatch(/waiting for device away.*yao node list/);
  });

  test("a device killed in the middle of a call is a clear error, and the next call is fine", async () => {
    const client = await httpClient({ node: "one" });
    const done = failureOf(call(client, SLOW, { duration: 60 }));
    const { id } = await runningRun();
    await mesh.node("one").process.kill();
    await mesh.node("one").process.start();
    expect(await done).toMatch(/restarted.*yao runs show run_/);
    expect(await mesh.run(id)).toMatchObject({ state: "failed", error: { code: "node_restarted" } });
    expect(textOf(await call(client, "everything__echo", { message: "again" }))).toBe("Echo: again");
  });
});

describe("yao mcp serve", () => {
  test("gives the same over standard input and output, with nothing else on either", async () => {
    const { client, stderr } = await stdioClient(["math", "--node", "two"]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["ask", "numbers__add", "everything__echo"]));
    const heard: Progress[] = [];
    const args = { name: "numbers__add", arguments: { a: 20, b: 22 } };
    const sum = await client.callTool(args, undefined, { onprogress: (each) => heard.push(each) });
    expect(sum).toMatchObject({ structuredContent: { sum: 42 } });
    expect(heard.map(({ message }) => message)).toContain("placed on two");
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, i) => call(client, "everything__echo", { message: String(i) })),
    );
    expect(many.map(textOf)).toEqual(Array.from({ length: 20 }, (_, i) => `Echo: ${i}`));
    expect(stderr()).toBe("");
  });

  test("a cancelled call, and a client that ends, cancel their runs", async () => {
    const { client } = await stdioClient(["math"]);
    const cancel = new AbortController();
    const first = client.callTool({ name: SLOW, arguments: { duration: 60 } }, undefined, { signal: cancel.signal });
    const one = await runningRun();
    cancel.abort();
    await expect(first).rejects.toThrow();
    expect(await mesh.ended(one.id, 15_000)).toMatchObject({ state: "cancelled" });
    const second = call(client, SLOW, { duration: 60 }).catch(() => undefined);
    const two = await runningRun();
    await client.close();
    await second;
    expect(await mesh.ended(two.id, 15_000)).toMatchObject({ state: "cancelled" });
  });

  test("a token that is not valid is told to the client, in words", async () => {
    await expect(stdioClient(["math"], "yao_wrong")).rejects.toThrow(/yao login/);
  });

  test("ends with its input", async () => {
    expect(await home.run(["mcp", "serve", "math"], { env: cliEnv(), input: "" })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    });
  });
});

const SAID = guideBlocks("console").flatMap((block) =>
  block
    .split(/^\$ /m)
    .slice(1)
    .map((each) => [each.slice(0, each.indexOf("\n")), each.slice(each.indexOf("\n") + 1)] as const),
);

test.each(SAID)("the guide says what happens: %s", async (line, says) => {
  const { stdout, stderr } = await home.ended(home.shell(line, { env: cliEnv() }));
  // Errors go to standard error, followed by where to look further.
  if (stdout === "") expect(stderr.startsWith(says.trimEnd())).toBe(true);
  else expect(stdout).toBe(says);
});

/** A listener that adds the token to what it passes on: the official suite sends none. */
async function withToken(target: URL): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${mesh.api.token}` };
    const onward = httpRequest(target, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
    response.once("close", () => onward.destroy());
    onward.on("error", () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Gives the suite `globSync`, which Node has since version 22, for a subcommand that is not used here. */
const FS_HOOK = `
import { register } from "node:module";
register("data:text/javascript," + encodeURIComponent(\`
  export const resolve = (name, context, next) =>
    name === "fs" && context.parentURL?.includes("/@modelcontextprotocol/conformance/")
      ? { url: "conformance:fs", shortCircuit: true } : next(name, context);
  const source = 'export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];';
  export const load = (url, context, next) =>
    url === "conformance:fs" ? { format: "module", shortCircuit: true, source } : next(url, context);
\`));`;

/** Runs one scenario of the official suite and returns the statuses of its checks. */
async function conformance(scenario: string, url: string): Promise<readonly string[]> {
  const suite = join(dirname(require.resolve("@modelcontextprotocol/conformance/package.json")), "dist/index.js");
  const out = mkdtempSync(join(tmpdir(), "yao-conformance-"));
  const hook = ["--import", `data:text/javascript,${encodeURIComponent(FS_HOOK)}`];
  const args = ["server", "--url", url, "--scenario", scenario, "--output-dir", out];
  const needsHook = Number(process.versions.node.split(".")[0]) < 22;
  const child = spawn(process.execPath, [...(needsHook ? hook : []), suite, ...args], { stdio: "ignore" });
  try {
    await new Promise((resolve) => child.once("close", resolve));
    return readdirSync(out).flatMap((name) => {
      const checks = JSON.parse(readFileSync(join(out, name, "checks.json"), "utf8")) as {
        status: string;
        name: string;
        errorMessage?: string;
      }[];
      return checks.map(({ status, name: check, errorMessage = "" }) => `${status} ${check} ${errorMessage}`.trim());
    });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** What a server of tools only, without sessions, can be asked for; the others call tools that only the suite knows. */
const SCENARIOS = [
  "server-initialize",
  "ping",
  "logging-set-level",
  "tools-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];

test.each(SCENARIOS)("the official suite passes at the gateway: %s", async (scenario) => {
  const proxy = await withToken(endpoint());
  try {
    const checks = await conformance(scenario, proxy.url);
    expect(checks.length).toBeGreaterThan(0);
    expect(checks.filter((check) => !/^(SUCCESS|INFO) /.test(check))).toEqual([]);
  } finally {
    await proxy.close();
  }
});
