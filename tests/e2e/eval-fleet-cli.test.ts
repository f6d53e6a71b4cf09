/** `yao agent eval … --nodes` as a user has it: the built command, a coordinator and devices, compared with the same eval here. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { until } from "@mesh/kernel";
import { CreateEvalRequest, EvalServiceService, type FollowEvalResponse } from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { callGrpc } from "./grpc-call.ts";
import { type Outcome, YaoHome } from "./yao-command.ts";

const LIMIT = { timeout: 120_000 };
const CASES = [
  { id: "hello", input: "Hello", assert: { type: "contains", value: "Hello" } },
  { id: "wrong", input: "Hello", assert: { type: "contains", value: "absent" } },
  { id: "later", input: "x", skip: true },
  {
    id: "file",
    input: {
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "file", source: "file://note.txt" },
      ],
    },
    assert: { type: "contains", value: "badgers" },
  },
  ...Array.from({ length: 20 }, (_none, n) => ({
    id: `more-${n}`,
    input: `say ${n}`,
    assert: { type: "contains", value: String(n) },
  })),
];
const GOOD = [{ id: "one", input: "Hello", assert: { type: "contains", value: "Hello" } }];

interface Row {
  readonly type: string;
  readonly id: string;
  readonly run: number;
  readonly status: string;
  readonly device?: string;
  readonly [field: string]: unknown;
}

let mesh: TestMesh;
let home: YaoHome;
let app: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "alpha" }, { name: "beta", labels: { site: "home" } }] });
  home = new YaoHome();
  app = join(home.dir, "app");
  const folder = join(app, "assistants", "echo");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.yao"), JSON.stringify({ name: "Echo", connector: "demo" }));
  writeFileSync(join(folder, "prompts.yml"), "- role: system\n  content: Help.\n");
  writeFileSync(join(app, "note.txt"), "about badgers");
  writeFileSync(join(app, "cases.jsonl"), CASES.map((each) => JSON.stringify(each)).join("\n"));
  writeFileSync(join(app, "good.jsonl"), GOOD.map((each) => JSON.stringify(each)).join("\n"));
  env = { YAO_URL: mesh.api.url, YAO_TOKEN: mesh.api.token };
});

afterAll(async () => {
  await home?.[Symbol.asyncDispose]();
  await mesh?.stop();
});

const shell = (line: string): Promise<Outcome> => home.ended(home.shell(`cd '${app}' && ${line}`, { env }));

function rowsOf(file: string): readonly Row[] {
  const lines = readFileSync(join(app, file), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Row);
}

function resultsOf(file: string): readonly Row[] {
  return rowsOf(file)
    .filter(({ type }) => type === "result")
    .toSorted((a, b) => (`${a.id} ${a.run}` < `${b.id} ${b.run}` ? -1 : 1));
}

/** What must be the same wherever it ran. */
const essence = ({ device: _device, duration_ms: _ms, assertions: _assertions, trace: _trace, ...row }: Row): object =>
  row;

describe("an eval on devices", () => {
  test("gives the results, the exit code and the forms of one that runs here, with a device each", LIMIT, async () => {
    const here = await shell("yao agent eval echo @cases.jsonl --runs 2 -o here.jsonl");
    const there = await shell("yao agent eval echo @cases.jsonl --runs 2 --nodes all -o there.jsonl");
    expect([here.code, there.code], there.stderr + there.stdout).toEqual([1, 1]);
    expect(resultsOf("there.jsonl").map(essence)).toEqual(resultsOf("here.jsonl").map(essence));
    expect(new Set(resultsOf("there.jsonl").map(({ device }) => device))).toEqual(new Set(["alpha", "beta"]));
    expect(there.stdout).toMatch(/► \[hello\] Hello run 1\/2 PASSED \(.*\) on (alpha|beta)/);
    expect(there.stdout).toMatch(/ {2}Devices\n {2}alpha: .*\n {2}beta: /);
    const [start] = rowsOf("there.jsonl");
    expect(start).toMatchObject({ type: "start", suite: rowsOf("here.jsonl")[0]?.["suite"], runs: 2 });
    expect(rowsOf("there.jsonl").at(-1)).toMatchObject({ type: "summary", complete: true, total: CASES.length });
  });

  test("is 0 when all passed; the bundle is not sent again; a report can be had later in any form", LIMIT, async () => {
    const first = await shell("yao agent eval echo @good.jsonl --each -o each.html");
    expect(first.code, first.stderr + first.stdout).toBe(0);
    const page = readFileSync(join(app, "each.html"), "utf8");
    expect(page).toContain("Cases by device");
    const again = await shell("yao agent eval echo @good.jsonl --nodes label=site=home --json --watch");
    expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining("pushing")]);
    const events = again.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Row);
    expect(events.find(({ type }) => type === "test_result")).toMatchObject({ device: "beta", status: "passed" });
    const [devices] = events.filter(({ type }) => type === "devices");
    expect(devices?.["nodes"]).toEqual([
      expect.objectContaining({ name: "alpha", state: "unfit", reason: "label site=home missing" }),
      expect.objectContaining({ name: "beta", state: "active" }),
    ]);
    const { evals } = JSON.parse((await shell("yao evals list --json")).stdout) as {
      readonly evals: readonly { readonly id: string; readonly state: string }[];
    };
    expect(evals[1]).toMatchObject({ state: "ended" });
    const id = evals[1]?.id ?? "";
    const report = await shell(`yao evals report ${id} -o later.md && yao evals report ${id} -o later.xml`);
    expect(report.code, report.stderr).toBe(0);
    expect(readFileSync(join(app, "later.md"), "utf8")).toContain("| one | ✅ | ✅ |");
    expect(readFileSync(join(app, "later.xml"), "utf8")).toContain('<property name="device" value="alpha"/>');
    const shown = await shell(`yao evals show ${id}`);
    expect(shown.stdout).toMatch(/alpha +- .*\n(?:.*\n)*beta/);
    const followed = await shell(`yao evals follow ${id}`);
    expect([followed.code, followed.stdout]).toEqual([0, expect.stringContaining("ALL TESTS PASSED")]);
    expect((await shell(`yao evals remove ${id}`)).code).toBe(0);
    expect((await shell(`yao evals show ${id}`)).stderr).toContain("was not found");
  });

  test("shows where it would run, and why not elsewhere, without running", LIMIT, async () => {
    const plan = await shell("yao agent eval echo @good.jsonl --nodes label=site=home --dry-run");
    expect(plan.code, plan.stderr).toBe(0);
    expect(plan.stdout).toMatch(/○ \[one\] Hello/);
    expect(plan.stdout).toMatch(/alpha +unfit +\S+ +\d+ +label site=home missing/);
    expect(plan.stdout).toMatch(/beta +active/);
    const nobody = await shell("yao agent eval echo @good.jsonl --nodes gamma --dry-run");
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('no device "gamma"')]);
  });

  test("goes on while the coordinator is killed, and ends as if nothing had been", LIMIT, async () => {
    writeFileSync(
      join(app, "slow.jsonl"),
      Array.from({ length: 12 }, (_none, n) => JSON.stringify({ id: `slow-${n}`, input: "/slow 500ms" })).join("\n"),
    );
    const command = home.shell(`cd '${app}' && yao agent eval echo @slow.jsonl --nodes all -o slow.jsonl.out.jsonl`, {
      env,
    });
    await until(() => command.stdout().includes("PASSED"), { timeoutMs: 60_000, what: "a first result" });
    await mesh.coordinators[0]?.kill();
    await mesh.restartCoordinator();
    const { code, stdout, stderr } = await home.ended(command, 100_000);
    expect(code, stderr + stdout).toBe(0);
    const ids = resultsOf("slow.jsonl.out.jsonl").map(({ id }) => id);
    expect([ids.length, new Set(ids).size]).toEqual([12, 12]);
  });

  test("left detached goes on; interrupted once it is cancelled and never 0", LIMIT, async () => {
    const detached = await shell("yao agent eval echo @good.jsonl --nodes all --detach");
    expect(detached.stdout).toMatch(/^eval_\w{26}\n$/);
    const id = detached.stdout.trim();
    expect((await shell(`yao evals follow ${id}`)).code).toBe(0);
    const args = ["agent", "eval", "-n", "echo", "-a", app, "-i", join(app, "slow.jsonl"), "--nodes", "1", "--json"];
    const command = home.start([...args, "-o", join(app, "stopped.json")], { env });
    await until(() => command.stdout().includes('"test_result"'), { timeoutMs: 60_000, what: "a first result" });
    command.child.kill("SIGINT");
    const { code, stdout } = await home.ended(command);
    expect(code).toBe(130);
    const summary = JSON.parse(
      stdout
        .trim()
        .split("\n")
        .find((line) => line.includes('"type":"summary"')) ?? "{}",
    ) as object;
    expect(summary).toMatchObject({ complete: false });
    expect(JSON.parse(readFileSync(join(app, "stopped.json"), "utf8"))).toMatchObject({ summary: { complete: false } });
    const { evals } = JSON.parse((await shell("yao evals list --state cancelled --json")).stdout) as {
      readonly evals: readonly { readonly id: string; readonly reason: string }[];
    };
    expect(evals).toEqual([expect.objectContaining({ reason: "cancelled by admin" })]);
    const resumed = await shell(`yao evals resume ${evals[0]?.id} --follow -o whole.jsonl`);
    expect(resumed.code, resumed.stderr + resumed.stdout).toBe(0);
    expect(resultsOf("whole.jsonl")).toHaveLength(12);
  });

  test("made over gRPC is followed over gRPC, and read over HTTP, as one", LIMIT, async () => {
    const target = { address: mesh.grpcAddress, token: mesh.api.token };
    await shell("yao app push . --name mine");
    const request = CreateEvalRequest.fromPartial({
      workspace: "default",
      assistant: "echo",
      cases: GOOD,
      settings: { runs: 3 },
    });
    const made = (await callGrpc(target, { service: EvalServiceService, method: "createEval" }, request)) as {
      readonly eval: { readonly id: string; readonly app: string };
    };
    expect(made.eval.app).toBe("mine");
    const { id } = made.eval;
    const follow = { eval: id, after_seq: 0, brief: false };
    const told = (await callGrpc(
      target,
      { service: EvalServiceService, method: "followEval" },
      follow,
    )) as readonly FollowEvalResponse[];
    const last = told.at(-1)?.event;
    expect(last?.$case === "eval" ? last.value : {}).toMatchObject({ state: "ended", counts: { total: 3, passed: 3 } });
    const page = await mesh.api.call<{ results: readonly object[] }>("GET", `/v1/evals/${id}/results`);
    const results = told.flatMap(({ event }) => (event?.$case === "result" ? [event.value] : []));
    expect(JSON.parse(JSON.stringify(results))).toEqual(page.results);
    expect(page.results).toHaveLength(3);
  });
});
