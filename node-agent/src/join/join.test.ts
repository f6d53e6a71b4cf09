import { execFileSync } from "node:child_process";
import { createPublicKey, X509Certificate } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer as createHttpServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { verifyNkey } from "@mesh/bus";
import { systemClock, takeLock } from "@mesh/kernel";
import { afterEach, beforeEach, expect, test } from "vitest";

import { silentLog } from "../log.ts";
import { spkiPin } from "./coordinator-http.ts";
import { requestRenewal } from "./credentials.ts";
import { agentLockPath, joinDevice, type JoinOptions, leaveMesh } from "./join.ts";
import { parseJoinToken } from "./join-token.ts";
import { readNodeFile } from "./node-file.ts";
import { loadOrCreateKey } from "./node-key.ts";

const SECRET = "yj_0123456789abcdefghijklmn";
let dir: string;
let servers: Server[] = [];
let requests: { url: string; body: Record<string, unknown> }[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-join-"));
  requests = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  servers = [];
  rmSync(dir, { recursive: true, force: true });
});

const CREDENTIALS = { jwt: "jwt-1", expires_at: "2030-01-01T00:00:00.000Z", nats_urls: [], nats_path: "/nats" };

function answering(status: number, answer: unknown): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({
        url: request.url ?? "",
        body: JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>,
      });
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  };
}

const JOINED = answering(200, { node_id: "node_1", name: "laptop", digest: "d".repeat(20), credentials: CREDENTIALS });

async function listen(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

function options(url: string, token = SECRET): JoinOptions {
  const dataDir = join(dir, "data");
  return { url, token, labels: { gpu: "yes" }, dataDir, log: silentLog, clock: systemClock, path: "/usr/bin:/bin" };
}

test("J1 J2 joining proves the key, stores credentials privately, and never the token", async () => {
  const url = `http://127.0.0.1:${await listen(createHttpServer(JOINED))}`;
  const result = await joinDevice(options(`${url}/`));
  expect(result).toEqual({ nodeId: "node_1", name: "laptop", alreadyJoined: false });
  const { body } = requests[0]!;
  expect(body).toMatchObject({ token: SECRET, labels: { gpu: "yes" }, protocol: 1 });
  const signature = Buffer.from(String(body["signature"]), "base64url");
  expect(verifyNkey(String(body["nkey"]), Buffer.from(`yao-join:${SECRET}`), signature)).toBe(true);
  const dataDir = join(dir, "data");
  expect(readNodeFile(dataDir)).toMatchObject({ url, node_id: "node_1", jwt: "jwt-1", nats_path: "/nats" });
  for (const name of readdirSync(dataDir)) {
    expect(readFileSync(join(dataDir, name), "utf8")).not.toContain(SECRET);
    expect(statSync(join(dataDir, name)).mode & 0o077).toBe(0);
  }
});

test("J3 joining the same coordinator again changes nothing; another one is refused with the way out", async () => {
  const url = `http://127.0.0.1:${await listen(createHttpServer(JOINED))}`;
  await joinDevice(options(url));
  expect(await joinDevice(options(url))).toMatchObject({ alreadyJoined: true });
  expect(requests).toHaveLength(1);
  await expect(joinDevice(options("http://127.0.0.1:9"))).rejects.toThrow(/yao node leave.*--data/);
  expect(leaveMesh(join(dir, "data"))).toEqual({ url, name: "laptop" });
  expect(readdirSync(join(dir, "data"))).toEqual([]);
});

test("the coordinator's own words are passed on, and nothing is stored", async () => {
  const detail = "the join token was used already; make a new one with: yao node token create";
  const url = `http://127.0.0.1:${await listen(createHttpServer(answering(401, { detail, code: "unauthenticated" })))}`;
  await expect(joinDevice(options(url))).rejects.toMatchObject({ code: "unauthenticated", message: detail });
  expect(readNodeFile(join(dir, "data"))).toBeUndefined();
});

test("wrong tokens, wrong addresses and foreign servers are told apart", async () => {
  await expect(joinDevice(options("http://127.0.0.1:1", "secret"))).rejects.toThrow(/not a join token/);
  await expect(joinDevice(options("ftp://x"))).rejects.toThrow(/https:\/\/ or http:\/\//);
  await expect(joinDevice(options("http://127.0.0.1:1"))).rejects.toMatchObject({ code: "unavailable" });
  const foreign = createHttpServer((_, response) => void response.writeHead(404).end("<html>"));
  const url = `http://127.0.0.1:${await listen(foreign)}`;
  await expect(joinDevice(options(url))).rejects.toThrow(/not as a Yao Mesh coordinator/);
});

test("a directory whose agent is running is not joined again", async () => {
  const lock = takeLock(agentLockPath(join(dir, "data")), "the yao node agent");
  await expect(joinDevice(options("http://127.0.0.1:1"))).rejects.toThrow(/in use by the yao node agent/);
  lock.release();
});

test("C1 with a pin only the pinned key is spoken to, whoever signed it", async () => {
  const [key, cert] = [join(dir, "key.pem"), join(dir, "cert.pem")];
  const subject = [
    "-subj",
    "/CN=nobody",
    "-days",
    "2",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
  ];
  execFileSync("openssl", ["req", "-x509", "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  const tls = { key: readFileSync(key), cert: readFileSync(cert) };
  const url = `https://127.0.0.1:${await listen(createHttpsServer(tls, JOINED))}`;
  const pin = spkiPin(createPublicKey(new X509Certificate(tls.cert).publicKey.export({ type: "spki", format: "pem" })));
  await expect(joinDevice(options(url, `${SECRET}.${"A".repeat(43)}`))).rejects.toMatchObject({
    code: "unauthenticated",
  });
  await expect(joinDevice(options(url))).rejects.toThrow(/certificate is not trusted/);
  expect(requests).toHaveLength(0);
  expect(await joinDevice(options(url, `${SECRET}.${pin}`))).toMatchObject({ nodeId: "node_1" });
  expect(readNodeFile(join(dir, "data"))?.pin).toBe(pin);
  expect(requests[0]?.body["token"]).toBe(SECRET);
});

test("renewal needs the device key alone", async () => {
  const url = `http://127.0.0.1:${await listen(createHttpServer(answering(200, { credentials: { ...CREDENTIALS, jwt: "jwt-2" } })))}`;
  const key = loadOrCreateKey(dir);
  expect(loadOrCreateKey(dir).nkey).toBe(key.nkey);
  expect(await requestRenewal({ url, pin: undefined }, key, 1_000)).toMatchObject({ jwt: "jwt-2" });
  const { body } = requests[0]!;
  const signature = Buffer.from(String(body["signature"]), "base64url");
  expect(verifyNkey(key.nkey, Buffer.from(`yao-renew:${key.nkey}:1000`), signature)).toBe(true);
});

test("a token carries its pin behind a dot", () => {
  expect(parseJoinToken(` ${SECRET}\n`)).toEqual({ secret: SECRET, pin: undefined });
  expect(parseJoinToken(`${SECRET}.${"b".repeat(43)}`)).toEqual({ secret: SECRET, pin: "b".repeat(43) });
});
