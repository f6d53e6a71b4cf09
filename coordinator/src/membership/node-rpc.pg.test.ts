import { subjects } from "@mesh/bus";
import { until } from "@mesh/kernel";
import {
  BundleChunk,
  BundleChunkRequest,
  Heartbeat,
  Hello,
  HelloAnswer,
  SecretsAnswer,
  SecretsRequest,
} from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { type Device, type Fleet, startFleet } from "./testing/fleet.ts";

let fleet: Fleet;
let device: Device;
let other: Device;

beforeEach(async () => {
  fleet = await startFleet();
  device = fleet.device();
  other = fleet.device();
  await fleet.join(device, await fleet.token(), { name: "a" });
  await fleet.join(other, await fleet.token(), { name: "b" });
});

afterEach(async () => {
  await fleet[Symbol.asyncDispose]();
});

function ask(by: Device, method: string, data: Uint8Array): Promise<Uint8Array> {
  return by.bus.request(subjects.rpc(by.digest, method), data, { timeoutMs: 5_000 });
}

async function hello(by: Device, over: Parameters<typeof Hello.fromPartial>[0] = {}): Promise<HelloAnswer> {
  const data = Hello.encode(Hello.fromPartial({ boot_id: "b1", protocol: 1, version: "1", facts_json: "{}", ...over }));
  return HelloAnswer.decode(await ask(by, "hello", data.finish()));
}

async function secrets(by: Device, run_id: string, epoch: number): Promise<SecretsAnswer> {
  return SecretsAnswer.decode(await ask(by, "secrets", SecretsRequest.encode({ run_id, epoch }).finish()));
}

async function bundle(by: Device, digest: string, offset = 0): Promise<BundleChunk> {
  return BundleChunk.decode(await ask(by, "bundle", BundleChunkRequest.encode({ digest, offset }).finish()));
}

async function placedRun(node: string): Promise<string> {
  const id = await fleet.run(node);
  await until(async () => {
    const rows = await fleet.tenant.store.sql<{ state: string }[]>`SELECT state FROM runs WHERE id = ${id}`;
    return rows[0]?.state === "placed";
  });
  return id;
}

test("hello puts a device online, stores what it says about itself, and tells it its place", async () => {
  const answer = await hello(device, {
    facts_json: JSON.stringify({ os: "linux\u0000", tools: { git: "/usr/bin/git" } }),
  });
  expect(answer).toMatchObject({ name: "a", draining: false, slots: 4, refused: "", runs: [] });
  const { node } = await fleet.nodes.getNode({ node: "a" }, fleet.tenant.as(fleet.tenant.admin));
  expect(node).toMatchObject({ status: "online", facts: { os: "linux\uFFFD", tools: { git: "/usr/bin/git" } } });
});

test("a hello that arrives after the goodbye of its sender does not put the device online again; its next start does", async () => {
  const status = async (): Promise<string | undefined> =>
    (await fleet.nodes.getNode({ node: "a" }, fleet.tenant.as(fleet.tenant.admin))).node?.status;
  await hello(device);
  const beat = Heartbeat.fromPartial({ boot_id: "b1", hb_seq: 1, protocol: 1, goodbye: true });
  await device.bus.request(subjects.heartbeat(device.digest), Heartbeat.encode(beat).finish(), { timeoutMs: 5_000 });
  expect(await status()).toBe("offline");
  await hello(device);
  expect(await status()).toBe("offline");
  await hello(device, { boot_id: "b2" });
  expect(await status()).toBe("online");
});

test("hello answers for each run that the device says it holds", async () => {
  await hello(device);
  await hello(other);
  const [mine, others] = [await placedRun("a"), await placedRun("b")];
  const { runs } = await hello(device, {
    runs: [
      { run_id: mine, epoch: 1, last_n: 1 },
      { run_id: mine, epoch: 7, last_n: 1 },
      { run_id: others, epoch: 1, last_n: 1 },
      { run_id: "run_\u0000", epoch: 4_294_967_295, last_n: 1 },
    ],
  });
  expect(runs.map((run) => run.desired)).toEqual(["continue", "drop", "drop", "drop"]);
});

test("hello is refused for an unknown device, an old protocol and facts that are no JSON or too large", async () => {
  expect((await hello(fleet.device())).refused).toBe("removed");
  expect((await hello(device, { protocol: 9 })).refused).toBe("protocol");
  expect((await refusal(hello(device, { facts_json: "}{" }))).message).toBe("facts are not JSON");
  expect((await refusal(hello(device, { facts_json: `"${"x".repeat(70_000)}"` }))).code).toBe("invalid_argument");
});

test("a device that misses its consumer gets it back by saying hello again", async () => {
  await hello(device);
  fleet.hub.deleteStore();
  await until(async () => {
    await hello(device).catch(() => undefined);
    const found = await fleet.hub.admin.listWorkConsumers().catch((): string[] => []);
    return found.includes(device.digest);
  });
});

test("S2: secrets go to the device that holds the lease in that epoch, and to nobody else", async () => {
  await hello(device);
  await hello(other);
  const run = await placedRun("a");
  expect((await secrets(device, run, 1)).keys).toEqual({ demo: "key" });
  for (const attempt of [
    () => secrets(other, run, 1),
    () => secrets(device, run, 2),
    () => secrets(device, "run_unknown", 1),
  ]) {
    expect((await refusal(attempt())).code).toBe("failed_precondition");
  }
  await fleet.tenant.store.sql`UPDATE runs SET state = 'cancelled', finished_at = now() WHERE id = ${run}`;
  expect((await refusal(secrets(device, run, 1))).code).toBe("failed_precondition");
  expect(fleet.unsealed).toHaveLength(1);
});

test("S2: a bundle goes to a device that holds a run of it, in parts", async () => {
  await hello(device);
  expect((await refusal(bundle(device, "d"))).code).toBe("not_found");
  const run = await placedRun("a");
  const chunk = await bundle(device, "d");
  expect([chunk.total_bytes, Buffer.from(chunk.bytes).toString()]).toEqual([6, "bundle"]);
  expect(Buffer.from((await bundle(device, "d", 4)).bytes).toString()).toBe("le");
  expect((await refusal(bundle(other, "d"))).code).toBe("not_found");
  await fleet.tenant.store.sql`UPDATE runs SET state = 'succeeded', finished_at = now() WHERE id = ${run}`;
  expect((await refusal(bundle(device, "d"))).code).toBe("not_found");
});
