/** Runs that wait for a person, over real processes: they hold nothing while they wait, and nothing is done twice. */

import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { RunServiceService } from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusalOf, type SeenEvent } from "../harness/api-client.ts";
import { type RunView, TestMesh } from "../harness/test-mesh.ts";
import { callGrpc } from "./grpc-call.ts";

const DEVICE = "alpha";
const OTHER = "beta";
let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ coordinators: 2, nodes: [{ name: DEVICE, slots: 1 }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(async () => {
  await mesh?.stop();
});

/** A run that wants to run a command and needs an approval for it, when it waits. */
async function asking(command: string, more: Record<string, unknown> = {}): Promise<RunView> {
  const run = await mesh.createRun({
    assistant: "hello",
    input: `/tool bash ${JSON.stringify({ command })}`,
    options: { tools: ["bash"], approve: ["bash"] },
    ...more,
  });
  return waiting(run.id);
}

async function waiting(runId: string): Promise<RunView> {
  return mesh.until(runId, ({ state }) => state === "waiting", 30_000);
}

async function answer(run: RunView, given: Record<string, unknown>): Promise<RunView> {
  const body = { call_id: run.pending[0]?.id, ...given };
  return (await mesh.api.call<{ run: RunView }>("POST", `/v1/runs/${run.id}/answer`, body)).run;
}

/** Names of the lifecycle events of the output stream, in order. */
function lifecycle(events: readonly SeenEvent[]): string[] {
  return events.flatMap(({ data }) => {
    const props = data["props"] as { event?: string } | undefined;
    return data["type"] === "event" && props?.event !== undefined ? [props.event] : [];
  });
}

/** Ids of messages in the order in which they begin. */
function messageIds(events: readonly SeenEvent[]): string[] {
  return [
    ...new Set(events.flatMap(({ data }) => (typeof data["message_id"] === "string" ? [data["message_id"]] : []))),
  ];
}

/** A file of the workspace's directory on a device. */
function file(device: string, name: string): string {
  const root = join(mesh.node(device).dataDir, "workspaces");
  return join(root, existsSync(root) ? (readdirSync(root)[0] ?? "") : "", name);
}

async function slotsUsed(device: string): Promise<number> {
  const { nodes } = await mesh.api.call<{ nodes: { name: string; slots_used: number }[] }>("GET", "/v1/nodes");
  return nodes.find((node) => node.name === device)?.slots_used ?? -1;
}

describe("an approval", () => {
  test("is asked for in the stream, holds no slot, and lets the tool run once in one unbroken stream", async () => {
    const run = await asking("echo x >> approved.txt");
    expect(run).toMatchObject({ node: DEVICE, reason: "waiting for your approval: bash needs your approval" });
    expect(run.pending).toMatchObject([
      { kind: "approval", tool: "bash", arguments: { command: "echo x >> approved.txt" } },
    ]);
    const following = mesh.api.follow(run.id);
    await until(async () => (await slotsUsed(DEVICE)) === 0, { timeoutMs: 10_000, what: "the slot to be free" });
    // The only slot of the device serves another run meanwhile.
    expect(await mesh.ended((await mesh.createRun({ assistant: "hello", input: "/echo free" })).id)).toMatchObject({
      state: "succeeded",
      output: "free",
    });
    expect(existsSync(file(DEVICE, "approved.txt"))).toBe(false);
    expect(await answer(run, { decision: "approve" })).toMatchObject({ pending: [] });
    const events = await following;
    expect(await mesh.run(run.id)).toMatchObject({ state: "succeeded", node: DEVICE, epoch: 2, attempt: 1 });
    expect(readFileSync(file(DEVICE, "approved.txt"), "utf8")).toBe("x\n");
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind.startsWith("run."))).toEqual([
      "run.queued",
      "run.placed",
      "run.accepted",
      "run.started",
      "run.asked",
      "run.answered",
      "run.requeued",
      "run.placed",
      "run.accepted",
      "run.started",
      "run.finished",
    ]);
    expect(kinds).not.toContain("run.state");
    expect(lifecycle(events).filter((name) => name.startsWith("stream_"))).toEqual(["stream_start", "stream_end"]);
    // M1 the call, M2 what it did, M3 what the model said then: each began once.
    expect(messageIds(events)).toEqual(["M1", "M2", "M3"]);
    const { entries } = await mesh.api.call<{ entries: { action: string; object: string }[] }>("GET", "/v1/audit");
    expect(entries).toContainEqual(expect.objectContaining({ action: "run.answer", object: run.id }));
  });

  test("denied, the model reads why and nothing runs", async () => {
    const run = await asking("echo x > denied.txt");
    await answer(run, { decision: "deny", text: "not on a Friday" });
    const ended = await mesh.ended(run.id);
    expect(ended).toMatchObject({ state: "succeeded" });
    expect(ended.output).toContain("Tool call denied: not on a Friday");
    expect(existsSync(file(DEVICE, "denied.txt"))).toBe(false);
  });

  test("edited, the tool runs with what the person wrote", async () => {
    const run = await asking("echo wrong > edited.txt");
    await answer(run, { decision: "edit", arguments: { command: "echo right > edited.txt" } });
    expect(await mesh.ended(run.id)).toMatchObject({ state: "succeeded" });
    expect(readFileSync(file(DEVICE, "edited.txt"), "utf8")).toBe("right\n");
  });
});

test("a question of the model is answered over gRPC, and the answer reaches the model", async () => {
  const { id } = await mesh.createRun({
    assistant: "hello",
    input: `/tool ask_user ${JSON.stringify({ question: "Which one?", choices: ["red", "blue"] })}`,
    options: { tools: ["ask_user"] },
  });
  const run = await waiting(id);
  expect(run.pending).toMatchObject([
    { kind: "question", tool: "ask_user", text: "Which one?", choices: ["red", "blue"] },
  ]);
  const refusal = await refusalOf(answer(run, { decision: "approve" }));
  expect(refusal.problem.detail).toContain("is a question, which takes answer or deny");
  const target = { address: mesh.grpcAddress, token: mesh.api.token };
  await callGrpc(
    target,
    { service: RunServiceService, method: "answerRun" },
    { run: id, call_id: run.pending[0]?.id, decision: "answer", text: "the blue one" },
  );
  expect(await mesh.ended(id)).toMatchObject({ state: "succeeded", output: "The tool answered: the blue one" });
});

describe("of several answers", () => {
  test("given at once to two replicas, one is taken and the other told which; the same again is harmless", async () => {
    const run = await asking("echo x >> raced.txt");
    const body = { call_id: run.pending[0]?.id };
    const answers = [{ decision: "approve" }, { decision: "deny" }];
    const outcomes = await Promise.allSettled(
      answers.map((given, i) => mesh.apiAt(i).call("POST", `/v1/runs/${run.id}/answer`, { ...body, ...given })),
    );
    const lost = outcomes.find((outcome) => outcome.status === "rejected");
    expect(outcomes.filter((outcome) => outcome.status === "fulfilled")).toHaveLength(1);
    expect(lost?.reason).toMatchObject({ status: 409, problem: { code: "already_exists" } });
    const taken = answers[outcomes.findIndex((outcome) => outcome.status === "fulfilled")]!;
    expect(String(lost?.reason)).toContain(`: ${taken.decision}`);
    await mesh.ended(run.id);
    const { last_seq } = await mesh.run(run.id);
    expect(await answer(run, taken)).toMatchObject({ state: "succeeded", last_seq });
  });

  test("one for what is not asked names what is, and one for a run that does not wait says so", async () => {
    const run = await asking("true");
    const unknown = await refusalOf(answer(run, { call_id: "call_x", decision: "approve" }));
    expect(unknown).toMatchObject({ status: 404 });
    expect(unknown.problem.detail).toContain(`${run.pending[0]?.id} (bash)`);
    await answer(run, { decision: "approve" });
    await mesh.ended(run.id);
    const late = await refusalOf(answer(run, { call_id: "call_x", decision: "approve" }));
    expect(late).toMatchObject({ status: 409, problem: { code: "failed_precondition" } });
    expect(late.problem.detail).toContain("does not wait for an answer: it is succeeded");
  });
});

describe("while a run waits", () => {
  test("cancelling ends it at once, and it can be retried from its beginning", async () => {
    const run = await asking("true");
    const retry = await refusalOf(mesh.api.call("POST", `/v1/runs/${run.id}/retry`));
    expect(retry.problem.detail).toContain(`yao runs cancel ${run.id}`);
    const cancelled = await mesh.api.call<{ run: RunView }>("POST", `/v1/runs/${run.id}/cancel`);
    expect(cancelled.run).toMatchObject({ state: "cancelled", pending: [] });
    expect((await mesh.api.follow(run.id)).at(-1)).toMatchObject({ kind: "run.finished" });
    expect((await refusalOf(answer(run, { decision: "approve" }))).status).toBe(409);
    const { run: again } = await mesh.api.call<{ run: RunView }>("POST", `/v1/runs/${run.id}/retry`);
    await answer(await waiting(again.id), { decision: "approve" });
    expect(await mesh.ended(again.id)).toMatchObject({ state: "succeeded", epoch: 2 });
  });

  test("its device may be drained, and goes on with it when it takes work again", async () => {
    const run = await asking("echo x >> drained.txt");
    await mesh.api.call("POST", `/v1/nodes/${DEVICE}/drain`, { deadline_seconds: 1 });
    await until(async () => (await slotsUsed(DEVICE)) === 0, { timeoutMs: 10_000, what: "an empty device" });
    await answer(run, { decision: "approve" });
    await mesh.until(run.id, ({ reason }) => reason.endsWith(`${DEVICE}, which holds this run's files: draining`));
    await mesh.api.call("POST", `/v1/nodes/${DEVICE}/undrain`, {});
    expect(await mesh.ended(run.id)).toMatchObject({ state: "succeeded", node: DEVICE });
    expect(readFileSync(file(DEVICE, "drained.txt"), "utf8")).toBe("x\n");
  });

  test("its device may be killed and the answer given meanwhile: it goes on there, once, and nowhere else", async () => {
    const run = await asking("echo x >> killed.txt", { timeout_seconds: 20 });
    await mesh.node(DEVICE).process.kill();
    await mesh.addNode({ name: OTHER });
    await mesh.untilNode(DEVICE, "offline");
    await answer(run, { decision: "approve" });
    const queued = await mesh.until(run.id, ({ reason }) => reason !== "");
    expect(queued).toMatchObject({
      state: "queued",
      reason: `waiting for device ${DEVICE}, which holds this run's files`,
    });
    await mesh.node(DEVICE).process.start();
    expect(await mesh.ended(run.id)).toMatchObject({ state: "succeeded", node: DEVICE, attempt: 1 });
    expect(readFileSync(file(DEVICE, "killed.txt"), "utf8")).toBe("x\n");
    rmSync(file(DEVICE, "killed.txt"));
  });

  test("every coordinator may be killed: the answer finds it waiting", async () => {
    const run = await asking("echo x >> coordinator.txt");
    const following = mesh.api.follow(run.id);
    await Promise.all(mesh.coordinators.map((coordinator) => coordinator.kill()));
    await mesh.restartCoordinator(0);
    const still = await mesh.until(run.id, () => true);
    expect(still).toMatchObject({ state: "waiting", pending: run.pending });
    await answer(run, { decision: "approve" });
    expect((await following).at(-1)).toMatchObject({ kind: "run.finished", data: { state: "succeeded" } });
    await mesh.restartCoordinator(1);
  });

  test("a device that is gone for good does not keep a run that may be replaced", async () => {
    const run = await asking("pwd", { on_lost: "replace", node: undefined, labels: {} });
    const home = run.node ?? "";
    const elsewhere = home === DEVICE ? OTHER : DEVICE;
    await mesh.node(home).process.kill();
    await mesh.untilNode(home, "offline");
    await answer(run, { decision: "approve" });
    const ended = await mesh.ended(run.id);
    expect(ended).toMatchObject({ state: "succeeded", node: elsewhere });
    expect(ended.output).toContain(mesh.node(elsewhere).dataDir);
    await mesh.node(home).process.start();
    await mesh.untilNode(home, "online");
  });

  test("removing its device ends it, with the reason", async () => {
    await mesh.addNode({ name: "gamma" });
    const run = await asking("true", { node: "gamma" });
    await mesh.api.call("DELETE", "/v1/nodes/gamma");
    expect(await mesh.ended(run.id)).toMatchObject({
      state: "failed",
      error: { code: "device_removed", message: "device gamma, which this run needs, was removed" },
    });
  });
});
