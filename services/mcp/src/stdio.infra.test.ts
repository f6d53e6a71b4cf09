/** Servers as child processes, good and bad. */

import { execFileSync } from "node:child_process";

import { systemClock, until } from "@mesh/kernel";
import { afterEach, expect, test } from "vitest";

import { McpClients, type McpClientsOptions } from "./clients.ts";
import type { McpServerConfig } from "./server-config.ts";
import { scriptServer } from "./testing/server-script.ts";

const open: McpClients<string>[] = [];

function clients(options: McpClientsOptions = {}, env: Readonly<Record<string, string>> = {}): McpClients<string> {
  const made = new McpClients<string>(
    {
      clock: systemClock,
      fetch,
      callProcess: () => Promise.resolve(null),
      env: { PATH: process.env["PATH"], ...env },
      clientInfo: { name: "test", version: "1" },
    },
    options,
  );
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((made) => made.close()));
});

const options = { caller: "run" };

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie is gone as well; only its parent has not looked yet.
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}

test("a server killed during a call fails that call, saying how and what it said last; the next call starts another", async () => {
  const config = scriptServer("frail", {
    pid: "() => process.pid",
    hang: `() => { console.error("about to \\u001b[31mfall"); }`,
  });
  const client = clients().get(config);
  const pid = Number(await client.callTool("pid", {}, options));
  const hanging = client.callTool("hang", {}, options);
  const also = client.callTool("hang", {}, options);
  const failures = Promise.allSettled([hanging, also]);
  await until(() => client.keeper.isBusy);
  // The call has been made when the server has answered one made after it.
  await client.callTool("pid", {}, options);
  process.kill(pid, "SIGKILL");
  for (const failure of await failures) {
    expect(failure).toMatchObject({
      status: "rejected",
      reason: {
        code: "unavailable",
        message: expect.stringMatching(
          /"frail" died \(tools\/call\) \(signal SIGKILL\); its last stderr lines:\nabout to fall/,
        ),
      },
    });
  }
  const next = Number(await client.callTool("pid", {}, options));
  expect(next).not.toBe(pid);
});

test("a server that ends at once is reported with its last lines, and not started in a tight loop", async () => {
  const config: McpServerConfig = {
    id: "short",
    transport: "stdio",
    command: process.execPath,
    arguments: ["-e", `console.error("API_KEY is missing"); process.exit(3)`],
  };
  const client = clients().get(config);
  await expect(client.list("tools", options)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/exit code 3\); its last stderr lines:\nAPI_KEY is missing/),
  });
});

test("a program that does not exist is named", async () => {
  const client = clients().get({ id: "none", transport: "stdio", command: "no-such-program-here" });
  await expect(client.list("tools", options)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringMatching(/"none".*could not start "no-such-program-here".*on PATH\?/),
  });
});

test("a flood on stderr neither blocks the server nor is kept", async () => {
  const flood = `() => { for (let i = 0; i < 200; i += 1) process.stderr.write("x".repeat(65536) + "\\n"); return "through"; }`;
  const client = clients().get(scriptServer("flood", { flood }));
  const before = process.memoryUsage().heapUsed;
  for (let round = 0; round < 5; round += 1) expect(await client.callTool("flood", {}, options)).toBe("through");
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(32 * 1024 * 1024);
});

test("a server that prints its log on stdout is understood", async () => {
  const noisy = `setInterval(() => console.log("INFO still here"), 5); console.log("{\\"starting\\": true}"); console.log("");`;
  const client = clients().get(
    scriptServer("noisy", { hi: "() => { console.log('[debug] hi'); return 'hello'; }" }, noisy),
  );
  expect(await client.callTool("hi", {}, options)).toBe("hello");
});

test("a server that never answers fails the start at its time and is gone", async () => {
  const config: McpServerConfig = {
    id: "mute",
    transport: "stdio",
    command: process.execPath,
    arguments: ["-e", `console.error(process.pid); process.stdin.resume(); setInterval(() => {}, 1000)`],
  };
  const client = clients({ startTimeoutMs: 700 }).get(config);
  const error: Error = await client.list("tools", options).then(
    () => new Error("it answered"),
    (reason: Error) => reason,
  );
  expect(error.message).toMatch(/did not answer within 700 ms; its last stderr lines:\n\d+/);
  const pid = Number(/(\d+)$/.exec(error.message)?.[1]);
  await until(() => !isAlive(pid), { what: "the end of the mute server" });
});

test("a server that prints only garbage fails the start and its garbage is shown", async () => {
  const program = `setInterval(() => process.stdout.write("%PDF garbage\\n"), 5)`;
  const config: McpServerConfig = {
    id: "garbage",
    transport: "stdio",
    command: process.execPath,
    arguments: ["-e", program],
  };
  await expect(clients({ startTimeoutMs: 700 }).get(config).list("tools", options)).rejects.toMatchObject({
    code: "deadline_exceeded",
    message: expect.stringContaining("its last stdout lines:\n%PDF garbage"),
  });
});

test("an answer without an end is cut off and the server with it", async () => {
  const endless = `() => { const big = "x".repeat(1 << 20); const write = () => { while (process.stdout.write(big)); }; process.stdout.on("drain", write); write(); }`;
  const client = clients({ maxMessageBytes: 4 << 20 }).get(scriptServer("endless", { endless, ok: "() => 1" }));
  await expect(client.callTool("endless", {}, options)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining("a message is longer than 4194304 bytes"),
  });
  expect(await client.callTool("ok", {}, options)).toBe(1);
});

test("an answer that is no MCP is an error of that call only", async () => {
  const client = clients().get(
    scriptServer("liar", {
      wrong: "(args, id, send) => { send({ id, result: { content: 'text' } }); }",
      refuse: "(args, id, send) => { send({ id, error: { code: -32602, message: 'city is unknown' } }); }",
      other: "(args, id, send) => { send({ id: 999, result: {} }); return 'fine'; }",
    }),
  );
  await expect(client.callTool("wrong", {}, options)).rejects.toMatchObject({ code: "data_loss" });
  await expect(client.callTool("refuse", {}, options)).rejects.toMatchObject({
    code: "invalid_argument",
    message: 'MCP server "liar" refused tools/call: city is unknown',
  });
  expect(await client.callTool("other", {}, options)).toBe("fine");
});

test("progress keeps a call alive past its time, silence does not, and the server is told of a cancelled call", async () => {
  const client = clients().get(
    scriptServer(
      "slow",
      {
        steps: `async (args, id, send, { _meta }) => {
          for (let progress = 1; progress <= 6; progress += 1) {
            await new Promise((resolve) => setTimeout(resolve, 150));
            send({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress, total: 6 } });
          }
          return "arrived";
        }`,
        silent: "() => {}",
        cancelled: "() => JSON.stringify(globalThis.cancelled)",
      },
      `globalThis.cancelled = []; globalThis.other = ({ method, params }) => {
        if (method === "notifications/cancelled") globalThis.cancelled.push(params.requestId);
      };`,
    ),
  );
  const seen: number[] = [];
  await client.list("tools", options);
  const slow = { ...options, timeoutMs: 500, onProgress: ({ progress }: { progress: number }) => seen.push(progress) };
  expect(await client.callTool("steps", {}, slow)).toBe("arrived");
  expect(seen).toEqual([1, 2, 3, 4, 5, 6]);
  await expect(client.callTool("silent", {}, { ...options, timeoutMs: 200 })).rejects.toMatchObject({
    code: "deadline_exceeded",
  });
  const stop = new AbortController();
  const stopped = client.callTool("silent", {}, { ...options, signal: stop.signal });
  stopped.catch(() => undefined);
  // It has been sent when a call after it has been answered.
  await client.callTool("cancelled", {}, options);
  stop.abort();
  await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
  const told = await until(async () => {
    const ids = (await client.callTool("cancelled", {}, options)) as number[];
    return ids.length === 2 && ids;
  });
  expect(new Set(told).size).toBe(2);
});

/** Starts a child of the server that ends only when it is killed; answers both ids. */
const SPAWN_CHILD = `() => {
  const { spawn } = require("node:child_process");
  const stubborn = "process.on('SIGTERM', () => {}); process.stdin.resume(); setInterval(() => {}, 1000)";
  return JSON.stringify([process.pid, spawn(process.execPath, ["-e", stubborn], { stdio: "inherit" }).pid]);
}`;

test("a server that dies leaves nothing behind of what it had started", async () => {
  const client = clients().get(scriptServer("parent", { spawnChild: SPAWN_CHILD }));
  const [parent = 0, child = 0] = (await client.callTool("spawnChild", {}, options)) as number[];
  process.kill(parent, "SIGKILL");
  await until(() => !isAlive(child), { what: "the end of the child" });
});

test("closing ends the server and everything it started, also what ignores the request to end", async () => {
  const made = clients();
  const client = made.get(
    scriptServer(
      "family",
      { spawnChild: SPAWN_CHILD },
      `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`,
    ),
  );
  const pids = (await client.callTool("spawnChild", {}, options)) as number[];
  expect(pids.map(isAlive)).toEqual([true, true]);
  await made.close();
  await until(() => !pids.some(isAlive), { what: "the end of the family" });
});

test("a server sees the allow list of our environment and its own, nothing else", async () => {
  const config = scriptServer("env", { env: "() => JSON.stringify(process.env)" });
  const client = clients({}, { SECRET_TOKEN: "hidden", LANG: "C.UTF-8" }).get({ ...config, env: { API_KEY: "given" } });
  const env = (await client.callTool("env", {}, options)) as Record<string, string>;
  expect(env).toMatchObject({ LANG: "C.UTF-8", API_KEY: "given" });
  expect(env).not.toHaveProperty("SECRET_TOKEN");
});

test("what a server asks of us is answered: pings yes, everything else with a clear no", async () => {
  const asking = `(args, id, send) => new Promise((resolve) => {
    const answers = [];
    globalThis.other = (message) => {
      answers.push(message);
      if (answers.length === 4) resolve(JSON.stringify(answers));
    };
    ["ping", "roots/list", "sampling/createMessage", "elicitation/create"].forEach((method, index) => send({ id: 100 + index, method, params: {} }));
  })`;
  const client = clients().get(scriptServer("asking", { asking }));
  const answers = (await client.callTool("asking", {}, options)) as {
    id: number;
    result?: unknown;
    error?: { message: string };
  }[];
  const byId = Object.fromEntries(answers.map((answer) => [answer.id, answer]));
  expect(byId[100]?.result).toEqual({});
  for (const id of [101, 102, 103]) expect(byId[id]?.error?.message).toMatch(/is not offered by this client/);
});

test("a list is kept until the server says that it changed", async () => {
  const client = clients().get(
    scriptServer("changing", {
      lists: "() => globalThis.lists ?? 0",
      sneak: `() => { tools.unannounced = () => "found"; return "added"; }`,
      grow: `(args, id, send) => { tools.added = () => "new"; send({ method: "notifications/tools/list_changed" }); return "grown"; }`,
    }),
  );
  const names = async (): Promise<string[]> => (await client.list("tools", options)).tools.map(({ name }) => name);
  expect(await names()).toEqual(["lists", "sneak", "grow"]);
  // Not every server tells: a tool that is called although it is not on the list is looked for once more.
  await client.callTool("sneak", {}, options);
  expect(await client.callTool("unannounced", {}, options)).toBe("found");
  await client.callTool("grow", {}, options);
  await until(async () => (await names()).includes("added"));
  expect(await client.callTool("added", {}, options)).toBe("new");
});

test("the server unused for longest makes room for another, one in use does not", async () => {
  const made = clients({ maxRunning: 2 });
  const [one, two, three] = ["one", "two", "three"].map((id) =>
    made.get(scriptServer(id, { id: `() => "${id}"`, hang: "() => {}" })),
  );
  await one!.callTool("id", {}, options);
  await two!.callTool("id", {}, options);
  const stop = new AbortController();
  const busy = one!.callTool("hang", {}, { ...options, signal: stop.signal });
  busy.catch(() => undefined);
  expect(await three!.callTool("id", {}, options)).toBe("three");
  expect([one!.keeper.isRunning, two!.keeper.isRunning]).toEqual([true, false]);
  const alsoBusy = three!.callTool("hang", {}, { ...options, signal: stop.signal });
  alsoBusy.catch(() => undefined);
  await expect(two!.callTool("id", {}, options)).rejects.toMatchObject({ code: "resource_exhausted" });
  stop.abort();
  await Promise.allSettled([busy, alsoBusy]);
  expect(await two!.callTool("id", {}, options)).toBe("two");
});

test("an unused server is stopped, and started again when it is needed", async () => {
  const client = clients({ idleMs: 100 }).get(scriptServer("idle", { pid: "() => process.pid" }));
  const pid = Number(await client.callTool("pid", {}, options));
  await until(() => !isAlive(pid), { what: "the end of the idle server" });
  expect(Number(await client.callTool("pid", {}, options))).not.toBe(pid);
});

test("a call with arguments of megabytes comes through, one over the bound is refused", async () => {
  const client = clients({ maxMessageBytes: 4 << 20 }).get(scriptServer("big", { size: "({ text }) => text.length" }));
  expect(await client.callTool("size", { text: "ä".repeat(1 << 20) }, options)).toBe(1 << 20);
  await expect(client.callTool("size", { text: "x".repeat(5 << 20) }, options)).rejects.toMatchObject({
    code: "resource_exhausted",
  });
  expect(await client.callTool("size", { text: "x" }, options)).toBe(1);
});

test("a runner that must end now takes its servers with it", async () => {
  const made = clients();
  const stubborn = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000);`;
  const client = made.get(scriptServer("stubborn", { pid: "() => process.pid" }, stubborn));
  const pid = Number(await client.callTool("pid", {}, options));
  made.kill();
  await until(() => !isAlive(pid), { what: "the end of the server" });
  expect(() => made.get(scriptServer("late", {}))).toThrow(/being stopped/);
});
