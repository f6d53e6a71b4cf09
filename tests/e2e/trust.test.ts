/** What a node may do on the wire with its own key and JWT, and what is left of it once it is removed. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { demoAppDirectory } from "@mesh/assistants";
import { type Bus, connectBus, inboxPrefix, STREAM, subjects, workDurable } from "@mesh/bus";
import { systemClock, systemIds, ulidOf, until } from "@mesh/kernel";
import { BundleChunkRequest, EventBatch, Heartbeat, HeartbeatAnswer, NodeEvent, SecretsRequest } from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunView, TestMesh, type TestNode } from "../harness/test-mesh.ts";

let mesh: TestMesh;

beforeAll(async () => {
  mesh = await TestMesh.start({ nodes: [{ name: "mine" }, { name: "other" }, { name: "leaver" }] });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(() => mesh?.stop());

interface Identity {
  readonly digest: string;
  readonly jwt: string;
  readonly seed: Uint8Array;
}

/** What a device holds on its disk. */
function identityOf(node: TestNode): Identity {
  const { digest, jwt } = JSON.parse(readFileSync(join(node.dataDir, "node.json"), "utf8")) as Identity;
  return { digest, jwt, seed: Buffer.from(readFileSync(join(node.dataDir, "node.nkey"), "utf8").trim()) };
}

/** Connects as a device does: with its own key and JWT, over the gateway's one address. */
async function connectAs(identity: Identity, refusals: string[] = []): Promise<Bus> {
  return connectBus({
    servers: [`${mesh.api.url.replace(/^http/, "ws")}/nats`],
    credentials: { jwt: () => identity.jwt, seed: identity.seed },
    name: "thief",
    inboxPrefix: inboxPrefix(identity.digest),
    clock: systemClock,
    log: (_event, fields) => refusals.push(String(fields["error"])),
  });
}

const NOTHING = new Uint8Array();
const slowOn = async (node: string, time: string): Promise<RunView> => {
  const run = await mesh.createRun({ assistant: "slow", input: `/slow ${time} my own words`, node });
  return mesh.until(run.id, ({ state }) => state === "running", 20_000);
};

describe("a node with its own key, on the wire", () => {
  test("hears nothing that is meant for another node, while there is something to hear", async () => {
    const other = identityOf(mesh.node("other"));
    const spied = [
      subjects.command(other.digest),
      subjects.work(other.digest),
      subjects.anyWork,
      `mesh.v1.up.${other.digest}.>`,
      "mesh.v1.>",
      `${inboxPrefix(other.digest)}.>`,
      subjects.anyTail,
      ">",
    ];
    const refusals: string[] = [];
    await using thief = closing(await connectAs(identityOf(mesh.node("mine")), refusals));
    await using owner = closing(
      await connectBus({
        servers: [mesh.nats.url],
        credentials: await mesh.trust.issueCoordinator(),
        name: "owner",
        clock: systemClock,
      }),
    );
    const stolen: string[] = [];
    const real = new Set<string>();
    for (const subject of spied) {
      thief.bus.subscribe(subject, (_data, from) => stolen.push(from));
      owner.bus.subscribe(subject, (_data, from) => void real.add(from));
    }
    await until(() => spied.every((subject) => refusals.some((text) => text.includes(`"${subject}"`))), {
      what: `the refusals; there are: ${refusals.join("; ")}`,
    });
    const run = await mesh.createRun({ assistant: "hello", input: "/echo a secret", node: "other" });
    await mesh.ended(run.id);
    await until(
      () => real.has(subjects.work(other.digest)) && real.has(subjects.events(other.digest, ulidOf(run.id))),
      {
        what: "the traffic of the other node",
      },
    );
    expect(stolen).toEqual([]);
  });

  test("cannot speak as another node, command it, take its work or change a stream", async () => {
    const mine = identityOf(mesh.node("mine"));
    const other = identityOf(mesh.node("other"));
    await using thief = closing(await connectAs(mine));
    const run = ulidOf(systemIds().next("run"));
    const forbidden = [
      subjects.heartbeat(other.digest),
      subjects.rpc(other.digest, "hello"),
      subjects.rpc(other.digest, "secrets"),
      subjects.events(other.digest, run),
      subjects.command(other.digest),
      subjects.command(mine.digest),
      subjects.work(other.digest),
      subjects.work(mine.digest),
      subjects.tail(run),
      `$JS.API.CONSUMER.MSG.NEXT.${STREAM.work}.${workDurable(other.digest)}`,
      `$JS.API.STREAM.MSG.GET.${STREAM.events}`,
      `$JS.API.STREAM.PURGE.${STREAM.work}`,
      `$JS.API.CONSUMER.DELETE.${STREAM.work}.${workDurable(other.digest)}`,
      "$SYS.REQ.CLAIMS.UPDATE",
    ];
    for (const subject of forbidden) {
      await expect(thief.bus.request(subject, NOTHING, { timeoutMs: 2_000 }), subject).rejects.toMatchObject({
        code: "permission_denied",
      });
    }
  });

  test("cannot end, prolong or read the secrets of a run that another node holds, not even on its own subjects", async () => {
    const mine = identityOf(mesh.node("mine"));
    await using thief = closing(await connectAs(mine));
    const run = await slowOn("other", "3s");
    const finish = JSON.stringify({ state: "succeeded", output: "forged" });
    const forged = Array.from({ length: 40 }, (_, i) =>
      NodeEvent.fromPartial({ n: i + 1, at_ms: Date.now(), kind: "run.finished", body: finish }),
    );
    for (const epoch of [run.epoch, run.epoch + 1]) {
      const batch = EventBatch.encode({ run_id: run.id, epoch, events: forged }).finish();
      await thief.bus.publishStream(subjects.events(mine.digest, ulidOf(run.id)), batch, { msgId: `forged-${epoch}` });
    }
    const secrets = SecretsRequest.encode({ run_id: run.id, epoch: run.epoch }).finish();
    await expect(
      thief.bus.request(subjects.rpc(mine.digest, "secrets"), secrets, { timeoutMs: 5_000 }),
    ).rejects.toMatchObject({ code: "failed_precondition" });
    const beat = Heartbeat.encode(
      Heartbeat.fromPartial({
        boot_id: "thief",
        hb_seq: 1,
        protocol: 1,
        runs: [{ run_id: run.id, epoch: run.epoch, last_n: 1 }],
      }),
    ).finish();
    const answer = HeartbeatAnswer.decode(
      await thief.bus.request(subjects.heartbeat(mine.digest), beat, { timeoutMs: 5_000 }),
    );
    expect(answer.runs).toEqual([expect.objectContaining({ run_id: run.id, desired: "drop", lease_ms: 0 })]);
    const ended = await mesh.ended(run.id);
    expect(ended).toMatchObject({ state: "succeeded", node: "other" });
    expect(ended.output).toContain("my own words");
    expect(JSON.stringify(await mesh.api.pages(run.id))).not.toContain("forged");
  });

  test("gets the bundle of an app only once it has to run it", async () => {
    const mine = identityOf(mesh.node("mine"));
    await using thief = closing(await connectAs(mine));
    await mesh.api.call("POST", "/v1/workspaces", { name: "vault" });
    await mesh.pushApp("vault-app", demoAppDirectory, "vault");
    const { app } = await mesh.api.call<{ app: { digest: string } }>("GET", "/v1/workspaces/vault/apps/vault-app");
    const ask = (): Promise<Uint8Array> =>
      thief.bus.request(
        subjects.rpc(mine.digest, "bundle"),
        BundleChunkRequest.encode({ digest: app.digest, offset: 0 }).finish(),
        { timeoutMs: 5_000 },
      );
    await expect(ask()).rejects.toMatchObject({ code: "not_found" });
    const run = await slowOn("mine", "60s");
    expect((await ask()).length).toBeGreaterThan(100);
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
  });

  test("that sends what the database cannot hold harms its own run alone", async () => {
    const mine = identityOf(mesh.node("mine"));
    await using thief = closing(await connectAs(mine));
    const run = await slowOn("mine", "60s");
    const { last_seq } = await mesh.run(run.id);
    const poison = [
      { kind: "message\u0000", body: "{}" },
      { kind: "message", body: '{"text":"\u0000"}' },
      { kind: "message", body: "{}", at_ms: 2 ** 52 },
      { kind: "message", body: "{}", delta_of: "M\u0000" },
      { kind: "run.finished", body: '{"state":"succeeded","output":"a\\u0000b","usage":{"a":"\\u0000"}}' },
      { kind: "run.finished", body: '{"state":"failed","error":{"code":"x","message":"\\ud800"}}' },
    ];
    // At each place the next event may have, so that one of them is the next.
    for (const [i, event] of poison.entries()) {
      const events = Array.from({ length: 60 }, (_, k) =>
        NodeEvent.fromPartial({ at_ms: Date.now(), ...event, n: last_seq + k - 3 }),
      ).filter(({ n }) => n > 0);
      const batch = EventBatch.encode({ run_id: run.id, epoch: run.epoch, events }).finish();
      await thief.bus.publishStream(subjects.events(mine.digest, ulidOf(run.id)), batch, { msgId: `poison-${i}` });
    }
    const honest = await mesh.createRun({ assistant: "hello", input: "/echo unharmed", node: "other" });
    expect(await mesh.ended(honest.id, 15_000)).toMatchObject({ state: "succeeded", output: "unharmed" });
    await mesh.api.call("POST", `/v1/runs/${run.id}/cancel`);
    await mesh.ended(run.id, 15_000);
  });
});

test("a removed node is cut within a second, stays out, and its agent ends with code 77", async () => {
  const leaver = mesh.node("leaver");
  const identity = identityOf(leaver);
  const spare = await connectAs(identity);
  const run = await slowOn("leaver", "60s");
  let cutAt = 0;
  spare.onStatus(({ kind }) => {
    if (kind !== "connected" && cutAt === 0) cutAt = performance.now();
  });
  const removedAt = performance.now();
  await mesh.api.call("DELETE", "/v1/nodes/leaver");
  await until(() => cutAt > 0, { what: "the cut" });
  expect(cutAt - removedAt).toBeLessThan(1_000);
  expect(await mesh.ended(run.id, 5_000)).toMatchObject({ state: "lost", error: { code: "device_removed" } });
  await until(() => spare.status.kind === "closed", { timeoutMs: 20_000, what: "the refusal" });
  await expect(connectAs(identity)).rejects.toMatchObject({ code: "unauthenticated" });
  await leaver.process.ended(30_000);
  expect(leaver.process.exitCode).toBe(77);
  expect(leaver.process.output.join("\n")).toContain("removed");
  const { nodes } = await mesh.api.call<{ nodes: { name: string }[] }>("GET", "/v1/nodes");
  expect(nodes.map(({ name }) => name)).not.toContain("leaver");
});

function closing(bus: Bus): AsyncDisposable & { readonly bus: Bus } {
  return { bus, [Symbol.asyncDispose]: () => bus.close() };
}
