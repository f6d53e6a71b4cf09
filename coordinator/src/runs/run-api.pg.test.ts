import { until } from "@mesh/kernel";
import { CreateRunRequest, type FollowRunResponse } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";
import { type Fleet, startFleet } from "../membership/testing/fleet.ts";

let fleet: Fleet;
let admin: Call;

beforeEach(async () => {
  fleet = await startFleet();
  admin = fleet.tenant.as(fleet.tenant.admin);
});

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
});

async function seqs(run: string, after_seq: number, call: Call = admin): Promise<number[]> {
  const seen: number[] = [];
  const stream: AsyncIterable<FollowRunResponse> = fleet.runs.followRun({ run, after_seq }, call);
  for await (const { event } of stream) seen.push(event?.seq ?? 0);
  return seen;
}

test("another workspace's run is not found, whatever is asked of it, and a viewer may only look", async () => {
  const run = await fleet.run();
  const stranger = fleet.tenant.as(await fleet.tenant.user("bob", ["runs"]));
  const viewer = fleet.tenant.as(await fleet.tenant.user("eve", ["runs"], { workspace: "default", role: "viewer" }));
  const page = { run, after_seq: 0, limit: 0 };
  const all = (call: Call): (() => Promise<unknown>)[] => [
    () => fleet.runs.getRun({ run }, call),
    () => fleet.runs.listRunEvents(page, call),
    () => fleet.runs.cancelRun({ run }, call),
    () => fleet.runs.retryRun({ run }, call),
  ];
  for (const attempt of [...all(stranger), () => seqs(run, 0, stranger)]) {
    expect((await refusal(attempt())).code).toBe("not_found");
  }
  const outcomes = [];
  for (const attempt of all(viewer)) outcomes.push((await refusal(attempt())).code);
  expect(outcomes).toEqual(["ok", "ok", "permission_denied", "permission_denied"]);
  expect((await refusal(fleet.runs.getRun({ run: "run_nonsense" }, admin))).code).toBe("not_found");
});

test("pages of runs hold each run once, newest first", async () => {
  const made: string[] = [];
  for (let i = 0; i < 7; i += 1) made.push(await fleet.run());
  const seen: string[] = [];
  for (let cursor = ""; ;) {
    const page = await fleet.runs.listRuns(
      { workspace: "default", state: "queued", node: "", limit: 3, cursor },
      admin,
    );
    seen.push(...page.runs.map((run) => run.id));
    cursor = page.next_cursor;
    if (cursor === "") break;
  }
  expect(seen).toEqual(made.toReversed());
});

test("pages of events lead to the end of the log and say when nothing follows", async () => {
  const run = await fleet.run();
  await fleet.runs.cancelRun({ run }, admin);
  const first = await fleet.runs.listRunEvents({ run, after_seq: 0, limit: 2 }, admin);
  expect([first.events.length, first.last_seq, first.ended]).toEqual([2, 2, false]);
  const second = await fleet.runs.listRunEvents({ run, after_seq: first.last_seq, limit: 2 }, admin);
  expect([second.events.map((event) => event.kind), second.ended]).toEqual([["run.finished"], true]);
  const third = await fleet.runs.listRunEvents({ run, after_seq: second.last_seq, limit: 2 }, admin);
  expect([third.events, third.ended]).toEqual([[], true]);
});

test("a follower sees all to the end, ends at once behind it, and is refused beyond it", async () => {
  const run = await fleet.run();
  const following = seqs(run, 0);
  await fleet.runs.cancelRun({ run }, admin);
  expect(await following).toEqual([1, 2, 3]);
  expect(await seqs(run, 3)).toEqual([]);
  expect((await refusal(seqs(run, 4))).code).toBe("out_of_range");
});

test("cancelling is idempotent: one end, one audit entry, and the ended run as the answer", async () => {
  const run = await fleet.run();
  for (let i = 0; i < 3; i += 1) {
    expect((await fleet.runs.cancelRun({ run }, admin)).run).toMatchObject({ state: "cancelled" });
  }
  const audit = await fleet.tenant.store.sql`SELECT 1 FROM audit WHERE action = 'run.cancel'`;
  expect(audit).toHaveLength(1);
  expect((await fleet.runs.getRun({ run }, admin)).run?.last_seq).toBe(3);
});

test("a retry makes a new run of an ended one, and of no other", async () => {
  const run = await fleet.run();
  expect((await refusal(fleet.runs.retryRun({ run }, admin))).message).toContain(`yao runs cancel ${run}`);
  await fleet.runs.cancelRun({ run }, admin);
  const { run: again } = await fleet.runs.retryRun({ run }, admin);
  expect(again).toMatchObject({ state: "queued", input: "hi", retry_of: run });
  expect(again?.id).not.toBe(run);
});

test("a batch of an eval is not in the list, and is not started again by itself", async () => {
  const run = await fleet.run();
  const { sql } = fleet.tenant.store;
  await sql`
    INSERT INTO evals (id, workspace_id, name, assistant_id, bundle_digest, nonce, placement, settings, created_by)
    VALUES ('eval_1', ${fleet.defaultWorkspaceId}, 'e', 'hello', 'd', 'n', '{}', '{}', 'user:admin')`;
  await sql`UPDATE runs SET eval_id = 'eval_1', state = 'failed', finished_at = now() WHERE id = ${run}`;
  const page = { workspace: "default", state: "", node: "", cursor: "", limit: 0 };
  expect((await fleet.runs.listRuns(page, admin)).runs).toEqual([]);
  expect((await refusal(fleet.runs.retryRun({ run }, admin))).message).toContain("yao evals resume eval_1");
});

test("a retry of a run that names a device which was removed says so, and does not wait for ever", async () => {
  await fleet.join(fleet.device(), await fleet.token(), { name: "laptop" });
  const run = await fleet.run("laptop");
  await fleet.nodes.removeNode({ node: "laptop" }, admin);
  await until(async () => (await fleet.runs.getRun({ run }, admin)).run?.state === "failed");
  expect(await refusal(fleet.runs.retryRun({ run }, admin))).toMatchObject({ code: "failed_precondition" });
});

test("what does not exist is named: workspace, assistant, device, state", async () => {
  expect((await refusal(fleet.run("nowhere"))).message).toContain('device "nowhere" is not known');
  const list = { workspace: "default", state: "odd", node: "", limit: 0, cursor: "" };
  expect((await refusal(fleet.runs.listRuns(list, admin))).message).toContain("not a state");
  expect((await refusal(fleet.runs.listRuns({ ...list, state: "", workspace: "none" }, admin))).code).toBe("not_found");
});

test("a run that would not fit into one message is refused before it is stored", async () => {
  expect(await refusal(fleet.run("", "\u6f22".repeat(262_000)))).toMatchObject({ code: "ok" });
  expect(await refusal(fleet.run("", "\u6f22".repeat(262_145)))).toMatchObject({ code: "invalid_argument" });
});

test("a run that names no assistant is of the workspace's default one", async () => {
  const { store } = fleet.tenant;
  const create = async (call: Call, assistant = ""): Promise<string | undefined> => {
    const request = CreateRunRequest.fromPartial({ workspace: "default", assistant, input: "hi" });
    return (await fleet.runs.createRun(request, call)).run?.assistant;
  };
  expect(await create(admin)).toBe("hello");
  await store.sql`
    INSERT INTO assistants (workspace_id, id, app_id, name) SELECT workspace_id, 'zeta', app_id, 'Zeta' FROM assistants`;
  const unset = await refusal(create(admin));
  expect([unset.code, unset.message]).toEqual(["failed_precondition", expect.stringContaining("--default-assistant")]);
  await store.sql`UPDATE workspaces SET settings = settings || '{"default_assistant":"zeta"}'`;
  expect([await create(admin), await create(admin, "hello")]).toEqual(["zeta", "hello"]);
  // The default is no way around what a token is limited to.
  const limited: Call = { ...admin, caller: { ...admin.caller, assistants: ["hello"] } };
  expect((await refusal(create(limited))).code).toBe("not_found");
  await store.sql`DELETE FROM assistants`;
  expect((await refusal(create(admin))).message).toContain("yao app push DIR");
});
