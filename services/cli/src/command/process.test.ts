/** The real command as a child process against a coordinator at the wire. */

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { runJson, StubGateway, type StubRun } from "../testing/stub-gateway.ts";
import { ownEnvironment, startYao, YAO, type YaoProcess } from "../testing/yao-process.ts";

let gateway: StubGateway;
let home: string;
let started: YaoProcess[] = [];

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
});
afterEach(async () => {
  for (const process_ of started) process_.child.kill("SIGKILL");
  started = [];
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

const LIMIT = 30_000;

function environment(): Record<string, string> {
  return { YAO_URL: gateway.url, YAO_TOKEN: "yao_test", YAO_HOME: home };
}

function yao(args: readonly string[], input?: string, env: Record<string, string> = environment()): YaoProcess {
  const process_ = startYao(args, env, input);
  started.push(process_);
  return process_;
}

function scriptedRun(): StubRun {
  const run = gateway.addRun({ id: "run_1", state: "running", events: [] });
  gateway.route("POST", "/v1/workspaces/default/runs", () => ({ json: { run: runJson(run) } }));
  return run;
}

function say(run: StubRun, content: string): void {
  gateway.emit(run, { kind: "message", data: { type: "text", message_id: "M1", delta: true, props: { content } } });
}

describe("yao run", () => {
  test("sends what was asked for, shows the text live and exits 0", { timeout: LIMIT }, async () => {
    const run = scriptedRun();
    const command = yao(
      ["run", "hello", "-", "--node", "laptop", "--label", "gpu=yes", "--timeout", "2m", "--option", "temperature=0.2"],
      "from stdin",
    );
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    say(run, "Good ");
    await until(() => command.stdout() === "Good ", { timeoutMs: LIMIT });
    say(run, "morning");
    gateway.finish(run, "succeeded");
    expect(await command.exited).toEqual({ code: 0, signal: null });
    expect(command.stdout()).toBe("Good morning\n");
    expect(command.stderr()).toBe("");
    const [create] = gateway.requests("POST", "/v1/workspaces/default/runs");
    expect(create?.headers["authorization"]).toBe("Bearer yao_test");
    expect(create?.headers["idempotency-key"]).toMatch(/^req_/);
    expect(JSON.parse(create?.body ?? "")).toMatchObject({
      assistant: "hello",
      input: "from stdin",
      requirements: { node: "laptop", labels: { gpu: "yes" } },
      timeout_seconds: 120,
      options: { temperature: 0.2 },
    });
  });

  test("a failed run is one line on stderr and exit code 1", { timeout: LIMIT }, async () => {
    const run = scriptedRun();
    const command = yao(["run", "hello", "hi"]);
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    gateway.finish(run, "failed", { code: "runner_crashed", message: "the runner was killed by SIGKILL" });
    expect((await command.exited).code).toBe(1);
    expect(command.stderr()).toBe("yao: run_1 failed: the runner was killed by SIGKILL — see `yao runs show run_1`\n");
  });

  test("the first Ctrl-C cancels the run and waits for its end, exit code 130", { timeout: LIMIT }, async () => {
    const run = scriptedRun();
    const command = yao(["run", "hello", "hi"]);
    say(run, "never ending");
    await until(() => command.stdout().startsWith("never"), { timeoutMs: LIMIT });
    command.child.kill("SIGINT");
    expect(await command.exited).toEqual({ code: 130, signal: null });
    expect(run.state).toBe("cancelled");
    expect(command.stderr()).toBe("yao: run_1 was cancelled\n");
    expect(gateway.openStreams).toBe(0);
  });

  test("the second Ctrl-C leaves at once", { timeout: LIMIT }, async () => {
    const run = scriptedRun();
    gateway.route("POST", "/v1/runs/run_1/cancel", () => ({ json: { run: runJson(run) } }));
    const command = yao(["run", "hello", "hi"]);
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    command.child.kill("SIGINT");
    await until(() => gateway.requests("POST", "/v1/runs/run_1/cancel").length === 1, { timeoutMs: LIMIT });
    command.child.kill("SIGINT");
    expect(await command.exited).toEqual({ code: 130, signal: null });
    expect(run.state).toBe("running");
  });

  test("a reader that goes away ends the command quietly and cancels the run", { timeout: LIMIT }, async () => {
    const run = scriptedRun();
    say(run, "one\n");
    const words = [...YAO, "run", "hello", "hi", "--json"].map((word) => `'${word}'`).join(" ");
    const shell = spawn("bash", ["-c", `${words} | head -1; echo "status \${PIPESTATUS[0]}"`], {
      env: { ...ownEnvironment(), ...environment() },
    });
    let out = "";
    let err = "";
    shell.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    shell.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    const closed = new Promise((resolve) => shell.once("close", resolve));
    // Keep talking: only a write can find out that nobody reads.
    await until(
      () => {
        if (run.state === "running" && out !== "") say(run, "more\n");
        return run.state === "cancelled";
      },
      { timeoutMs: LIMIT },
    );
    await closed;
    expect(JSON.parse(out.split("\n")[0] ?? "")).toMatchObject({ run_id: "run_1", seq: 1 });
    expect(out.split("\n")[1]).toBe("status 141");
    expect(err).toBe("");
    expect(gateway.openStreams).toBe(0);
  });

  test("--detach prints the id and leaves", { timeout: LIMIT }, async () => {
    scriptedRun();
    const command = yao(["run", "hello", "hi", "--detach"]);
    expect((await command.exited).code).toBe(0);
    expect(command.stdout()).toBe("run_1\n");
  });
});

describe("errors", () => {
  test("nobody there: how to start a coordinator", { timeout: LIMIT }, async () => {
    await gateway.stop();
    const command = yao(["node", "list"]);
    expect((await command.exited).code).toBe(1);
    expect(command.stderr()).toBe(
      `yao: no coordinator at ${gateway.url} — start one with \`yao up\`, or log in with \`yao login URL --token T\`\n`,
    );
    await gateway.start();
  });

  test("wrong usage is exit code 2, with the nearest command", { timeout: LIMIT }, async () => {
    const command = yao(["node", "lits"]);
    expect((await command.exited).code).toBe(2);
    expect(command.stderr()).toBe("yao: unknown command 'lits'; did you mean `list`? — see `yao node --help`\n");
  });

  test("a key on the command line is refused without repeating it", { timeout: LIMIT }, async () => {
    const command = yao(["connector", "add", "openai.gpt-4o", "--key", "sk-secret"]);
    expect((await command.exited).code).toBe(2);
    expect(command.stderr()).toMatch(/^yao: a key on the command line can be read by every user/);
    expect(command.stderr()).not.toContain("sk-secret");
    expect(gateway.seen).toEqual([]);
  });
});

describe("secrets", () => {
  test("login tries the token before keeping it, for the owner's eyes only", { timeout: LIMIT }, async () => {
    gateway.route("GET", "/v1/whoami", (request) =>
      request.headers["authorization"] === "Bearer good"
        ? { json: { user: "admin", token_id: "tok_1", scopes: ["admin"], workspace_ids: [], is_admin: true } }
        : { status: 401, json: { code: "unauthenticated", detail: "the token is unknown or was revoked" } },
    );
    const env = { YAO_HOME: home };
    const refused = yao(["login", gateway.url, "--token", "bad"], undefined, env);
    expect((await refused.exited).code).toBe(1);
    expect(refused.stderr()).toContain("the token is unknown or was revoked");
    const accepted = yao(["login", gateway.url, "--token", "-"], "good\n", env);
    expect((await accepted.exited).code).toBe(0);
    const path = join(home, "cli.json");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({ url: gateway.url, token: "good" });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("a stored token does not go to another address", { timeout: LIMIT }, async () => {
    writeFileSync(join(home, "cli.json"), JSON.stringify({ url: "https://mesh.example.com", token: "theirs" }));
    const command = yao(["node", "list"], undefined, { YAO_HOME: home, YAO_URL: gateway.url });
    await command.exited;
    expect(gateway.seen[0]?.headers["authorization"]).toBeUndefined();
  });

  test("a key is read from a variable and sent, never shown", { timeout: LIMIT }, async () => {
    gateway.route("PUT", "/v1/workspaces/default/connectors/openai.gpt-4o", () => ({
      json: { connector: { id: "openai.gpt-4o", has_key: true } },
    }));
    const command = yao(["connector", "add", "openai.gpt-4o", "--key-env", "THE_KEY"], undefined, {
      ...environment(),
      THE_KEY: "sk-1",
    });
    expect((await command.exited).code).toBe(0);
    expect(command.stdout()).toBe("openai.gpt-4o was saved, with a key\n");
    expect(JSON.parse(gateway.seen[0]?.body ?? "")).toEqual({ type: "openai", model: "gpt-4o", key: "sk-1" });
  });

  const hasScript = spawnSync("script", ["--version"]).status === 0;
  test.skipIf(!hasScript)("a key typed at a terminal is not echoed", { timeout: LIMIT }, async () => {
    gateway.route("PUT", "/v1/workspaces/default/connectors/openai.gpt-4o", () => ({
      json: { connector: { id: "openai.gpt-4o", has_key: true } },
    }));
    const words = [...YAO, "connector", "add", "openai.gpt-4o"].map((word) => `'${word}'`).join(" ");
    const terminal = spawn("script", ["-qec", words, "/dev/null"], {
      env: { ...ownEnvironment(), ...environment(), TERM: "xterm" },
    });
    let screen = "";
    terminal.stdout.on("data", (chunk: Buffer) => (screen += chunk.toString()));
    const closed = new Promise((resolve) => terminal.once("close", resolve));
    await until(() => screen.includes("key (not shown"), { timeoutMs: LIMIT });
    terminal.stdin.write("sk-wrong\u0015sk-typedX\u007F\r");
    await closed;
    expect(screen).toContain("was saved, with a key");
    expect(screen).not.toContain("sk-");
    expect(JSON.parse(gateway.seen[0]?.body ?? "")).toMatchObject({ key: "sk-typed" });
  });
});
