import { systemClock, systemIds, ulidOf, until } from "@mesh/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { Bus } from "./bus.ts";
import { connectBus } from "./nats-bus.ts";
import { pushRevocations, withRevoked } from "./revocation.ts";
import { inboxPrefix, STREAM, subjects, workDurable } from "./subjects.ts";
import { type TestNats, testNats, type TestNode, testNode } from "./testing/test-nats.ts";

const NOTHING = new Uint8Array();
const refusals: string[] = [];
let nats: TestNats;
let coordinator: Bus;
let mine: { bus: Bus; node: TestNode };
let other: { bus: Bus; node: TestNode };

beforeAll(async () => {
  nats = await testNats();
  coordinator = await nats.connect();
  const log = (_event: string, fields: Readonly<Record<string, unknown>>): void => {
    refusals.push(String(fields["error"]));
  };
  mine = await nats.connectNode({ log });
  other = await nats.connectNode();
  await nats.admin.ensureWorkConsumer(mine.node.digest, 4);
  await nats.admin.ensureWorkConsumer(other.node.digest, 4);
});

afterAll(async () => {
  await nats.stop();
});

const run = (): string => ulidOf(systemIds().next("run"));

// A refusal is an error from the server, seen on the connection and in the log.
async function refused(what: RegExp): Promise<void> {
  await until(() => refusals.some((text) => what.test(text)), { what: `a refusal like ${String(what)}` });
}

test("a node may use its own subjects, stream subject, consumer and inbox", async () => {
  const { bus, node } = mine;
  coordinator.serve(subjects.anyRpc("hello"), async (data) => data);
  bus.serve(subjects.command(node.digest), async (data) => data);
  await until(() =>
    coordinator.request(subjects.command(node.digest), NOTHING, { timeoutMs: 500 }).then(
      () => true,
      () => false,
    ),
  );
  await until(() =>
    bus.request(subjects.rpc(node.digest, "hello"), NOTHING, { timeoutMs: 500 }).then(
      () => true,
      () => false,
    ),
  );
  await bus.publishStream(subjects.events(node.digest, run()), NOTHING, { msgId: "own" });
  await coordinator.publishStream(subjects.work(node.digest), NOTHING, { msgId: "work" });
  const stop = new AbortController();
  let got = 0;
  const consumer = bus.consumer(
    { stream: STREAM.work, durable: workDurable(node.digest) },
    async (messages) => {
      got += messages.length;
      for (const message of messages) message.ack();
    },
    { maxBatch: 4 },
  );
  const ended = consumer.run(stop.signal);
  await until(() => got === 1, { what: "the work" });
  stop.abort();
  await ended;
});

test("a node cannot publish as another node, neither plainly nor into the stream", async () => {
  const heard: string[] = [];
  coordinator.subscribe(`mesh.v1.up.${other.node.digest}.>`, (_data, subject) => heard.push(subject));
  await until(() => {
    other.bus.publish(subjects.heartbeat(other.node.digest), NOTHING);
    return heard.length > 0;
  });
  const subject = subjects.events(other.node.digest, run());
  mine.bus.publish(subject, NOTHING);
  await expect(mine.bus.publishStream(subject, NOTHING, { msgId: "spoof" })).rejects.toMatchObject({
    code: "permission_denied",
  });
  const beat = subjects.rpc(other.node.digest, "hello");
  await expect(mine.bus.request(beat, NOTHING, { timeoutMs: 1_000 })).rejects.toMatchObject({
    code: "permission_denied",
  });
  expect(heard.filter((text) => text === subject || text === beat)).toEqual([]);
});

test("a node cannot publish work, commands or hints", async () => {
  const spoofs = [
    subjects.work(mine.node.digest),
    subjects.work(other.node.digest),
    subjects.command(other.node.digest),
    subjects.command(mine.node.digest),
    subjects.tail(run()),
  ];
  for (const subject of spoofs) {
    await expect(mine.bus.request(subject, NOTHING, { timeoutMs: 1_000 })).rejects.toMatchObject({
      code: "permission_denied",
    });
  }
});

test("a node cannot listen to another node, to all, or to anybody's inbox", async () => {
  const spies = [
    `mesh.v1.down.${other.node.digest}.cmd`,
    "mesh.v1.down.>",
    "mesh.v1.down.*.cmd",
    "mesh.v1.up.>",
    "mesh.v1.>",
    "mesh.v1.tail.*",
    "mesh.v1.work.*",
    "_INBOX.>",
    `${inboxPrefix(other.node.digest)}.>`,
    "$SYS.>",
    "$JS.>",
    ">",
  ];
  for (const subject of spies) {
    const heard: string[] = [];
    mine.bus.subscribe(subject, (_data, from) => heard.push(from));
    mine.bus.subscribe(subject, (_data, from) => heard.push(from), { queue: "q" });
    await refused(new RegExp(`subscription to "${subject.replaceAll(/[.*$>]/g, String.raw`\$&`)}"`, "i"));
    await refused(new RegExp(`subscription to "${subject.replaceAll(/[.*$>]/g, String.raw`\$&`)}" using queue`, "i"));
    expect(heard).toEqual([]);
  }
});

test("a node cannot administer streams or consumers, nor read another's consumer", async () => {
  const mineDurable = workDurable(mine.node.digest);
  const otherDurable = workDurable(other.node.digest);
  const calls = [
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.INFO.WORK",
    "$JS.API.STREAM.CREATE.X",
    "$JS.API.STREAM.DELETE.WORK",
    "$JS.API.STREAM.PURGE.WORK",
    "$JS.API.STREAM.MSG.GET.EV",
    "$JS.API.DIRECT.GET.EV",
    "$JS.API.STREAM.RESTORE.WORK",
    `$JS.API.CONSUMER.CREATE.WORK.x.${subjects.work(other.node.digest)}`,
    "$JS.API.CONSUMER.CREATE.EV",
    `$JS.API.CONSUMER.DURABLE.CREATE.WORK.${mineDurable}`,
    `$JS.API.CONSUMER.DELETE.WORK.${mineDurable}`,
    `$JS.API.CONSUMER.INFO.WORK.${otherDurable}`,
    `$JS.API.CONSUMER.MSG.NEXT.WORK.${otherDurable}`,
    `$JS.ACK.WORK.${otherDurable}.1.1.1.1.0`,
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.CLAIMS.UPDATE",
  ];
  for (const subject of calls) {
    await expect(mine.bus.request(subject, NOTHING, { timeoutMs: 1_000 }), subject).rejects.toMatchObject({
      code: "permission_denied",
    });
  }
  expect((await nats.admin.listWorkConsumers()).toSorted()).toEqual([mine.node.digest, other.node.digest].toSorted());
});

test("every refusal is told to the log, for the audit", () => {
  expect(refusals.some((text) => /publish to "mesh\.v1\.work\./i.test(text))).toBe(true);
});

test("a node may answer a command once, and nothing else on that inbox", async () => {
  const answers: number[] = [];
  coordinator.subscribe("reply.here", (data) => answers.push(data.length));
  mine.bus.publish("reply.here", NOTHING);
  await refused(/publish to "reply\.here"/i);
  expect(answers).toEqual([]);
});

test("another device's JWT is useless without its seed", async () => {
  const { jwt } = await nats.trust.issueNode({ ...other.node, ttlMs: 60_000 });
  const thief = connectBus({
    servers: [nats.server.url],
    credentials: { jwt: () => jwt, seed: mine.node.seed },
    name: "thief",
    clock: systemClock,
  });
  await expect(thief).rejects.toMatchObject({ code: "unauthenticated" });
});

test("a revoked node is cut within a second, stays out, also after a restart of the server; others stay", async () => {
  const node = testNode();
  const { jwt } = await nats.trust.issueNode({ ...node, ttlMs: 3_600_000 });
  const credentials = { jwt: () => jwt, seed: node.seed };
  const bus = await nats.connect({ credentials, inboxPrefix: inboxPrefix(node.digest) });
  const system = await nats.connect({ credentials: await nats.trust.issueSystem(), name: "system" });
  const start = systemClock.monotonic();
  let cutMs = 0;
  bus.onStatus((status) => {
    if (status.kind !== "connected" && cutMs === 0) cutMs = systemClock.monotonic() - start;
  });
  await pushRevocations(system, nats.trust, withRevoked({}, node.nkey, systemClock.now()));
  await until(() => cutMs > 0, { what: "the cut" });
  expect(cutMs).toBeLessThan(1_000);
  await until(() => bus.status.kind === "closed", { timeoutMs: 20_000, what: "the end" });
  expect(other.bus.status.kind).toBe("connected");
  await nats.restart();
  await expect(nats.connect({ credentials })).rejects.toMatchObject({ code: "unauthenticated" });
});
