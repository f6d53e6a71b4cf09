/** Runs that ask: the real command as a child process against a coordinator at the wire. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { runJson, StubGateway, type StubRun } from "../testing/stub-gateway.ts";
import { ownEnvironment, startYao, YAO, type YaoProcess } from "../testing/yao-process.ts";

let gateway: StubGateway;
let home: string;
let run: StubRun;
let children: ChildProcess[] = [];

beforeEach(async () => {
  gateway = await new StubGateway().start();
  home = mkdtempSync(join(tmpdir(), "yao-cli-"));
  run = gateway.addRun({ id: "run_1", state: "running", events: [] });
  gateway.route("POST", "/v1/workspaces/default/runs", () => ({ json: { run: runJson(run) } }));
});
afterEach(async () => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
  await gateway.stop();
  rmSync(home, { recursive: true, force: true });
});

const LIMIT = 30_000;

function environment(): Record<string, string> {
  return { YAO_URL: gateway.url, YAO_TOKEN: "yao_test", YAO_HOME: home };
}

function yao(...args: readonly string[]): YaoProcess {
  const command = startYao(args, environment());
  children.push(command.child);
  return command;
}

function item(id: string): object {
  const text = "bash needs your approval";
  return { id, kind: "approval", tool: "bash", arguments: { command: id }, text, choices: [], arguments_cut: false };
}

/** The run asks for approvals, as the coordinator tells it. */
function ask(...ids: readonly string[]): void {
  run.state = "waiting";
  gateway.route("GET", "/v1/runs/run_1", () => ({
    json: { run: { ...runJson(run), pending: run.state === "waiting" ? ids.map(item) : [] } },
  }));
  gateway.emit(run, { kind: "run.asked", data: { pending: ids.map(item) } });
}

/** Takes answers; the run goes on to its end with the last of them. */
function takeAnswers(count: number): object[] {
  const taken: object[] = [];
  gateway.route("POST", "/v1/runs/run_1/answer", ({ body }) => {
    const answer = JSON.parse(body) as { readonly call_id: string };
    taken.push(answer);
    gateway.emit(run, { kind: "run.answered", data: { call_id: answer.call_id, decision: "approve", by: "ann" } });
    if (taken.length === count) queueMicrotask(() => gateway.finish(run, "succeeded"));
    return { json: { run: runJson(run) } };
  });
  return taken;
}

test(
  "yao run in a pipe says what is asked and how to answer, exits with 3 and leaves the run alone",
  { timeout: LIMIT },
  async () => {
    const command = yao("run", "hello", "hi");
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    gateway.emit(run, { kind: "message", data: { type: "text", message_id: "M1", props: { content: "I would" } } });
    ask("c1");
    expect(await command.exited).toEqual({ code: 3, signal: null });
    expect(command.stdout()).toBe("I would\n");
    expect(command.stderr()).toBe(
      'yao: run_1 waits for an answer:\nbash needs your approval\n  bash {"command":"c1"}\nanswer with: yao runs answer run_1 --approve  (or --deny, --edit JSON)\n',
    );
    expect(gateway.requests("POST", "/v1/runs/run_1/cancel")).toEqual([]);
  },
);

test("yao runs follow goes on following a run that asks", { timeout: LIMIT }, async () => {
  const command = yao("runs", "follow", "run_1", "--json");
  await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
  ask("c1");
  takeAnswers(1);
  await yao("runs", "answer", "run_1", "--approve").exited;
  expect((await command.exited).code).toBe(0);
  const kinds = command
    .stdout()
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
  expect(kinds).toEqual(["run.asked", "run.answered", "run.finished"]);
});

describe("at a terminal", () => {
  const hasScript = spawnSync("script", ["--version"]).status === 0;

  interface Screen {
    readonly child: ChildProcess;
    readonly text: () => string;
    readonly code: Promise<number | null>;
  }

  function terminal(...args: readonly string[]): Screen {
    const words = [...YAO, ...args].map((word) => `'${word}'`).join(" ");
    const child = spawn("script", ["-qec", words, "/dev/null"], {
      env: { ...ownEnvironment(), ...environment(), TERM: "xterm", NO_COLOR: "1" },
    });
    children.push(child);
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    return { child, text: () => text, code: new Promise((resolve) => child.once("close", (code) => resolve(code))) };
  }

  const prompts = (screen: Screen): number => screen.text().split("approve? [").length - 1;

  test.skipIf(!hasScript)(
    "each thing is asked until there is an answer, and the run goes on in place",
    { timeout: LIMIT },
    async () => {
      const screen = terminal("run", "hello", "hi");
      await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
      const taken = takeAnswers(2);
      ask("c1", "c2");
      await until(() => prompts(screen) === 1, { timeoutMs: LIMIT });
      screen.child.stdin?.write("maybe\n");
      await until(() => prompts(screen) === 2, { timeoutMs: LIMIT });
      screen.child.stdin?.write("no not c1\n");
      await until(() => prompts(screen) === 3, { timeoutMs: LIMIT });
      screen.child.stdin?.write("y\n");
      expect(await screen.code).toBe(0);
      expect(taken).toEqual([
        { call_id: "c1", decision: "deny", text: "not c1" },
        { call_id: "c2", decision: "approve" },
      ]);
    },
  );

  test.skipIf(!hasScript)("what somebody else answers is asked no longer", { timeout: LIMIT }, async () => {
    const screen = terminal("run", "hello", "hi");
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    ask("c1");
    await until(() => prompts(screen) === 1, { timeoutMs: LIMIT });
    gateway.emit(run, { kind: "run.answered", data: { call_id: "c1", decision: "deny", by: "user:ann" } });
    await until(() => screen.text().includes("answered by user:ann: deny"), { timeoutMs: LIMIT });
    gateway.finish(run, "succeeded");
    expect(await screen.code).toBe(0);
    expect(gateway.requests("POST", "/v1/runs/run_1/answer")).toEqual([]);
  });

  test.skipIf(!hasScript)(
    "the end of the input leaves the run waiting, with exit code 3",
    { timeout: LIMIT },
    async () => {
      const screen = terminal("run", "hello", "hi");
      await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
      ask("c1", "c2");
      await until(() => prompts(screen) === 1, { timeoutMs: LIMIT });
      screen.child.stdin?.write("\u0004");
      expect(await screen.code).toBe(3);
      for (const id of ["c1", "c2"]) expect(screen.text()).toContain(`yao runs answer run_1 --call ${id} --approve`);
    },
  );

  test.skipIf(!hasScript)("Ctrl-C at the question cancels the run", { timeout: LIMIT }, async () => {
    const screen = terminal("run", "hello", "hi");
    await until(() => gateway.openStreams === 1, { timeoutMs: LIMIT });
    ask("c1");
    await until(() => prompts(screen) === 1, { timeoutMs: LIMIT });
    screen.child.stdin?.write("\u0003");
    expect(await screen.code).toBe(130);
    expect(run.state).toBe("cancelled");
  });
});

describe("yao runs answer", () => {
  test.each([
    [["--approve"], { decision: "approve" }],
    [["--deny"], { decision: "deny" }],
    [["--deny", "--text", "no"], { decision: "deny", text: "no" }],
    [["--edit", '{"command":"ls"}'], { decision: "edit", arguments: { command: "ls" } }],
    [["--text", "blue"], { decision: "answer", text: "blue" }],
  ])("%j finds the one thing that is asked", { timeout: LIMIT }, async (flags, expected) => {
    ask("c1");
    const taken = takeAnswers(9);
    const command = yao("runs", "answer", "run_1", ...flags);
    expect((await command.exited).code).toBe(0);
    expect(command.stdout()).toBe("run_1 waiting\n");
    expect(taken).toEqual([{ call_id: "c1", ...expected }]);
  });

  test(
    "of several things the one that is named, and without a name it says which there are",
    { timeout: LIMIT },
    async () => {
      ask("c1", "c2");
      const taken = takeAnswers(9);
      const unnamed = yao("runs", "answer", "run_1", "--approve");
      expect((await unnamed.exited).code).toBe(1);
      expect(unnamed.stderr()).toContain("choose one: --call c1 (bash), --call c2 (bash)");
      expect((await yao("runs", "answer", "run_1", "--call", "c2", "--approve").exited).code).toBe(0);
      expect(taken).toEqual([{ call_id: "c2", decision: "approve" }]);
    },
  );

  test.each([
    [[], "give --approve, --deny, --edit or --text"],
    [["--approve", "--deny"], "give only one of"],
    [["--approve", "--text", "x"], "--text goes with --deny"],
    [["--edit", "ls"], "must be a JSON object"],
  ])("%j is wrong usage", { timeout: LIMIT }, async (flags, says) => {
    const command = yao("runs", "answer", "run_1", ...flags);
    expect((await command.exited).code).toBe(2);
    expect(command.stderr()).toContain(says);
    expect(gateway.seen).toEqual([]);
  });

  test("a run that asks nothing is told with its state", { timeout: LIMIT }, async () => {
    const command = yao("runs", "answer", "run_1", "--approve");
    expect((await command.exited).code).toBe(1);
    expect(command.stderr()).toBe("yao: run_1 asks nothing: it is running — see `yao runs show run_1`\n");
  });
});

test("yao runs show says what is asked and how to answer", { timeout: LIMIT }, async () => {
  ask("c1");
  const command = yao("runs", "show", "run_1");
  expect((await command.exited).code).toBe(0);
  expect(command.stdout()).toMatch(/^state: +waiting$/m);
  expect(command.stdout()).toContain("answer with: yao runs answer run_1 --approve");
});
