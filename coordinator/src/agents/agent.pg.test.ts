import { bundleApp, demoAppDirectory, readAppDirectory } from "@mesh/assistants";
import * as proto from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { type BoardFixture, startBoard } from "../board/testing/board-fixture.ts";
import { createAgentsApi } from "../context/agent.ts";
import type { AgentsApi } from "../gateway/api/agent.ts";
import type { Call } from "../gateway/operation.ts";
import { ANONYMOUS } from "../auth/caller.ts";

let board: BoardFixture;
let agents: AgentsApi;
let stranger: Call;

beforeEach(async () => {
  board = await startBoard();
  const { tenant, runs } = board.fleet;
  // The fixture's assistant has no package; here the real one is needed.
  await tenant.store.sql`DELETE FROM apps`;
  const bundle = Buffer.from(bundleApp(await readAppDirectory(demoAppDirectory)).bytes);
  await tenant.apps.pushApp({ workspace: "default", app: "demo", bundle, reset_models: false }, board.admin);
  agents = createAgentsApi(tenant, {
    apps: tenant.apps,
    runs,
    publicUrl: () => "http://mesh.test",
    recorded: () => undefined,
  });
  stranger = tenant.as(ANONYMOUS);
});

afterEach(async () => {
  await board[Symbol.asyncDispose]();
});

/** A task whose conversation is one question with its answer. */
async function workedTask(): Promise<proto.Task> {
  const task = await board.create({
    title: "",
    message: "Greet the new people in Bern",
    assistant: "hello",
    start: true,
  });
  await board.keep();
  const { run_id: runId } = await board.get(task.id);
  if (runId === undefined) throw new Error("the task has no run");
  await board.say(runId, "Grüezi mitenand! My key is sk-abcdefghijklmnopqrstuv, my notes are in /home/ann/notes.md");
  await board.end(runId, "succeeded");
  await board.keep();
  return board.get(task.id);
}

const promote = (part: object, call = board.admin) =>
  agents.promoteTask(proto.PromoteTaskRequest.fromPartial(part as never), call);
const share = (part: object, call = board.admin) =>
  agents.createShare(proto.CreateShareRequest.fromPartial({ workspace: "default", ...part } as never), call);

test("a promoted task is an assistant with the instructions, the connector and the examples of its work", async () => {
  const task = await workedTask();
  const { agent } = await promote({ task: task.key });
  expect(agent).toMatchObject({ id: "greet-the-new-people-in-bern", version: 1, task_key: "T-1", connector: "demo" });
  const { files } = await agents.getAgent({ workspace: "default", agent: agent?.id ?? "" }, board.admin);
  const text = (path: string): string => files.find((file) => file.path.endsWith(path))?.text ?? "";
  expect(text("bern/prompts.yml")).toContain("Greet the new people in Bern");
  expect(JSON.parse(text("tests/inputs.jsonl"))).toMatchObject({ id: "t-1-1", input: "Greet the new people in Bern" });
  expect((await board.get(task.id)).agent).toBe(agent?.id);
  const { assistants } = await board.fleet.tenant.apps.listAssistants({ workspace: "default" }, board.admin);
  expect(assistants.map(({ id }) => id)).toContain(agent?.id);
});

test("promoting again makes the next version under the same id, with what was changed by hand", async () => {
  const task = await workedTask();
  await promote({ task: task.id });
  const { agent } = await promote({ task: task.id, instructions: "Only ever say hello.", name: "Greeter" });
  expect(agent).toMatchObject({ id: "greet-the-new-people-in-bern", version: 2, name: "Greeter" });
  const { files, versions } = await agents.getAgent({ workspace: "default", agent: agent?.id ?? "" }, board.admin);
  expect(files.find(({ path }) => path.endsWith("bern/prompts.yml"))?.text).toContain("Only ever say hello.");
  expect(versions.map(({ version }) => version)).toEqual([2, 1]);
});

test("an id that is another app's assistant is refused, and a viewer promotes nothing", async () => {
  const task = await workedTask();
  expect((await refusal(promote({ task: task.id, agent: "slow" }))).code).toBe("already_exists");
  const viewer = await board.fleet.tenant.user("vera", ["tasks"], { workspace: "default", role: "viewer" });
  expect((await refusal(promote({ task: task.id }, board.fleet.tenant.as(viewer)))).code).toBe("permission_denied");
  const foreigner = await board.fleet.tenant.user("fred", ["tasks"]);
  expect((await refusal(promote({ task: task.id }, board.fleet.tenant.as(foreigner)))).code).toBe("not_found");
  expect((await agents.listAgents({ workspace: "default" }, board.admin)).agents).toEqual([]);
});

test("a shared task opens without a log-in, without secrets and home directories; a revoked link opens nothing", async () => {
  const task = await workedTask();
  const { code, url, share: made } = await share({ task: task.key });
  expect(url).toBe(`http://mesh.test/s/${code}`);
  const opened = await agents.openShare({ code }, stranger);
  expect(opened).toMatchObject({ kind: "task", access: "view", run_state: "succeeded" });
  const said = JSON.stringify(opened.messages);
  expect(said).toContain("Grüezi");
  expect(said).not.toMatch(/sk-abc|\/home\/ann/);
  expect((await agents.listShares({ workspace: "default" }, board.admin)).shares).toMatchObject([
    { opened: 1, kind: "task" },
  ]);
  await agents.revokeShare({ workspace: "default", share: made?.id ?? "" }, board.admin);
  expect((await refusal(agents.openShare({ code }, stranger))).code).toBe("not_found");
});

test("an expired link, and one whose maker lost the workspace, are as if they had never been", async () => {
  const task = await workedTask();
  const { tenant } = board.fleet;
  const expired = await share({ task: task.id, ttl_seconds: 60 });
  await tenant.store.sql`UPDATE shares SET expires_at = now() - interval '1 s'`;
  expect((await refusal(agents.openShare({ code: expired.code }, stranger))).code).toBe("not_found");
  const member = await tenant.user("mia", ["tasks"], { workspace: "default", role: "member" });
  const hers = await share({ task: task.id }, tenant.as(member));
  expect((await agents.openShare({ code: hers.code }, stranger)).kind).toBe("task");
  await tenant.workspaces.removeMember({ workspace: "default", user: "mia" }, board.admin);
  expect((await refusal(agents.openShare({ code: hers.code }, stranger))).code).toBe("not_found");
});

test("a link to run starts runs of its agent as the one who shared it, and reads only those", async () => {
  const task = await workedTask();
  const { agent } = await promote({ task: task.id });
  const { code } = await share({ agent: agent?.id, access: "run" });
  const { run } = await agents.runShare({ code, input: "hello" }, stranger);
  expect(await agents.getShareRun({ code, run }, stranger)).toMatchObject({ state: "queued" });
  const { runs } = await board.fleet.runs.listRuns(
    proto.ListRunsRequest.fromPartial({ workspace: "default" }),
    board.admin,
  );
  expect(runs.find(({ id }) => id === run)).toMatchObject({ assistant: agent?.id, created_by: "user:admin" });
  const other = runs.find(({ id }) => id !== run)?.id ?? "";
  expect((await refusal(agents.getShareRun({ code, run: other }, stranger))).code).toBe("not_found");
  const view = await share({ agent: agent?.id });
  expect((await refusal(agents.runShare({ code: view.code, input: "x" }, stranger))).code).toBe("permission_denied");
});

test("runs through one link are bounded per hour, however many come at once", async () => {
  const task = await workedTask();
  const { agent } = await promote({ task: task.id });
  const { code } = await share({ agent: agent?.id, access: "run" });
  await board.fleet.tenant.store.sql`UPDATE shares SET window_runs = 57`;
  const tries = Array.from({ length: 10 }, () => refusal(agents.runShare({ code, input: "x" }, stranger)));
  const codes = (await Promise.all(tries)).map((each) => each.code);
  expect(codes.filter((each) => each === "ok")).toHaveLength(3);
  expect(codes.filter((each) => each === "resource_exhausted")).toHaveLength(7);
  await board.fleet.tenant.store.sql`UPDATE shares SET window_at = now() - interval '61 min'`;
  expect((await refusal(agents.runShare({ code, input: "x" }, stranger))).code).toBe("ok");
});

test("what is shared is named, once, and a task is not to be run", async () => {
  const task = await workedTask();
  expect((await refusal(share({}))).code).toBe("invalid_argument");
  expect((await refusal(share({ task: task.id, agent: "x" }))).code).toBe("invalid_argument");
  expect((await refusal(share({ task: task.id, access: "run" }))).code).toBe("invalid_argument");
  expect((await refusal(share({ agent: "hello" }))).code).toBe("not_found");
});

test("a removed agent takes its links along and leaves its task", async () => {
  const task = await workedTask();
  const { agent } = await promote({ task: task.id });
  const { code } = await share({ agent: agent?.id, access: "run" });
  await agents.removeAgent({ workspace: "default", agent: agent?.id ?? "" }, board.admin);
  expect((await refusal(agents.openShare({ code }, stranger))).code).toBe("not_found");
  expect((await board.get(task.id)).agent).toBeUndefined();
});
