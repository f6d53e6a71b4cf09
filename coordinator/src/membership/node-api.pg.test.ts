import { subjects } from "@mesh/bus";
import { until } from "@mesh/kernel";
import { Command, UpdateNodeRequest } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import type { Call } from "../gateway/operation.ts";
import { overdueDrains } from "./drain-store.ts";
import { type Device, type Fleet, startFleet } from "./testing/fleet.ts";

let fleet: Fleet;
let admin: Call;

beforeEach(async () => {
  fleet = await startFleet();
  admin = fleet.tenant.as(fleet.tenant.admin);
});

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
});

async function joined(name: string): Promise<Device> {
  const device = fleet.device();
  await fleet.join(device, await fleet.token(), { name });
  return device;
}

/** A device that takes work. */
async function online(name: string): Promise<Device> {
  const device = await joined(name);
  await fleet.tenant.store.sql`
    INSERT INTO node_liveness (node_id, boot_id, hb_seq, seen_at) SELECT id, 'b', 1, now() + interval '1 hour' FROM nodes WHERE name = ${name}
    ON CONFLICT (node_id) DO UPDATE SET seen_at = excluded.seen_at`;
  return device;
}

function update(node: string, over: Partial<UpdateNodeRequest>): ReturnType<Fleet["nodes"]["updateNode"]> {
  return fleet.nodes.updateNode(UpdateNodeRequest.fromPartial({ node, ...over }), admin);
}

async function run(id: string): Promise<Record<string, unknown>> {
  const rows = await fleet.tenant.store.sql`
    SELECT r.state, r.reason, r.error ->> 'code' AS error, n.name AS node FROM runs r LEFT JOIN nodes n ON n.id = r.node_id WHERE r.id = ${id}`;
  return rows[0] as Record<string, unknown>;
}

test("a rename to the name of another device is refused, also when both are renamed at once", async () => {
  await joined("a");
  await joined("b");
  expect(await refusal(update("a", { name: "b" }))).toMatchObject({
    code: "already_exists",
    message: 'another device is named "b"; choose another name',
  });
  const outcomes = await Promise.all([refusal(update("a", { name: "c" })), refusal(update("b", { name: "c" }))]);
  expect(outcomes.map((one) => one.code).toSorted()).toEqual(["already_exists", "ok"]);
});

test("an empty name leaves the name as it is, and the id of a device is no name", async () => {
  await joined("laptop");
  const { node } = await update("laptop", { name: "", labels: { a: "1" } });
  expect(node).toMatchObject({ name: "laptop", labels: { a: "1" } });
  expect((await refusal(update("laptop", { name: node!.id }))).code).toBe("invalid_argument");
});

test("labels that two people set at once are both kept, and an empty value removes one", async () => {
  await joined("a");
  await Promise.all(Array.from({ length: 6 }, (_, i) => update("a", { labels: { [`k${i}`]: "v" } })));
  const { node } = await update("a", { labels: { k0: "" } });
  expect(Object.keys(node!.labels).toSorted()).toEqual(["k1", "k2", "k3", "k4", "k5"]);
  expect((await refusal(update("a", { labels: { "no good": "x" } }))).code).toBe("invalid_argument");
});

test("a device cannot be given zero slots, and reconciling does not stumble over one that has", async () => {
  await joined("a");
  expect(await refusal(update("a", { slots: 0 }))).toMatchObject({ code: "invalid_argument" });
  await fleet.tenant.store.sql`UPDATE nodes SET slots = 0`;
  await fleet.reconciler.reconcile();
});

test("workspaces of a device are given by name or id, and unknown ones are refused", async () => {
  await joined("a");
  const { node } = await update("a", { workspace_ids: { ids: ["default"] } });
  expect(node?.workspace_ids).toEqual([fleet.defaultWorkspaceId]);
  expect((await refusal(update("a", { workspace_ids: { ids: ["nowhere"] } }))).code).toBe("not_found");
  expect((await update("a", { workspace_ids: { ids: [] } })).node?.workspace_ids).toEqual([]);
});

test("who is no administrator cannot change, drain or remove a device that serves more than the caller may use", async () => {
  await joined("a");
  const member = fleet.tenant.as(await fleet.tenant.user("ann", ["nodes"], { workspace: "default", role: "member" }));
  const request = UpdateNodeRequest.fromPartial({ node: "a", labels: { x: "y" } });
  for (const attempt of [
    () => fleet.nodes.updateNode(request, member),
    () => fleet.nodes.drainNode({ node: "a", deadline_seconds: 0 }, member),
    () => fleet.nodes.undrainNode({ node: "a" }, member),
    () => fleet.nodes.removeNode({ node: "a" }, member),
  ]) {
    expect((await refusal(attempt())).code).toBe("permission_denied");
  }
  await update("a", { workspace_ids: { ids: ["default"] } });
  expect((await refusal(fleet.nodes.updateNode(request, member))).code).toBe("ok");
  const open = UpdateNodeRequest.fromPartial({ node: "a", workspace_ids: { ids: [] } });
  expect((await refusal(fleet.nodes.updateNode(open, member))).code).toBe("permission_denied");
});

test("a draining device gets nothing new, and work again when it is undrained", async () => {
  await online("a");
  await fleet.nodes.drainNode({ node: "a", deadline_seconds: 0 }, admin);
  const id = await fleet.run("a");
  expect(await run(id)).toMatchObject({ state: "queued", reason: "waiting for device a: draining" });
  await fleet.nodes.undrainNode({ node: "a" }, admin);
  await until(async () => (await run(id))["state"] === "placed");
});

test("beyond the deadline of a drain the device is asked to hand back until it holds nothing", async () => {
  await online("a");
  const id = await fleet.run("a");
  await fleet.nodes.drainNode({ node: "a", deadline_seconds: 3600 }, admin);
  const { sql } = fleet.tenant.store;
  expect(await overdueDrains(sql)).toEqual([]);
  await sql`UPDATE nodes SET drain_deadline_at = now() - interval '1 s'`;
  expect(await overdueDrains(sql)).toHaveLength(1);
  expect(await overdueDrains(sql)).toHaveLength(1);
  await sql`UPDATE runs SET state = 'failed' WHERE id = ${id}`;
  expect(await overdueDrains(sql)).toEqual([]);
});

test("a removed device gives up its runs: each may start elsewhere, ends as lost or ends as never possible, as it demands", async () => {
  const device = await online("a");
  const [started, replaceable, placed, named] = [
    await fleet.run("a"),
    await fleet.run("a"),
    await fleet.run(),
    await fleet.run("a"),
  ];
  const { sql } = fleet.tenant.store;
  await sql`UPDATE runs SET state = 'running' WHERE id IN (${started}, ${replaceable})`;
  await sql`UPDATE runs SET on_lost = 'replace', requirements = requirements || '{"node_id": "", "node": ""}' WHERE id = ${replaceable}`;
  await fleet.nodes.drainNode({ node: "a", deadline_seconds: 0 }, admin);
  const queued = await fleet.run("a");
  await fleet.nodes.removeNode({ node: "a" }, admin);
  expect(await run(started)).toMatchObject({ state: "lost", error: "device_removed" });
  expect(await run(named)).toMatchObject({ state: "lost", error: "device_removed" });
  expect(await run(queued)).toMatchObject({ state: "failed", error: "device_removed" });
  expect([(await run(replaceable))["state"], (await run(placed))["state"]]).toEqual(["queued", "queued"]);
  expect(await fleet.hub.admin.listWorkConsumers()).not.toContain(device.digest);
  expect(fleet.pushed.length).toBeGreaterThan(0);
  expect((await refusal(fleet.nodes.getNode({ node: "a" }, admin))).code).toBe("not_found");
});

test("a device removed while NATS is away is cut off as soon as it is back", async () => {
  const device = await joined("a");
  fleet.system.cut();
  fleet.bus.cut();
  expect((await refusal(fleet.nodes.removeNode({ node: "a" }, admin))).code).toBe("ok");
  expect(fleet.pushed).toEqual([]);
  fleet.system.heal();
  fleet.bus.heal();
  await until(() => fleet.pushed.length > 0);
  await until(async () => !(await fleet.hub.admin.listWorkConsumers()).includes(device.digest));
});

test("every change tells the device at once", async () => {
  const device = await online("a");
  const told: string[] = [];
  device.bus.subscribe(subjects.command(device.digest), (data) => {
    told.push(Command.decode(data).command?.$case ?? "");
  });
  await update("a", { labels: { a: "1" } });
  await fleet.nodes.drainNode({ node: "a", deadline_seconds: 0 }, admin);
  await until(() => told.length === 2);
  expect(told).toEqual(["poke", "drain"]);
});
