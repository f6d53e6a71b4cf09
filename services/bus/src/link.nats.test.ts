import { spawnSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";

import { systemClock, until } from "@mesh/kernel";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import type { Bus } from "./bus.ts";
import { connectBus } from "./nats-bus.ts";
import { inboxPrefix, STREAM, subjects, workDurable } from "./subjects.ts";
import { type TestNats, testNats, testNode } from "./testing/test-nats.ts";
import { createTrust } from "./trust.ts";

const NOTHING = new Uint8Array();
const closers: (() => Promise<void> | void)[] = [];
let nats: TestNats;

beforeAll(async () => {
  nats = await testNats();
});

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

afterAll(async () => {
  await nats.stop();
});

async function connectTo(servers: string[], options: Partial<Parameters<typeof connectBus>[0]> = {}): Promise<Bus> {
  const bus = await connectBus({
    servers,
    credentials: nats.coordinator,
    name: "t",
    clock: systemClock,
    ...options,
  });
  closers.push(() => bus.close());
  return bus;
}

async function answers(bus: Bus): Promise<void> {
  const subject = `t.link.${Math.trunc(systemClock.monotonic() * 1000)}`;
  const serving = bus.serve(subject, async (data) => data);
  await until(
    () =>
      bus.request(subject, NOTHING, { timeoutMs: 500 }).then(
        () => true,
        () => false,
      ),
    {
      what: "an answer",
      timeoutMs: 20_000,
    },
  );
  serving.stop();
}

const portOf = (url: string): number => Number(new URL(url).port);

// Forwards bytes both ways; `cut` drops all live connections.
async function proxyTo(
  port: number,
  make: (listener: (socket: Socket) => void) => Server,
): Promise<{ port: number; cut(): void }> {
  const sockets = new Set<Socket>();
  const server = make((near) => {
    const far = connectTcp(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  closers.push(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, cut };
}

const plain = (listener: (socket: Socket) => void): Server => createServer(listener);

async function unusedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test("TCP is preferred; WebSocket is used when no TCP server is reachable, and remembered", async () => {
  const direct = await connectTo([nats.server.websocketUrl, nats.server.url]);
  expect(direct.status).toMatchObject({ kind: "connected", url: nats.server.url });
  const proxy = await proxyTo(portOf(nats.server.websocketUrl), plain);
  const failed: string[] = [];
  const through = `ws://127.0.0.1:${proxy.port}/nats`;
  const bus = await connectTo([`nats://127.0.0.1:${await unusedPort()}`, through], {
    log: (event, fields) => event === "bus_dial_failed" && failed.push(String(fields["url"])),
  });
  expect(bus.status).toMatchObject({ kind: "connected", url: through });
  expect(failed).toHaveLength(1);
  await answers(bus);
  proxy.cut();
  await until(() => bus.status.kind !== "connected", { what: "the loss" });
  await answers(bus);
  expect(failed).toHaveLength(1);
});

test("TCP and WebSocket connections of one process do not get in each other's way", async () => {
  const urls = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? nats.server.url : nats.server.websocketUrl));
  const buses = await Promise.all(urls.map((url) => connectTo([url])));
  expect(buses.map((bus) => bus.status.kind === "connected" && bus.status.url)).toEqual(urls);
  await Promise.all(buses.map(answers));
});

test("a large message passes over WebSocket unharmed", async () => {
  const bus = await connectTo([nats.server.websocketUrl]);
  const big = new Uint8Array(1_000_000).map((_, i) => i % 251);
  bus.serve("t.large", async (data) => data);
  await answers(bus);
  const reply = await bus.request("t.large", big, { timeoutMs: 5_000 });
  expect(Buffer.compare(reply, big)).toBe(0);
});

test("an unreachable server is unavailable in time, and the message names it", async () => {
  const url = `nats://127.0.0.1:${await unusedPort()}`;
  await expect(connectTo([url], { firstConnectMs: 500 })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringContaining(url) as string,
  });
});

test("a server that accepts and says nothing is unavailable in time", async () => {
  const silent = await proxyTo(1, () => createServer(() => undefined));
  await expect(connectTo([`nats://127.0.0.1:${silent.port}`], { firstConnectMs: 300 })).rejects.toMatchObject({
    code: "unavailable",
  });
});

test("an address that is no NATS server, or no URL of one, is told so", async () => {
  const http = await proxyTo(1, () => createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  await expect(connectTo([`nats://127.0.0.1:${http.port}`], { firstConnectMs: 500 })).rejects.toThrow(
    /does not speak NATS/,
  );
  await expect(connectTo(["http://127.0.0.1:1"], { firstConnectMs: 500 })).rejects.toThrow(
    /not the URL of a NATS server/,
  );
  await expect(connectTo([])).rejects.toMatchObject({ code: "invalid_argument" });
});

test("B2: refused credentials reject the first connection as unauthenticated", async () => {
  const node = testNode();
  const stranger = await strangersTrust().issueNode({ ...node, ttlMs: 60_000 });
  await expect(
    connectTo([nats.server.url], { credentials: { jwt: () => stranger.jwt, seed: node.seed } }),
  ).rejects.toMatchObject({ code: "unauthenticated" });
});

test("B2: an expired JWT ends the connection; a new one in time brings it back, an old one closes the bus", async () => {
  const node = testNode();
  const issue = async (ttlMs: number): Promise<string> => (await nats.trust.issueNode({ ...node, ttlMs })).jwt;
  let jwt = await issue(2_000);
  const next = await issue(4_000);
  const credentials = { jwt: () => jwt, seed: node.seed };
  const bus = await connectTo([nats.server.url], { credentials, inboxPrefix: inboxPrefix(node.digest) });
  const kinds: string[] = [];
  bus.onStatus((status) => {
    kinds.push(status.kind);
    // Renewed only after the loss, while the bus is trying.
    if (status.kind === "connecting") jwt = next;
  });
  await until(() => kinds.includes("connected"), { what: "the return", timeoutMs: 15_000 });
  await until(() => bus.status.kind === "closed", { what: "the end", timeoutMs: 20_000 });
  expect(bus.status).toMatchObject({ reason: expect.stringContaining("refused") as string });
});

test("B3: a server that is frozen is noticed by missing pongs, and everything goes on when it thaws", async () => {
  const bus = await connectTo([nats.server.url], { pingIntervalMs: 200 });
  const got: string[] = [];
  bus.subscribe("t.thaw", () => got.push("x"));
  await answers(bus);
  process.kill(nats.server.pid, "SIGSTOP");
  try {
    await until(() => bus.status.kind === "connecting", { what: "the loss" });
    await expect(bus.request("t.thaw", NOTHING, { timeoutMs: 200 })).rejects.toMatchObject({ code: "unavailable" });
  } finally {
    process.kill(nats.server.pid, "SIGCONT");
  }
  await answers(bus);
  await until(() => {
    bus.publish("t.thaw", NOTHING);
    return got.length > 0;
  });
});

test("a request in flight when the connection breaks fails at once with unavailable", async () => {
  const proxy = await proxyTo(portOf(nats.server.url), plain);
  const bus = await connectTo([`nats://127.0.0.1:${proxy.port}`]);
  const server = await connectTo([nats.server.url]);
  server.serve("t.cutoff", () => {
    proxy.cut();
    return new Promise(() => undefined);
  });
  await answers(server);
  const asked = bus.request("t.cutoff", NOTHING, { timeoutMs: 20_000 });
  await expect(asked).rejects.toMatchObject({ code: "unavailable" });
});

test("B3, B4: the whole store deleted between two starts: streams are made again and the consumer goes on", async () => {
  const { bus, node } = await nats.connectNode();
  await nats.admin.ensureWorkConsumer(node.digest, 4);
  const got: string[] = [];
  const stop = new AbortController();
  const service = bus.consumer(
    { stream: STREAM.work, durable: workDurable(node.digest) },
    async (messages) => {
      for (const message of messages) {
        got.push(Buffer.from(message.data).toString());
        message.ack();
      }
    },
    { maxBatch: 4, onMissing: () => nats.admin.ensureWorkConsumer(node.digest, 4).catch(() => undefined) },
  );
  const ended = service.run(stop.signal);
  const coordinator = await connectTo([nats.server.url]);
  const publish = (id: string): Promise<void> =>
    coordinator.publishStream(subjects.work(node.digest), Buffer.from(id), { msgId: id });
  await publish("before");
  await until(() => got.includes("before"), { what: "the first message" });
  await nats.restart(() => rmSync(join(nats.dataDir, "store"), { recursive: true }));
  await until(
    () =>
      nats.admin.ensureStreams().then(
        () => true,
        () => false,
      ),
    { what: "the streams", timeoutMs: 20_000 },
  );
  await until(
    () =>
      publish("after").then(
        () => true,
        () => false,
      ),
    { what: "the stream" },
  );
  await until(() => got.includes("after"), { what: "the second message", timeoutMs: 20_000 });
  stop.abort();
  await ended;
});

describe.skipIf(spawnSync("openssl", ["version"]).status !== 0)("with TLS (openssl makes the certificates)", () => {
  const dir = mkdtempSync(join(tmpdir(), "yao-tls-"));
  let key: string;
  let cert: string;
  let pin: string;

  beforeAll(() => {
    const files = ["-keyout", join(dir, "key.pem"), "-out", join(dir, "cert.pem")];
    const shape = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    const made = spawnSync("openssl", ["req", "-x509", ...shape, ...names, ...files], { encoding: "utf8" });
    expect(made.status, made.stderr).toBe(0);
    key = readFileSync(join(dir, "key.pem"), "utf8");
    cert = readFileSync(join(dir, "cert.pem"), "utf8");
    const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
    pin = createHash("sha256").update(spki).digest("base64url");
  });

  afterAll(() => {
    rmSync(dir, { recursive: true, force: true });
  });

  async function secureUrl(): Promise<string> {
    const proxy = await proxyTo(portOf(nats.server.websocketUrl), (listener) =>
      createTlsServer({ key, cert }, listener),
    );
    return `wss://localhost:${proxy.port}/nats`;
  }

  test("D1: a self-signed certificate is accepted by its pin or its authority, and not otherwise", async () => {
    const url = await secureUrl();
    await answers(await connectTo([url], { tls: { spkiPin: pin } }));
    await answers(await connectTo([url], { tls: { ca: cert } }));
    await expect(connectTo([url], { firstConnectMs: 500 })).rejects.toMatchObject({ code: "unavailable" });
  });

  test("D1: a wrong pin is refused even when the authority is trusted", async () => {
    const tls = { spkiPin: pin.startsWith("A") ? `B${pin.slice(1)}` : `A${pin.slice(1)}`, ca: cert };
    await expect(connectTo([await secureUrl()], { tls, firstConnectMs: 500 })).rejects.toThrow(
      /not the one this device joined/,
    );
  });

  test("D2: tls:// does not fall back to plain text", async () => {
    const url = nats.server.url.replace("nats:", "tls:");
    await expect(connectTo([url], { tls: { spkiPin: pin }, firstConnectMs: 500 })).rejects.toMatchObject({
      code: "unavailable",
    });
  });
});

function strangersTrust(): TestNats["trust"] {
  const dir = mkdtempSync(join(tmpdir(), "yao-stranger-"));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  return createTrust(dir, systemClock);
}
