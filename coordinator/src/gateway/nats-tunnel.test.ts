import type { IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { describe, expect, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";

import { startGateway } from "./testing/running-gateway.ts";
import { scriptedApi } from "./testing/scripted-api.ts";

const api = scriptedApi().api;

interface Backend extends AsyncDisposable {
  readonly port: number;
  readonly requests: IncomingMessage[];
  readonly server: WebSocketServer;
}

/** A WebSocket server that sends everything back. */
async function echoBackend(): Promise<Backend> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.once("listening", resolve));
  const requests: IncomingMessage[] = [];
  server.on("connection", (socket, request) => {
    requests.push(request);
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on("error", () => undefined);
  });
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    server,
    async [Symbol.asyncDispose]() {
      for (const client of server.clients) client.terminate();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function tcpBackend(
  onConnection: (socket: Socket) => void,
): Promise<{ server: Server; port: number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const UPGRADE =
  "GET /nats HTTP/1.1\r\nHost: mesh.example.org\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

describe("the tunnel to NATS", () => {
  test("carries frames both ways, large ones whole", async () => {
    await using backend = await echoBackend();
    await using gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.httpPort}/nats`, "nats");
    const received: Buffer[] = [];
    socket.on("message", (data: Buffer) => received.push(data));
    await until(() => socket.readyState === WebSocket.OPEN);
    const large = Buffer.alloc(900_000, 7);
    socket.send("small");
    socket.send(large);
    await until(() => received.length === 2);
    expect(received[0]?.toString()).toBe("small");
    expect(received[1]?.equals(large)).toBe(true);
    socket.close();
    await until(() => backend.server.clients.size === 0);
  });

  test("passes on the handshake only: no cookie, no Authorization, no forwarded headers", async () => {
    await using backend = await echoBackend();
    await using gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.httpPort}/nats?x=1`, {
      headers: { authorization: "Bearer admin", cookie: "a=b", "x-forwarded-for": "10.0.0.1", origin: "https://evil" },
    });
    await until(() => socket.readyState === WebSocket.OPEN);
    const { headers, url } = backend.requests[0] as IncomingMessage;
    expect(url).toBe("/");
    expect(Object.keys(headers).toSorted()).toEqual([
      "connection",
      "host",
      "sec-websocket-extensions",
      "sec-websocket-key",
      "sec-websocket-version",
      "upgrade",
    ]);
    expect(headers.host).toBe(`127.0.0.1:${backend.port}`);
    socket.terminate();
  });

  test("sends on what the client wrote right behind its handshake", async () => {
    let seen = "";
    await using backend = await tcpBackend((socket) => socket.on("data", (data) => (seen += data.toString("latin1"))));
    await using gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const client = connect(gateway.httpPort, "127.0.0.1");
    client.on("error", () => undefined);
    client.write(`${UPGRADE}\r\nearly bytes`);
    await until(() => seen.includes("early bytes"));
    client.destroy();
  });

  test("a NATS server that is down is 503", async () => {
    const backend = await tcpBackend(() => undefined);
    await backend[Symbol.asyncDispose]();
    await using gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const client = connect(gateway.httpPort, "127.0.0.1");
    let answer = "";
    client.on("data", (data) => (answer += data.toString()));
    client.write(`${UPGRADE}\r\n`);
    await until(() => answer.includes("problem+json"));
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer.toLowerCase()).toContain("retry-after: 1");
    await until(() => client.closed);
  });

  test("a reset of either side closes the other", async () => {
    const upstreams: Socket[] = [];
    await using backend = await tcpBackend((socket) => upstreams.push(socket.resume()));
    await using gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const open = async (): Promise<{ client: Socket; upstream: Socket }> => {
      const before = upstreams.length;
      const client = connect(gateway.httpPort, "127.0.0.1").resume();
      client.on("error", () => undefined);
      client.write(`${UPGRADE}\r\n`);
      await until(() => upstreams.length > before);
      return { client, upstream: upstreams[before] as Socket };
    };
    const first = await open();
    first.upstream.resetAndDestroy();
    await until(() => first.client.closed);
    const second = await open();
    second.client.resetAndDestroy();
    await until(() => second.upstream.readableEnded || second.upstream.closed);
  });

  test("a half-open connection does not outlive its other half by more than the linger", async () => {
    const clock = new FakeClock();
    const upstreams: Socket[] = [];
    await using backend = await tcpBackend((socket) => upstreams.push(socket.resume()));
    const gateway = await startGateway({ api, clock, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const client = connect({ port: gateway.httpPort, host: "127.0.0.1", allowHalfOpen: true });
    client.on("error", () => undefined);
    client.write(`${UPGRADE}\r\n`);
    await until(() => upstreams.length === 1);
    client.end();
    // The backend sees the end and says nothing.
    await until(() => upstreams[0]?.readableEnded);
    expect(upstreams[0]?.closed).toBe(false);
    await clock.advance(2_000);
    client.resume();
    await until(() => client.closed);
    await gatewayStopped(gateway, clock);
  });

  test("the stop of the gateway cuts tunnels", async () => {
    await using backend = await echoBackend();
    const gateway = await startGateway({ api, natsWebsocket: { host: "127.0.0.1", port: backend.port } });
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.httpPort}/nats`);
    socket.on("error", () => undefined);
    await until(() => socket.readyState === WebSocket.OPEN);
    await gateway.stop();
    await until(() => socket.readyState === WebSocket.CLOSED && backend.server.clients.size === 0);
  });
});

async function gatewayStopped(gateway: { stop(): Promise<void> }, clock: FakeClock): Promise<void> {
  const stopped = gateway.stop();
  await clock.advance(1_000);
  await stopped;
}
