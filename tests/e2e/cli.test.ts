/** The command line against a whole real system, as people and scripts use it. */

import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type LlmServer, startLlmServer } from "../llm-server/index.ts";
import { freePort, type Outcome, YaoHome, type YaoProcess } from "./yao-command.ts";

interface Run {
  readonly id: string;
  readonly state: string;
  readonly node: string;
  readonly reason: string;
}

let home: YaoHome;
let device: YaoHome;
let llm: LlmServer;
let url: string;

beforeAll(async () => {
  home = new YaoHome();
  device = new YaoHome();
  llm = await startLlmServer();
  const system = await home.up(["--json"]);
  url = (JSON.parse(system.stdout()) as { url: string }).url;
});
afterAll(async () => {
  await device?.[Symbol.asyncDispose]();
  await home?.[Symbol.asyncDispose]();
  await llm?.stop();
});

/** Runs `yao ARGS` on the device that joins. */
function onDevice(...args: readonly string[]): Promise<Outcome> {
  return device.run([...args, "--data", device.dir]);
}

async function runs(): Promise<readonly Run[]> {
  return (await home.json<{ runs: readonly Run[] }>(["runs", "list", "--limit", "200"])).runs;
}

async function stateOf(id: string): Promise<Run> {
  return (await home.json<{ run: Run }>(["runs", "show", id])).run;
}

async function untilState(id: string, state: string): Promise<Run> {
  return await until(
    async () => {
      const run = await stateOf(id);
      return run.state === state && run;
    },
    { timeoutMs: 30_000, everyMs: 100, what: `${id} to be ${state}` },
  );
}

/** Starts a run that goes on for a minute and waits until it has said something. */
async function slowRun(args: readonly string[] = []): Promise<YaoProcess> {
  const command = home.start(["run", "slow", "/slow 60s", ...args], { isJob: true });
  await until(() => command.stdout() !== "", { timeoutMs: 30_000, what: `output; ${command.stderr()}` });
  return command;
}

/** The command of a system for all of `--help`. */
async function helpOf(words: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await home.run([...words, "--help"]);
  expect([words, code, stderr]).toEqual([words, 0, ""]);
  expect(stdout, words.join(" ")).toMatch(/^Examples?:\n {2}\$ .*yao /m);
  const [, list = ""] = stdout.split("\nCommands:\n");
  const [commands = ""] = list.split("\n\n");
  return [...commands.matchAll(/^ {2}([a-z]+)/gm)].map((match) => match[1]!).filter((name) => name !== "help");
}

describe("usage", () => {
  test("every command has a help with an example", async () => {
    const groups = await helpOf([]);
    expect(groups.length).toBeGreaterThan(10);
    const leaves: string[][] = [];
    for (const group of groups) {
      const commands = await helpOf([group]);
      leaves.push(...commands.map((name) => [group, name]));
    }
    const deeper = await Promise.all(leaves.map(helpOf));
    await Promise.all(deeper.flatMap((names, at) => names.map((name) => helpOf([...leaves[at]!, name]))));
    expect(leaves.length).toBeGreaterThan(30);
  });

  test.each([
    [["runn", "hello"], "unknown command 'runn'; did you mean `run` or `runs`? — see `yao --help`"],
    [["node", "lst"], "unknown command 'lst'; did you mean `list`? — see `yao node --help`"],
    [["run", "hello", "hi", "--nod", "x"], "unknown option '--nod'; did you mean `--node`? — see `yao run --help`"],
    [["run"], "missing required argument 'assistant' — see `yao run --help`"],
    [["run", "hello"], "missing required argument 'text' — see `yao run --help`"],
    [
      ["run", "hello", "good", "morning"],
      "too many arguments for 'run'. Expected 2 arguments but got 3 — see `yao run --help`",
    ],
    [["run", "hello", "hi", "--label", "gpu"], /"gpu" must have the form key=value — see `yao run --help`$/],
    [["run", "hello", "hi", "--timeout", "soon"], /"soon" must be a duration such as 30s, 15m or 2h — see/],
    [["runs", "list", "--limit", "0"], /"0" must be a whole number from 1 to 200 — see/],
    [
      ["node", "label", "vm", "gpu="],
      '"gpu=" sets nothing; to remove the label write gpu- — see `yao node label --help`',
    ],
    [["connector", "add", "gpt"], /"gpt" names no model; write TYPE\.MODEL, such as openai\.gpt-4o, or give --model/],
  ])("yao %j is wrong usage: one line that helps, exit code 2", async (args, message) => {
    const { code, stdout, stderr } = await home.run(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr.trimEnd().replace(/^yao: /, "")).toEqual(
      typeof message === "string" ? message : expect.stringMatching(message),
    );
    expect(stderr.split("\n")).toHaveLength(2);
  });

  test.each([
    [["run", "helo", "hi"], /assistant "helo" was not found in workspace default; see yao app list/],
    [["run", "hello", "hi", "--node", "nowhere"], /device "nowhere" is not known; see yao node list/],
    [["run", "hello", "hi", "--workspace", "nope"], /workspace nope was not found.*see: yao workspace list/],
    [["run", "hello", "@/no/such/file"], /\/no\/such\/file cannot be read: no such file or directory — check the name/],
    [["run", "hello", "@/"], /\/ cannot be read: it is a directory — check the name/],
    [["runs", "show", "run_01j8x5k2m3n4p5q6r7s8t9v0w1"], /was not found.*see: yao runs list/],
    [["runs", "follow", "nonsense"], /was not found.*see: yao runs list/],
    [["node", "show", "nowhere"], /device "nowhere" is not known; see yao node list/],
    [["workspace", "use", "nope"], /workspace nope was not found/],
    [["app", "push", "/no/such/app"], /\/no\/such\/app is not there — give the directory of an app/],
    [["connector", "remove", "nope"], /connector nope was not found.*see: yao connector list/],
    [["token", "revoke", "nope"], /token nope was not found; see: yao token list/],
    [
      ["up", "--data", "/dev/null", "--port", "0"],
      /directory \/dev\/null cannot be made: it is not a directory — choose/,
    ],
  ])("yao %j fails: one line with what to do, exit code 1", async (args, message) => {
    const { code, stdout, stderr } = await home.run(args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^yao: .*\n$/);
    expect(stderr).toMatch(message);
  });

  test("without a coordinator it says how to get one", async () => {
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const env = { YAO_URL: nobody, YAO_TOKEN: "yao_none" };
    for (const args of [["run", "hello", "hi"], ["whoami"], ["node", "list"], ["runs", "follow", "run_1"]]) {
      const { code, stdout, stderr } = await home.run(args, { env });
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toBe(
        `yao: no coordinator at ${nobody} — start one with \`yao up\`, or log in with \`yao login URL --token T\`\n`,
      );
    }
  });

  test.each([
    [["whoami"]],
    [["doctor"]],
    [["version"]],
    [["node", "list"]],
    [["runs", "list"]],
    [["app", "list"]],
    [["app", "show", "demo"]],
    [["app", "check", demoAppDirectory]],
    [["connector", "list"]],
    [["workspace", "list"]],
    [["workspace", "show", "default"]],
    [["token", "list"]],
  ])("yao %j --json prints one JSON document and nothing else", async (args) => {
    const { code, stdout, stderr } = await home.run([...args, "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toBeTypeOf("object");
    expect(stdout.trimEnd()).not.toContain("\n");
  });
});

describe("yao run", () => {
  test("the exit code is the run's: 0 succeeded, 1 failed, 1 out of time", async () => {
    expect(await home.run(["run", "hello", "-"], { input: "from a pipe" })).toMatchObject({
      code: 0,
      stdout: "You said: from a pipe\n",
      stderr: "",
    });
    const failed = await home.run(["run", "hello", "/fail not_found no such thing"]);
    expect([failed.code, failed.stdout]).toEqual([1, ""]);
    expect(failed.stderr).toMatch(/^yao: (run_\w+) failed: no such thing — see `yao runs show \1`\n$/);
    const late = await home.run(["run", "slow", "/slow 60s", "--timeout", "1s"]);
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/^yao: run_\w+ failed: the run took longer than its time-out of 1 s — see .*\n$/);
  });

  test("--detach prints the id and leaves; the run is followed, cancelled and retried by it", async () => {
    const { code, stdout, stderr } = await home.run(["run", "slow", "/slow 60s", "--detach"]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^run_\w+\n$/);
    const id = stdout.trim();
    const follower = home.start(["runs", "follow", id], { isJob: true });
    await until(() => follower.stdout() !== "", { timeoutMs: 30_000 });
    // Leaving a run one only watches does not stop it.
    process.kill(-follower.pid, "SIGINT");
    expect((await home.ended(follower)).code).toBe(130);
    expect((await stateOf(id)).state).toBe("running");
    expect((await home.run(["runs", "cancel", id])).code).toBe(0);
    const followed = await home.run(["runs", "follow", id]);
    expect([followed.code, followed.stderr]).toEqual([130, `yao: ${id} was cancelled\n`]);
    const again = (await home.run(["runs", "retry", id])).stdout.trim();
    expect(again).toMatch(/^run_/);
    expect(again).not.toBe(id);
    await home.run(["runs", "cancel", again]);
    await untilState(again, "cancelled");
  });

  test("--json streams one event per line, numbered without a gap", async () => {
    const { code, stdout, stderr } = await home.run(["run", "counter", "/count 50", "--json"]);
    expect([code, stderr]).toEqual([0, ""]);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { seq: number; kind: string });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    expect(events.at(-1)?.kind).toBe("run.finished");
  });

  test("a reader that goes away (`| head -1`) leaves no run and no process behind", async () => {
    const pipe = home.shell('yao run slow "/slow 60s" --json | head -1; echo "${PIPESTATUS[0]}"');
    const { code, stdout, stderr } = await home.ended(pipe);
    const [first = "", status] = stdout.split("\n");
    expect([code, status, stderr]).toEqual([0, "141", ""]);
    const { run_id: id } = JSON.parse(first) as { run_id: string };
    await untilState(id, "cancelled");
    expect(home.processes().filter(({ args }) => args.includes("main.js run "))).toEqual([]);
  });

  test("Ctrl-C cancels the run on the coordinator before the command ends with 130", async () => {
    const command = await slowRun();
    process.kill(-command.pid, "SIGINT");
    const { code, stderr } = await home.ended(command);
    const id = /run_\w+/.exec(stderr)?.[0] ?? "";
    expect([code, stderr]).toEqual([130, `yao: ${id} was cancelled\n`]);
    expect((await stateOf(id)).state).toBe("cancelled");
  });

  test.each([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s does what Ctrl-C does", async (signal, exitCode) => {
    const command = await slowRun();
    command.child.kill(signal);
    const { code, stderr } = await home.ended(command);
    expect(code).toBe(exitCode);
    expect((await stateOf(/run_\w+/.exec(stderr)?.[0] ?? "")).state).toBe("cancelled");
  });

  test("Ctrl-C at any moment of the start leaves no run behind", async () => {
    const commands = Array.from({ length: 16 }, () => home.start(["run", "slow", "/slow 60s"]));
    await Promise.all(
      commands.map(async (command, at) => {
        await delay(at * 75);
        command.child.kill("SIGINT");
      }),
    );
    for (const command of commands) {
      const { code, signal } = await home.ended(command);
      expect(signal ?? code).toBeOneOf(["SIGINT", 130]);
    }
    const living = (await runs()).filter(({ state }) => !["succeeded", "failed", "cancelled"].includes(state));
    expect(living).toEqual([]);
  });
});

describe("tokens", () => {
  async function token(...args: readonly string[]): Promise<{ readonly secret: string; readonly id: string }> {
    const made = await home.json<{ secret: string; token: { id: string } }>(["token", "create", ...args]);
    return { secret: made.secret, id: made.token.id };
  }

  test("a token does what its scopes say and no more, until it is revoked", async () => {
    const { secret, id } = await token("reader", "--scope", "read");
    const env = { YAO_TOKEN: secret };
    expect((await home.run(["runs", "list"], { env })).code).toBe(0);
    for (const args of [
      ["run", "hello", "hi"],
      ["node", "token", "create"],
      ["connector", "remove", "x"],
      ["workspace", "create", "mine"],
      ["token", "create", "more"],
    ]) {
      const { code, stdout, stderr } = await home.run(args, { env });
      expect([args, code, stdout]).toEqual([args, 1, ""]);
      expect(stderr).toMatch(/^yao: .*scope.*\n$/);
    }
    expect((await home.run(["token", "revoke", id])).code).toBe(0);
    const revoked = await home.run(["runs", "list"], { env });
    expect([revoked.code, revoked.stderr]).toEqual([
      1,
      expect.stringMatching(/^yao: .* — log in again with `yao login/),
    ]);
  });

  test("login tries the token before it keeps it, in a file for its owner alone", async () => {
    const { secret } = await token("laptop", "--scope", "read", "--scope", "runs");
    const wrong = await onDevice("login", url, "--token", "yao_wrong");
    expect(wrong.code).toBe(1);
    expect(existsSync(join(device.dir, "cli.json"))).toBe(false);
    const login = device.start(["login", url, "--token", "-", "--data", device.dir], { input: `${secret}\n` });
    expect(await device.ended(login)).toMatchObject({ code: 0, stdout: `logged in at ${url} as admin\n`, stderr: "" });
    expect(statSync(join(device.dir, "cli.json")).mode & 0o777).toBe(0o600);
    expect(await onDevice("run", "hello", "from afar")).toMatchObject({ code: 0, stdout: "You said: from afar\n" });
    expect((await onDevice("logout")).code).toBe(0);
    expect(existsSync(join(device.dir, "cli.json"))).toBe(false);
  });
});

describe("connectors", () => {
  const CANARY = "sk-canary-3e9f1c0d7b";

  test("a key on the command line is refused without repeating it", async () => {
    const { code, stdout, stderr } = await home.run(["connector", "add", "openai.gpt-4o", "--key", CANARY]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/can be read by every user.*--key-env NAME, --key-file PATH or --key-stdin/);
    expect(stderr).not.toContain(CANARY);
  });

  test("a key reaches the provider and nothing else: no process list, log, file, event or answer", async () => {
    const add = ["connector", "add", "openai.scripted", "--host", `${llm.url}/v1`];
    const added = home.start([...add, "--key-stdin"], { input: CANARY });
    const saved = await home.ended(added);
    expect(saved).toMatchObject({ code: 0, stdout: "openai.scripted was saved, with a key\n", stderr: "" });

    llm.enqueue({ text: ["slowly", " but", " surely"], betweenMs: 300 });
    const command = home.start(["run", "hello", "hi", "--connector", "openai.scripted", "--json"]);
    await until(() => command.stdout().includes("slowly"), { timeoutMs: 30_000 });
    const table = home.processes().map(({ args }) => args);
    const done = await home.ended(command);
    expect(done.code).toBe(0);
    expect(llm.requests.at(-1)?.headers["authorization"]).toBe(`Bearer ${CANARY}`);

    // A provider that repeats the key in its complaint must not make it known.
    const error = { message: `Incorrect API key provided: ${CANARY}.`, type: "invalid_request_error" };
    llm.enqueue({ status: 401, body: JSON.stringify({ error }) });
    const refused = await home.run(["run", "hello", "hi", "--connector", "openai.scripted", "--json"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^yao: run_\w+ failed: .*\n$/);

    const list = await home.run(["connector", "list", "--json"]);
    const id = /run_\w+/.exec(refused.stderr)?.[0] ?? "";
    const shown = await home.run(["runs", "show", id, "--json"]);
    for (const text of [...table, done.stdout, refused.stdout, refused.stderr, list.stdout, shown.stdout]) {
      expect(text).not.toContain(CANARY);
    }
    expect(filesWith(CANARY, home.dir)).toEqual([]);
  });

  test("a test makes one tiny call and says what works, or what failed and how to fix it", async () => {
    const add = ["connector", "add", "openai.tested", "--host", `${llm.url}/v1`];
    expect((await home.run([...add, "--key-env", "K"], { env: { K: "sk-tested" } })).code).toBe(0);
    const before = llm.requests.length;
    llm.enqueue({ text: "ok" });
    const works = await home.run(["connector", "test", "openai.tested"]);
    expect([works.code, works.stdout]).toEqual([
      0,
      expect.stringMatching(/^ok: connector openai\.tested: tested answered "ok"/),
    ]);
    expect(llm.requests.length - before).toBe(1);
    llm.enqueue({ status: 401, body: JSON.stringify({ error: { message: "bad key" } }) });
    const refused = await home.run(["connector", "test", "openai.tested"]);
    expect([refused.code, refused.stdout]).toEqual([
      1,
      expect.stringMatching(/^failed: .*\nto fix it: set a valid key/),
    ]);
    const asJson = await home.run(["connector", "test", "demo", "--json"]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ ok: true, fix: "", error_class: "" });
    expect((await home.run(["connector", "test", "nobody"])).code).toBe(1);
    expect((await home.run(["connector", "remove", "openai.tested"])).code).toBe(0);
  });

  test("a key comes from a variable or a file as well, and is kept when the connector is changed without one", async () => {
    const add = ["connector", "add", "openai.scripted", "--host", `${llm.url}/v1`];
    const file = join(device.dir, "key");
    writeFileSync(file, "sk-from-file\n");
    const byFile = await home.run([...add, "--key-file", file]);
    expect(byFile.stdout).toBe("openai.scripted was saved, with a key\n");
    const byVariable = await home.run([...add, "--key-env", "MY_KEY"], { env: { MY_KEY: "sk-from-variable" } });
    expect(byVariable.stdout).toBe("openai.scripted was saved, with a key\n");
    expect((await home.run([...add, "--label", "Mine"])).stdout).toBe("openai.scripted was saved, with a key\n");
    llm.enqueue({ text: "ok" });
    expect((await home.run(["run", "hello", "hi", "--connector", "openai.scripted"])).stdout).toBe("ok\n");
    expect(llm.requests.at(-1)?.headers["authorization"]).toBe("Bearer sk-from-variable");
    const unset = await home.run([...add, "--key-env", "NOT_SET"]);
    expect([unset.code, unset.stderr]).toEqual([1, "yao: NOT_SET is not set — export it first\n"]);
    expect((await home.run(["connector", "remove", "openai.scripted"])).code).toBe(0);
  });
});

describe("a second device", () => {
  async function join_(...more: readonly string[]): Promise<Outcome> {
    const { token } = await home.json<{ token: string }>(["node", "token", "create"]);
    return await onDevice("node", "join", url, "--token", token, ...more);
  }

  async function statusOf(name: string): Promise<string | undefined> {
    const { nodes } = await home.json<{ nodes: readonly { name: string; status: string }[] }>(["node", "list"]);
    return nodes.find((node) => node.name === name)?.status;
  }

  test("joins with the printed command and runs in the background", async () => {
    const printed = (await home.run(["node", "token", "create"])).stdout;
    expect(printed).toMatch(new RegExp(`^yao node join ${url} --token yj_\\S+\\n$`));
    const [, ...words] = printed.trim().split(" ");
    const joined = await onDevice(...words, "--name", "studio", "--label", "gpu=yes", "--no-run");
    expect([joined.code, joined.stdout]).toEqual([0, "this device joined as studio\n"]);
    expect(await statusOf("studio")).toBe("offline");
    const started = await onDevice("node", "run", "--detach");
    expect([started.code, started.stdout]).toEqual([
      0,
      expect.stringMatching(/^studio is ready for work.*yao node stop\n$/),
    ]);
    expect(await statusOf("studio")).toBe("online");
    const again = await onDevice("node", "run");
    expect([again.code, again.stderr]).toEqual([
      1,
      expect.stringMatching(/is in use by the yao node agent \(process \d+\)/),
    ]);
    const { code, stderr } = await onDevice(...words);
    expect([code, stderr]).toEqual([1, expect.stringContaining("is in use by the yao node agent")]);
  });

  test("is chosen by name and by label, renamed and labelled", async () => {
    for (const wish of [
      ["--node", "studio"],
      ["--label", "gpu=yes"],
    ]) {
      const id = (await home.run(["run", "hello", "hi", "--detach", ...wish])).stdout.trim();
      expect((await untilState(id, "succeeded")).node).toBe("studio");
    }
    expect((await home.run(["node", "rename", "studio", "loft"])).stdout).toBe("loft was studio\n");
    expect((await home.run(["node", "label", "loft", "gpu-", "room=top"])).stdout).toBe("loft has labels room=top\n");
    expect(await home.run(["run", "hello", "hi", "--label", "room=top"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("gets nothing while it drains; what waits for it starts when it takes work again", async () => {
    expect((await home.run(["node", "drain", "loft"])).stdout).toBe("loft is draining\n");
    const id = (await home.run(["run", "hello", "hi", "--detach", "--node", "loft"])).stdout.trim();
    expect(await stateOf(id)).toMatchObject({ state: "queued", reason: "waiting for device loft: draining" });
    expect((await home.run(["node", "undrain", "loft"])).stdout).toBe("loft takes work again\n");
    expect((await untilState(id, "succeeded")).node).toBe("loft");
  });

  test("is waited for while it is stopped, and works when it runs again", async () => {
    const refused = await onDevice("node", "leave");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("Stop it first")]);
    expect((await onDevice("node", "stop")).stdout).toMatch(/^stopped \(process \d+\)\n$/);
    expect((await onDevice("node", "stop")).stdout).toBe("no agent runs here\n");
    const id = (await home.run(["run", "hello", "hi", "--detach", "--node", "loft"])).stdout.trim();
    expect(await stateOf(id)).toMatchObject({
      state: "queued",
      reason: expect.stringContaining("waiting for device loft"),
    });
    expect((await onDevice("node", "run", "--detach")).code).toBe(0);
    await untilState(id, "succeeded");
  });

  test("that is removed is cut off, told what to do, and joins again with a new token", async () => {
    const agent = Number(/"pid":(\d+)/.exec(readFileSync(join(device.dir, "node/agent.lock"), "utf8"))?.[1]);
    expect((await home.run(["node", "remove", "loft"])).stdout).toBe("loft was removed\n");
    await until(() => device.processes().every(({ pid }) => pid !== agent), {
      timeoutMs: 5000,
      what: "the agent to end",
    });
    expect(await statusOf("loft")).toBeUndefined();
    const advice = "this device was removed from the mesh; to use it again: yao node leave, then join with a new token";
    const inForeground = await onDevice("node", "run");
    expect([inForeground.code, inForeground.stderr.trimEnd().split("\n").at(-1)]).toEqual([77, `yao: ${advice}`]);
    const inBackground = await onDevice("node", "run", "--detach");
    expect([inBackground.code, inBackground.stderr]).toEqual([1, `yao: ${advice}\n`]);
    expect((await onDevice("node", "leave")).code).toBe(0);
    expect((await join_("--name", "loft", "--detach")).code).toBe(0);
    expect(await home.run(["run", "hello", "hi", "--node", "loft"])).toMatchObject({ code: 0, stderr: "" });
    expect((await onDevice("node", "stop")).code).toBe(0);
  });

  test("a used, a wrong and a malformed join token are told apart, and nothing is kept", async () => {
    await using third = new YaoHome();
    const { token } = await home.json<{ token: string }>(["node", "token", "create"]);
    expect((await third.run(["node", "join", url, "--token", token, "--name", "third", "--no-run"])).code).toBe(0);
    expect((await third.run(["node", "leave"])).code).toBe(0);
    for (const [text, message] of [
      [token, /^yao: the join token was used already; make a new one with: yao node token create\n$/],
      [`${token.slice(0, -4)}AAAA`, /^yao: .*token.*yao node token create\n$/],
      ["secret", /^yao: that is not a join token \(it starts with yj_\); make one with: yao node token create\n$/],
    ] as const) {
      const { code, stdout, stderr } = await third.run(["node", "join", url, "--token", text, "--no-run"]);
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(message);
      expect(existsSync(join(third.dir, "node/node.json"))).toBe(false);
    }
    await home.run(["node", "remove", "third"]);
  });
});

test("two workspaces keep apps, runs and connectors apart", async () => {
  expect((await home.run(["workspace", "create", "team"])).code).toBe(0);
  const none = await home.run(["run", "hello", "hi", "-w", "team"]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('"hello" was not found in workspace team')]);
  expect((await home.run(["app", "push", demoAppDirectory, "--name", "greetings", "-w", "team"])).code).toBe(0);
  expect((await home.run(["workspace", "use", "team"])).stdout).toBe("now working in team\n");
  expect(await home.run(["run", "hello", "hi"])).toMatchObject({ code: 0, stdout: "You said: hi\n" });
  expect(await runs()).toHaveLength(1);
  expect((await home.run(["connector", "add", "demo2", "--type", "demo"])).code).toBe(0);
  expect((await home.run(["workspace", "use", "default"])).code).toBe(0);
  expect((await runs()).length).toBeGreaterThan(1);
  expect((await home.run(["connector", "list"])).stdout).not.toContain("demo2");
  expect((await home.run(["app", "list"])).stdout).not.toContain("greetings");
  const kept = await home.run(["workspace", "delete", "team"]);
  expect([kept.code, kept.stderr]).toEqual([1, expect.stringMatching(/^yao: .*--force.*\n$/)]);
  expect((await home.run(["workspace", "delete", "team", "--force"])).stdout).toBe("team was deleted\n");
  expect((await home.run(["run", "hello", "hi", "-w", "team"])).code).toBe(1);
});

/** Files below a directory whose bytes contain a text. */
function filesWith(text: string, directory: string): readonly string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => existsSync(path) && readFileSync(path).includes(text));
}
