/** Our client against servers nobody here wrote, over every transport they speak. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { systemClock, until } from "@mesh/kernel";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { callAll } from "./batch.ts";
import type { McpClient } from "./client.ts";
import { McpClients } from "./clients.ts";
import type { McpServerConfig } from "./server-config.ts";

const require = createRequire(import.meta.url);
const EVERYTHING = programOf(require.resolve("@modelcontextprotocol/server-everything/package.json"));
const FILESYSTEM = programOf(require.resolve("@modelcontextprotocol/server-filesystem/package.json"));
const MEMORY = programOf(require.resolve("@modelcontextprotocol/server-memory/package.json"));
const options = { caller: "run" };

let clients: McpClients<string>;

beforeAll(() => {
  clients = new McpClients<string>({
    clock: systemClock,
    fetch,
    callProcess: () => Promise.resolve(null),
    env: process.env,
    clientInfo: { name: "test", version: "1" },
  });
});

afterAll(() => clients.close());

function programOf(manifest: string): string {
  return join(dirname(manifest), "dist/index.js");
}

function stdio(
  id: string,
  program: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): McpServerConfig {
  return { id, transport: "stdio", command: process.execPath, arguments: [program, ...args], env };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The everything server over HTTP; it cannot choose a port itself. */
async function everythingOver(
  kind: "streamableHttp" | "sse",
  port?: number,
): Promise<{ port: number; child: ChildProcess }> {
  const chosen = port ?? (await freePort());
  const env = { ...process.env, PORT: String(chosen) };
  const child = spawn(process.execPath, [EVERYTHING, kind], { env, stdio: ["ignore", "ignore", "pipe"] });
  await new Promise<void>((resolve, reject) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (/listening on port|running on port/.test(text)) resolve();
    });
    child.once("exit", (code) => reject(new Error(`the server ended with code ${code}`)));
  });
  return { port: chosen, child };
}

async function everythingWorks(client: McpClient<string>): Promise<void> {
  const { tools } = await client.list("tools", options);
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["echo", "get-sum", "get-tiny-image"]));
  expect(await client.callTool("echo", { message: "hi" }, options)).toBe("Echo: hi");
  expect(await client.callTool("get-sum", { a: 19, b: 23 }, options)).toBe("The sum of 19 and 23 is 42.");
  await expect(client.callTool("get-sum", { a: "x" }, options)).rejects.toMatchObject({ code: "invalid_argument" });
  expect(await client.callToolRaw("get-structured-content", { location: "New York" }, options)).toMatchObject({
    structuredContent: { conditions: expect.any(String) },
  });
  expect(await client.callTool("get-tiny-image", {}, options)).toEqual(
    expect.arrayContaining([expect.objectContaining({ type: "image", mimeType: "image/png" })]),
  );
  const progress: number[] = [];
  await client.callTool(
    "trigger-long-running-operation",
    { duration: 0.3, steps: 3 },
    { ...options, onProgress: (report) => progress.push(report.progress) },
  );
  expect(progress).toEqual([1, 2, 3]);
  const { resources } = await client.list("resources", options);
  const { contents } = await client.readResource(resources[0]!.uri, options);
  expect(contents[0]?.text?.length).toBeGreaterThan(0);
  expect((await client.list("resourceTemplates", options)).resourceTemplates.length).toBeGreaterThan(0);
  expect((await client.list("prompts", options)).prompts.map(({ name }) => name)).toContain("args-prompt");
  const prompt = await client.getPrompt("args-prompt", { city: "Paris" }, options);
  expect(JSON.stringify(prompt.messages)).toContain("Paris");
}

describe("server-everything", () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
  });

  test("works over stdio", async () => {
    await everythingWorks(clients.get(stdio("everything", EVERYTHING)));
  });

  test("works over Streamable HTTP; a restarted server is initialized again; a killed one fails its calls at once", async () => {
    const first = await everythingOver("streamableHttp");
    children.push(first.child);
    const config: McpServerConfig = { id: "web", transport: "http", url: `http://127.0.0.1:${first.port}/mcp` };
    const client = clients.get(config);
    await everythingWorks(client);

    first.child.kill("SIGKILL");
    await until(() => first.child.signalCode !== null);
    const second = await everythingOver("streamableHttp", first.port);
    children.push(second.child);
    expect(await client.callTool("echo", { message: "again" }, options)).toBe("Echo: again");

    const long = client.callTool(
      "trigger-long-running-operation",
      { duration: 600, steps: 6000 },
      {
        ...options,
        onProgress: () => second.child.kill("SIGKILL"),
      },
    );
    const startedMs = systemClock.monotonic();
    await expect(long).rejects.toMatchObject({ code: "unavailable" });
    expect(systemClock.monotonic() - startedMs).toBeLessThan(15_000);
    await expect(client.callTool("echo", { message: "x" }, options)).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/),
    });
  });

  test("works over SSE; a killed server fails its calls at once, and one started again is used again", async () => {
    const first = await everythingOver("sse");
    children.push(first.child);
    const client = clients.get({ id: "events", transport: "sse", url: `http://127.0.0.1:${first.port}/sse` });
    await everythingWorks(client);
    const long = client.callTool(
      "trigger-long-running-operation",
      { duration: 600, steps: 6000 },
      {
        ...options,
        onProgress: () => first.child.kill("SIGKILL"),
      },
    );
    await expect(long).rejects.toMatchObject({ code: "unavailable" });
    await until(() => first.child.signalCode !== null);
    children.push((await everythingOver("sse", first.port)).child);
    expect(await client.callTool("echo", { message: "again" }, options)).toBe("Echo: again");
  });
});

test("server-filesystem reads, writes and refuses what is outside its folder", async () => {
  const dir = await mkdtemp(join(tmpdir(), "mcp-files-"));
  try {
    await writeFile(join(dir, "a.txt"), "first");
    const client = clients.get(stdio("files", FILESYSTEM, [dir]));
    expect(await client.callTool("read_text_file", { path: join(dir, "a.txt") }, options)).toBe("first");
    await client.callTool("write_file", { path: join(dir, "b.txt"), content: "second" }, options);
    expect(await readFile(join(dir, "b.txt"), "utf8")).toBe("second");
    const outside = await client.callToolRaw("read_text_file", { path: "/etc/passwd" }, options);
    expect(outside.isError).toBe(true);
    const outcomes = await callAll(
      [
        { mcp: "files", tool: "list_directory", arguments: { path: dir } },
        { mcp: "files", tool: "read_text_file", arguments: { path: "/etc/passwd" } },
      ],
      () => client,
      options,
    );
    expect(outcomes[0]?.result).toContain("b.txt");
    expect(outcomes[1]?.error).toMatch(/denied|outside/i);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test("server-memory keeps what it was told across its own restart", async () => {
  const dir = await mkdtemp(join(tmpdir(), "mcp-memory-"));
  try {
    const config = stdio("memory", MEMORY, [], { MEMORY_FILE_PATH: join(dir, "memory.json") });
    const client = clients.get(config);
    const entities = [{ name: "Ada", entityType: "person", observations: ["writes programs"] }];
    await client.callTool("create_entities", { entities }, options);
    await client.keeper.stop();
    expect(await client.callTool("read_graph", {}, options)).toMatchObject({ entities: [{ name: "Ada" }] });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
