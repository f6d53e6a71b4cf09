/** Where runs go, and what a waiting run says about why: two devices, one of them with a single slot. */

import { demoAppDirectory } from "@mesh/assistants";
import { until } from "@mesh/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { refusalOf } from "../harness/api-client.ts";
import { type RunView, type RunWish, TestMesh } from "../harness/test-mesh.ts";

const WIDE = "desk";
const NARROW = "laptop";
let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({
    nodes: [
      { name: WIDE, slots: 4, labels: { site: "home" } },
      { name: NARROW, slots: 1, labels: { site: "road" } },
    ],
  });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

const echo = (text: string, more: Partial<RunWish> = {}): Promise<RunView> =>
  mesh.createRun({ assistant: "hello", input: `/echo ${text}`, ...more });
const slow = (time: string, more: Partial<RunWish> = {}): Promise<RunView> =>
  mesh.createRun({ assistant: "slow", input: `/slow ${time}`, ...more });
const cancel = (run: RunView): Promise<unknown> => mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
const running = (run: RunView): Promise<RunView> => mesh.until(run.id, ({ state }) => state === "running", 20_000);

/** What the run says about one device. */
async function verdict(run: RunView, node: string): Promise<{ eligible: boolean; reason: string } | undefined> {
  return (await mesh.run(run.id)).placement?.candidates.find((candidate) => candidate.node === node);
}

describe("a device named by the run", () => {
  test("that is offline is waited for, and gets the run when it is back", async () => {
    expect(await mesh.node(NARROW).process.stop()).toBe(0);
    await mesh.untilNode(NARROW, "offline", 5_000);
    const run = await echo("hello from the road", { node: NARROW });
    expect(run).toMatchObject({ state: "queued", reason: `waiting for device ${NARROW}` });
    expect(run.node).toBeUndefined();
    const explained = await mesh.run(run.id);
    expect(explained.placement?.summary).toBe(`waiting for device ${NARROW}`);
    expect(explained.placement?.candidates).toEqual([
      { node: NARROW, eligible: false, reason: expect.stringMatching(/^offline since \d{4}-/) as string },
    ]);
    // The free device serves others meanwhile; the run does not go there.
    const free = await mesh.ended((await echo("from the desk")).id);
    expect(free).toMatchObject({ state: "succeeded", node: WIDE });
    expect(await mesh.run(run.id)).toMatchObject({ state: "queued", attempt: 0 });
    await mesh.node(NARROW).process.start();
    expect(await mesh.ended(run.id, 15_000)).toMatchObject({
      state: "succeeded",
      node: NARROW,
      output: "hello from the road",
    });
    const kinds = (await mesh.api.pages(run.id)).map(({ kind }) => kind);
    expect(kinds.slice(0, 3)).toEqual(["run.queued", "run.waiting", "run.placed"]);
  });

  test("that does not exist is an error at once", async () => {
    const refusal = await refusalOf(echo("nowhere", { node: "toaster" }));
    expect(refusal).toMatchObject({ status: 404, problem: { code: "not_found" } });
    expect(refusal.problem.detail).toContain("yao node list");
  });

  test("gets the run although another is emptier, and the run says so", async () => {
    const run = await mesh.ended((await echo("here", { node: NARROW })).id);
    expect(run.node).toBe(NARROW);
    expect(run.placement?.summary).toBe(`${NARROW}: named by the run`);
  });
});

describe("labels", () => {
  test("choose the device, and the explanation says why the other was not chosen", async () => {
    const run = await mesh.ended((await echo("on the road", { labels: { site: "road" } })).id);
    expect(run).toMatchObject({ state: "succeeded", node: NARROW });
    expect(await verdict(run, NARROW)).toMatchObject({ eligible: true, reason: expect.stringContaining("chosen") });
    expect(await verdict(run, WIDE)).toEqual({
      node: WIDE,
      eligible: false,
      reason: "label site is home, not road",
    });
  });

  test("that no device has leave the run waiting with the reason, until a device gets them", async () => {
    const run = await echo("on the gpu", { labels: { gpu: "yes" } });
    expect(run).toMatchObject({ state: "queued", reason: "no device matches with gpu=yes" });
    for (const node of [WIDE, NARROW]) {
      expect(await verdict(run, node)).toEqual({ node, eligible: false, reason: "label gpu=yes missing" });
    }
    await mesh.api.call("PATCH", `/v1/nodes/${WIDE}`, { labels: { gpu: "yes" } });
    expect(await mesh.ended(run.id, 10_000)).toMatchObject({ state: "succeeded", node: WIDE });
  });
});

test("demands on system and tools are met by what devices report, or explained", async () => {
  const create = async (requirements: Record<string, unknown>): Promise<RunView> =>
    (
      await mesh.api.call<{ run: RunView }>("POST", "/v1/workspaces/default/runs", {
        assistant: "hello",
        input: "/echo here",
        requirements,
      })
    ).run;
  const { nodes } = await mesh.api.call<{ nodes: { facts: { os: string; arch: string } }[] }>("GET", "/v1/nodes");
  const { os, arch } = nodes[0]!.facts;
  expect(await mesh.ended((await create({ os, arch })).id)).toMatchObject({ state: "succeeded" });
  const odd = await create({ os: "plan9", tools: ["no-such-tool"] });
  expect(odd).toMatchObject({ state: "queued", reason: "no device matches with os plan9, tool no-such-tool" });
  expect(await verdict(odd, WIDE)).toMatchObject({ eligible: false, reason: `os is ${os}, not plan9` });
  await cancel(odd);
});

test("a device whose slots are full takes its queue in order, one at a time, and the queue says why it waits", async () => {
  const holder = await slow("60s", { node: NARROW });
  await running(holder);
  const queue: RunView[] = [];
  for (const text of ["first", "second", "third"]) queue.push(await slow("1s", { node: NARROW, metadata: { text } }));
  for (const run of queue) {
    expect(run).toMatchObject({ state: "queued", reason: `waiting for device ${NARROW}: its only slot is in use` });
    expect(await verdict(run, NARROW)).toMatchObject({ eligible: false, reason: "its only slot is in use" });
  }
  const anywhere = await mesh.ended((await echo("elsewhere")).id);
  expect(anywhere.node).toBe(WIDE);
  await cancel(holder);
  const ended: RunView[] = [];
  for (const run of queue) ended.push(await mesh.ended(run.id, 20_000));
  expect(ended.every(({ state, node }) => state === "succeeded" && node === NARROW)).toBe(true);
  for (const [i, run] of ended.slice(1).entries()) {
    expect(Date.parse(run.started_at!)).toBeGreaterThanOrEqual(Date.parse(ended[i]!.finished_at!));
  }
});

test("a higher priority overtakes runs that wait, and never runs that were placed", async () => {
  const holder = await slow("60s", { node: NARROW });
  await running(holder);
  const usual = await slow("500ms", { node: NARROW });
  const urgent = await slow("500ms", { node: NARROW, priority: 50 });
  expect((await mesh.run(holder.id)).state).toBe("running");
  await cancel(holder);
  const [first, second] = [await mesh.ended(urgent.id, 20_000), await mesh.ended(usual.id, 20_000)];
  expect(Date.parse(second.started_at!)).toBeGreaterThanOrEqual(Date.parse(first.finished_at!));
});

describe("a draining device", () => {
  test("gets nothing new, finishes what it has, and takes work again once undrained", async () => {
    const held = await slow("3s", { node: NARROW });
    await running(held);
    const drained = await mesh.api.call<{ node: { draining: boolean; reason: string } }>(
      "POST",
      `/v1/nodes/${NARROW}/drain`,
      {},
    );
    expect(drained.node).toMatchObject({ draining: true, reason: "draining: 1 run left" });
    const waiting = await echo("after the drain", { node: NARROW });
    expect(waiting).toMatchObject({ state: "queued", reason: `waiting for device ${NARROW}: draining` });
    const byLabel = await echo("by label", { labels: { site: "road" } });
    expect(byLabel).toMatchObject({ state: "queued", reason: "waiting: the devices that fit are draining" });
    expect((await mesh.ended((await echo("elsewhere")).id)).node).toBe(WIDE);
    expect(await mesh.ended(held.id, 20_000)).toMatchObject({ state: "succeeded", node: NARROW });
    await until(
      async () => {
        const { node } = await mesh.api.call<{ node: { reason: string } }>("GET", `/v1/nodes/${NARROW}`);
        return node.reason === "drained";
      },
      { what: "the drained node" },
    );
    // Its slot is free now, and still nothing goes there.
    expect(await mesh.run(waiting.id)).toMatchObject({ state: "queued", attempt: 0 });
    await mesh.api.call("POST", `/v1/nodes/${NARROW}/undrain`, {});
    for (const run of [waiting, byLabel]) {
      expect(await mesh.ended(run.id, 10_000)).toMatchObject({ state: "succeeded", node: NARROW });
    }
  });

  test("hands back at its deadline what it has not finished; a run that may move goes on elsewhere", async () => {
    const stays = await slow("60s", { node: NARROW });
    await running(stays);
    await mesh.api.call("POST", `/v1/nodes/${NARROW}/drain`, { deadline_seconds: 1 });
    const lost = await mesh.ended(stays.id, 20_000);
    expect(lost).toMatchObject({ state: "failed", error: { code: "handed_back" } });
    await mesh.api.call("POST", `/v1/nodes/${NARROW}/undrain`, {});
    await mesh.api.call("PATCH", `/v1/nodes/${WIDE}`, { labels: { movable: "yes" } });
    const moves = await slow("5s", { labels: { movable: "yes" }, on_lost: "replace" });
    expect((await running(moves)).node).toBe(WIDE);
    await mesh.api.call("PATCH", `/v1/nodes/${NARROW}`, { labels: { movable: "yes" } });
    await mesh.api.call("POST", `/v1/nodes/${WIDE}/drain`, { deadline_seconds: 1 });
    const moved = await mesh.ended(moves.id, 40_000);
    expect(moved).toMatchObject({ state: "succeeded", node: NARROW, epoch: 2, attempt: 2 });
    const kinds = (await mesh.api.pages(moves.id)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "run.handed_back")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "run.finished")).toHaveLength(1);
    await mesh.api.call("POST", `/v1/nodes/${WIDE}/undrain`, {});
  });
});
