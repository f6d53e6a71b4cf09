import { signWithSeed } from "@mesh/bus";
import { until } from "@mesh/kernel";
import type { RenewNodeRequest } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { renewNode } from "./enrolment.ts";
import { type Device, type Fleet, joinRequest, startFleet } from "./testing/fleet.ts";

let fleet: Fleet;

beforeEach(async () => {
  fleet = await startFleet();
});

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
});

function renewal(device: Device, at_ms: number): RenewNodeRequest {
  const signed = signWithSeed(device.seed, Buffer.from(`yao-renew:${device.nkey}:${at_ms}`));
  return { nkey: device.nkey, at_ms, signature: Buffer.from(signed).toString("base64url") };
}

async function nodeCount(): Promise<number> {
  return (await fleet.nodes.listNodes({}, fleet.tenant.as(fleet.tenant.admin))).nodes.length;
}

test("J1: of many devices that use one token at once, exactly one gets in", async () => {
  const token = await fleet.token();
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, i) => refusal(fleet.join(fleet.device(), token, { name: `d${i}` }))),
  );
  expect(outcomes.filter((one) => one.code === "ok")).toHaveLength(1);
  expect(new Set(outcomes.filter((one) => one.code !== "ok").map((one) => one.message))).toEqual(
    new Set(["the join token was used already; make a new one with: yao node token create"]),
  );
  expect(await nodeCount()).toBe(1);
});

test("J1: an expired and an unknown token are refused, each with its reason", async () => {
  const token = await fleet.token();
  await fleet.tenant.store.sql`UPDATE join_tokens SET expires_at = now() - interval '1 s'`;
  expect((await refusal(fleet.join(fleet.device(), token))).message).toContain("has expired");
  expect((await refusal(fleet.join(fleet.device(), "yj_wrong"))).message).toContain("is not known");
  expect(await nodeCount()).toBe(0);
});

test("J2: a device that did not sign with its key is refused, and the token stays good", async () => {
  const token = await fleet.token();
  const device = fleet.device();
  const request = { ...joinRequest(fleet.device(), token), nkey: device.nkey };
  expect((await refusal(fleet.nodes.joinNode(request, fleet.tenant.as(fleet.tenant.admin)))).code).toBe(
    "unauthenticated",
  );
  expect((await fleet.join(device, token)).node_id).toMatch(/^node_/);
});

test("J3: a bad label or name leaves the token good and no node behind", async () => {
  const token = await fleet.token();
  expect((await refusal(fleet.join(fleet.device(), token, { labels: { "bad key": "x" } }))).code).toBe(
    "invalid_argument",
  );
  expect(await nodeCount()).toBe(0);
  expect((await refusal(fleet.join(fleet.device(), token))).code).toBe("ok");
});

test("J3: a device joins while NATS is away, and its consumer is made when NATS is back", async () => {
  const token = await fleet.token();
  const device = fleet.device();
  fleet.bus.cut();
  fleet.hub.deleteStore();
  expect((await refusal(fleet.join(device, token))).code).toBe("ok");
  fleet.bus.heal();
  await until(async () => {
    const found = await fleet.hub.admin.listWorkConsumers().catch((): string[] => []);
    return found.includes(device.digest);
  });
});

test("J4: a device whose answer was lost joins again with the same token and key, and nobody else does", async () => {
  const token = await fleet.token();
  const device = fleet.device();
  const first = await fleet.join(device, token, { name: "laptop" });
  const second = await fleet.join(device, token, { name: "laptop", labels: { sneaked: "in" } });
  expect([second.node_id, second.name]).toEqual([first.node_id, "laptop"]);
  const { node } = await fleet.nodes.getNode({ node: "laptop" }, fleet.tenant.as(fleet.tenant.admin));
  expect(node?.labels).toEqual({});
  expect((await refusal(fleet.join(fleet.device(), token))).message).toContain("used already");
});

test("a known device that joins again with a new token keeps its name and gets the token's labels", async () => {
  const device = fleet.device();
  const first = await fleet.join(device, await fleet.token(), { name: "laptop" });
  const again = await fleet.join(device, await fleet.token({ labels: { room: "kitchen" } }), { name: "other" });
  expect(again).toMatchObject({ node_id: first.node_id, name: "laptop" });
  const { node } = await fleet.nodes.getNode({ node: "laptop" }, fleet.tenant.as(fleet.tenant.admin));
  expect(node?.labels).toEqual({ room: "kitchen" });
});

test("the key of a removed device is refused, for joining and for renewing", async () => {
  const device = fleet.device();
  await fleet.join(device, await fleet.token(), { name: "laptop" });
  await fleet.nodes.removeNode({ node: "laptop" }, fleet.tenant.as(fleet.tenant.admin));
  expect((await refusal(fleet.join(device, await fleet.token()))).message).toContain("yao node leave");
  expect((await refusal(renewNode(fleet.enrolment, renewal(device, Date.now())))).code).toBe("permission_denied");
});

test("J2: credentials are renewed for who signs with the key, within five minutes of the coordinator's clock", async () => {
  const device = fleet.device();
  await fleet.join(device, await fleet.token());
  const now = Date.now();
  expect((await renewNode(fleet.enrolment, renewal(device, now))).jwt).not.toBe("");
  const forged = { ...renewal(fleet.device(), now), nkey: device.nkey };
  expect((await refusal(renewNode(fleet.enrolment, forged))).code).toBe("unauthenticated");
  expect((await refusal(renewNode(fleet.enrolment, renewal(device, now - 6 * 60_000)))).message).toContain("clock");
});

test("devices that join with one name at the same moment get names of their own", async () => {
  const tokens = await Promise.all(Array.from({ length: 6 }, () => fleet.token()));
  const joined = await Promise.all(tokens.map((token) => fleet.join(fleet.device(), token, { name: "laptop" })));
  expect(joined.map((one) => one.name).toSorted()).toEqual([
    "laptop",
    "laptop-2",
    "laptop-3",
    "laptop-4",
    "laptop-5",
    "laptop-6",
  ]);
});

test("a device cannot take the id of another as its name, and a long host name is cut to a good one", async () => {
  const first = await fleet.join(fleet.device(), await fleet.token(), { name: "laptop" });
  expect((await refusal(fleet.join(fleet.device(), await fleet.token(), { name: first.node_id }))).code).toBe(
    "invalid_argument",
  );
  const hostname = `${"a".repeat(62)}-long.example.org`;
  const facts = { os: "", arch: "", cpus: 1, memory_bytes: 0, hostname, node_version: "", tools: {} };
  const long = [await fleet.token(), await fleet.token()];
  const names = [];
  for (const token of long) names.push((await fleet.join(fleet.device(), token, { facts })).name);
  expect(names).toEqual(["a".repeat(62), `${"a".repeat(61)}-2`]);
});

test("a device of another protocol is told which side to update", async () => {
  expect((await refusal(fleet.join(fleet.device(), await fleet.token(), { protocol: 9 }))).message).toContain(
    "update yao on the coordinator",
  );
});

test("a member who is no administrator lets in devices for the workspaces it may write to, and for no others", async () => {
  const member = await fleet.tenant.user("ann", ["nodes"], { workspace: "default", role: "member" });
  const request = { ttl_seconds: 0, uses: 0, labels: {}, workspace_ids: [] };
  const { token } = await fleet.nodes.createJoinToken(request, fleet.tenant.as(member));
  await fleet.join(fleet.device(), token, { name: "hers" });
  const { node } = await fleet.nodes.getNode({ node: "hers" }, fleet.tenant.as(fleet.tenant.admin));
  expect(node?.workspace_ids).toEqual([fleet.defaultWorkspaceId]);
  const outsider = await fleet.tenant.user("bob", ["nodes"]);
  expect((await refusal(fleet.nodes.createJoinToken(request, fleet.tenant.as(outsider)))).code).toBe(
    "permission_denied",
  );
});
