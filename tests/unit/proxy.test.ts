/** The proxy configurations, by the proxies themselves where they are installed. */

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, get as httpGet, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { get as httpsGet } from "node:https";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@mesh/kernel";
import { WebSocket, WebSocketServer } from "ws";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";

import { DEPLOY, isInstalled, read, skipReason } from "./repository.ts";

const scratch = mkdtempSync(join(tmpdir(), "yao-proxy-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe("proxy configurations", () => {
  const nginxMissing = ["nginx", "openssl"].find(
    (command) => !isInstalled(command, command === "nginx" ? "-v" : "version"),
  );
  const noNginx = nginxMissing === undefined ? undefined : `${nginxMissing} is not installed`;
  const noCaddy = isInstalled("caddy", "version") ? undefined : "caddy is not installed";

  test("no proxy forwards /metrics, which is open to local requests", () => {
    expect(read("deploy/proxy/nginx.conf")).toMatch(/location = \/metrics \{\s*return 404;/);
    expect(read("deploy/proxy/Caddyfile")).toMatch(/handle \/metrics \{\s*respond 404/);
  });

  test("caddy accepts the Caddyfile", () => {
    if (skipReason(noCaddy, "caddy validate")) return;
    const args = ["validate", "--adapter", "caddyfile", "--config", join(DEPLOY, "proxy/Caddyfile")];
    const result = spawnSync("caddy", args, { encoding: "utf8", env: { PATH: process.env["PATH"], HOME: scratch } });
    expect(result.status, result.stderr).toBe(0);
  });

  test("nginx passes events at once, WebSocket both ways, and gRPC, and hides /metrics", async () => {
    if (skipReason(noNginx, "nginx")) return;
    const backend = await startBackend();
    const grpc = await startGrpcBackend();
    const port = await startNginx({ http: backend.port, grpc });
    const options = { rejectUnauthorized: false };

    const events = await new Promise<IncomingMessage>((onResponse, reject) => {
      httpsGet(`https://127.0.0.1:${port}/v1/runs/r/events`, options, onResponse).on("error", reject);
    });
    // The backend has written one event and keeps the response open: a buffering proxy would hand over nothing.
    expect(await firstChunk(events)).toBe("id: 1\ndata: {}\n\n");
    events.destroy();

    for (const path of ["/nats", "/v1/ws"]) {
      const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, options);
      const echo = await new Promise<string>((onMessage, reject) => {
        socket.on("open", () => socket.send("ping")).on("error", reject);
        socket.on("message", (data: Buffer) => onMessage(data.toString()));
      });
      expect(echo).toBe("ping");
      socket.terminate();
    }

    const hidden = await new Promise<IncomingMessage>((onResponse, reject) => {
      httpsGet(`https://127.0.0.1:${port}/metrics`, options, onResponse).on("error", reject);
    });
    expect(hidden.statusCode).toBe(404);
    hidden.destroy();

    for (const service of ["yao.mesh.v1.RunService/GetRun", "grpc.health.v1.Health/Check"]) {
      expect(await callGrpc(port, `/${service}`)).toBe("0");
    }
  }, 20_000);
});

async function listen(server: Server | ReturnType<typeof createHttp2Server>): Promise<number> {
  await new Promise<void>((onListening) => server.listen(0, "127.0.0.1", onListening));
  return (server.address() as AddressInfo).port;
}

async function startBackend(): Promise<{ readonly port: number }> {
  const handler: RequestListener = (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: 1\ndata: {}\n\n");
    if (request.url === "/metrics") response.end();
  };
  const server = createServer(handler);
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(data)));
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  return { port: await listen(server) };
}

async function startGrpcBackend(): Promise<number> {
  const server = createHttp2Server();
  const sessions = new Set<{ destroy: () => void }>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end();
  });
  onTestFinished(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return listen(server);
}

async function startNginx(ports: { readonly http: number; readonly grpc: number }): Promise<number> {
  const dir = mkdtempSync(join(scratch, "nginx-"));
  const key = join(dir, "key.pem");
  const cert = join(dir, "cert.pem");
  const subject = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=mesh.example.com", "-days", "1"];
  execFileSync("openssl", ["req", "-x509", ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
  const [https, plain] = await freePorts(2);
  const site = read("deploy/proxy/nginx.conf")
    .replaceAll("127.0.0.1:7400", `127.0.0.1:${ports.http}`)
    .replaceAll("127.0.0.1:7401", `127.0.0.1:${ports.grpc}`)
    .replaceAll(/listen 443/g, `listen 127.0.0.1:${https}`)
    .replaceAll(/listen 80;/g, `listen 127.0.0.1:${plain};`)
    .replaceAll(/^\s*listen \[::\].*$/gm, "")
    .replaceAll("/etc/ssl/yao/fullchain.pem", cert)
    .replaceAll("/etc/ssl/yao/privkey.pem", key);
  const temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${dir}/${name};`);
  const config = join(dir, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
     events {} http { access_log off; ${temp.join(" ")} ${site} }`,
  );
  const checked = spawnSync("nginx", ["-t", "-e", join(dir, "start.log"), "-c", config], { encoding: "utf8" });
  expect(checked.status, checked.stderr).toBe(0);
  const child = spawn("nginx", ["-e", join(dir, "start.log"), "-c", config], { stdio: "ignore" });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  await until(() => canConnect(plain ?? 0), { what: "nginx listens", timeoutMs: 5000 });
  return https ?? 0;
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createTcpServer();
      return new Promise<typeof server>((onListening) => server.listen(0, "127.0.0.1", () => onListening(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((onClose) => server.close(onClose))));
  return ports;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const request = httpGet(`http://127.0.0.1:${port}/`, (response) => {
      response.destroy();
      answer(true);
    });
    request.on("error", () => answer(false));
  });
}

function firstChunk(response: IncomingMessage): Promise<string> {
  return new Promise((onChunk, reject) => {
    response.once("data", (chunk: Buffer) => onChunk(chunk.toString())).once("error", reject);
  });
}

/** The gRPC status a call through the proxy ends with. */
function callGrpc(port: number, path: string): Promise<string> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
  onTestFinished(() => session.destroy());
  return new Promise((onStatus, reject) => {
    session.on("error", reject);
    const call = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    call.on("trailers", (trailers) => onStatus(String(trailers["grpc-status"])));
    call.on("error", reject);
    call.on("response", (headers) => {
      if ("grpc-status" in headers) onStatus(String(headers["grpc-status"]));
    });
    call.resume().end();
  });
}
