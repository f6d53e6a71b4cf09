/** A coordinator with a certificate that nobody signed: devices know it by the pin in their token, and by nothing else. */

import { execFileSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { credentials } from "@grpc/grpc-js";
import { demoAppDirectory } from "@mesh/assistants";
import { type BusOptions, connectBus, inboxPrefix } from "@mesh/bus";
import { systemClock } from "@mesh/kernel";
import { joinNode } from "@mesh/node-agent";
import { silentLogger } from "@mesh/observability";
import { RunServiceService } from "@mesh/proto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { TestMesh } from "../harness/test-mesh.ts";
import { callGrpc } from "./grpc-call.ts";
import { trustingFetch } from "./trusting-fetch.ts";

let dir: string;
let mesh: TestMesh;
let pin: string;
const file = (name: string): string => join(dir, name);
const read = (name: string): string => readFileSync(file(name), "utf8");

/** A certificate of the key in `key.pem`, signed by itself. */
function writeCertificate(name: string): void {
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-days", "2"];
  const key = ["-key", file("key.pem"), "-out", file("cert.pem")];
  execFileSync("openssl", ["req", "-x509", "-new", ...key, ...subject], { stdio: "ignore" });
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-tls-"));
  execFileSync(
    "openssl",
    ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", file("key.pem")],
    {
      stdio: "ignore",
    },
  );
  writeCertificate("first");
  const spki = new X509Certificate(read("cert.pem")).publicKey.export({ type: "spki", format: "der" });
  pin = createHash("sha256").update(spki).digest("base64url");
  mesh = await TestMesh.start({
    env: { YAO_TLS_CERT: file("cert.pem"), YAO_TLS_KEY: file("key.pem") },
    // Trusts whatever certificate stands there now: it is renewed below.
    fetch: (input, init) => trustingFetch(read("cert.pem"))(input, init),
    nodes: [{ name: "alpha" }],
  });
  await mesh.pushApp("demo", demoAppDirectory);
});

afterAll(async () => {
  await mesh?.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** A fresh token without its pin. */
async function newSecret(): Promise<string> {
  const { token } = await mesh.api.call<{ token: string }>("POST", "/v1/node-tokens", {});
  return token.split(".")[0] ?? "";
}

interface Attempt {
  readonly dataDir: string;
  readonly outcome: Promise<unknown>;
}

function attemptJoin(token: string, url = mesh.api.url): Attempt {
  const dataDir = mkdtempSync(join(dir, "device-"));
  return { dataDir, outcome: joinNode({ url, token, name: "beta", labels: {}, dataDir, log: silentLogger }) };
}

test("the token carries the pin of the certificate's key, and the command the https address", async () => {
  const answer = await mesh.api.call<{ token: string; command: string }>("POST", "/v1/node-tokens", {});
  expect(mesh.api.url).toMatch(/^https:/);
  expect(answer.token.split(".")[1]).toBe(pin);
  expect(answer.command).toBe(`yao node join ${mesh.api.url} --token ${answer.token}`);
});

test("a device that joined by that one address runs assistants, with NATS through the encrypted tunnel", async () => {
  const record = JSON.parse(readFileSync(join(mesh.node("alpha").dataDir, "node.json"), "utf8")) as Record<
    string,
    unknown
  >;
  expect(record).toMatchObject({ url: mesh.api.url, pin, nats_urls: [], nats_path: "/nats" });
  const run = await mesh.createRun({ assistant: "hello", input: "/echo over TLS" });
  const events = await mesh.api.follow(run.id);
  expect(events.at(-1)).toMatchObject({ kind: "run.finished", data: { output: "over TLS" } });
  const metrics = await (await trustingFetch(read("cert.pem"))(`${mesh.api.url}/metrics`)).text();
  expect(Number(/^yao_nats_tunnels (\d+)/m.exec(metrics)?.[1])).toBeGreaterThan(0);
});

test("gRPC speaks TLS with the same certificate, and nothing else", async () => {
  const run = await mesh.createRun({ assistant: "hello", input: "hi" });
  await mesh.ended(run.id);
  const method = { service: RunServiceService, method: "getRun" };
  const target = { address: mesh.grpcAddress, token: mesh.api.token };
  const secure = credentials.createSsl(Buffer.from(read("cert.pem")));
  expect(await callGrpc({ ...target, credentials: secure }, method, { run: run.id })).toMatchObject({
    run: { id: run.id, state: "succeeded" },
  });
  await expect(callGrpc(target, method, { run: run.id })).rejects.toMatchObject({ code: 14 });
});

describe("a join", () => {
  test("with a wrong pin is refused before the token is sent: it still works afterwards, with the right one", async () => {
    const secret = await newSecret();
    const wrong = createHash("sha256").update("another key").digest("base64url");
    const { dataDir, outcome } = attemptJoin(`${secret}.${wrong}`);
    await expect(outcome).rejects.toMatchObject({
      code: "unauthenticated",
      message: expect.stringMatching(
        /showed another certificate than the token names; nothing was sent.*yao node token create/,
      ) as string,
    });
    expect(existsSync(join(dataDir, "node.json"))).toBe(false);
    const { nodes } = await mesh.api.call<{ nodes: { name: string }[] }>("GET", "/v1/nodes");
    expect(nodes.map(({ name }) => name)).toEqual(["alpha"]);
    await expect(attemptJoin(`${secret}.${pin}`).outcome).resolves.toMatchObject({ name: "beta" });
  });

  test("without a pin is refused, since nobody signed the certificate", async () => {
    await expect(attemptJoin(await newSecret()).outcome).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("certificate is not trusted; use a token made by this coordinator") as string,
    });
  });

  test("with a pin over plain HTTP is refused before anything is sent", async () => {
    const plain = mesh.api.url.replace("https:", "http:");
    await expect(attemptJoin(`${await newSecret()}.${pin}`, plain).outcome).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringContaining("https://") as string,
    });
  });
});

test("the NATS tunnel is refused by a device that sees another key than its pin", async () => {
  const { dataDir } = mesh.node("alpha");
  const { jwt, digest } = JSON.parse(readFileSync(join(dataDir, "node.json"), "utf8")) as {
    jwt: string;
    digest: string;
  };
  const options = (spkiPin: string): BusOptions => ({
    servers: [`${mesh.api.url.replace("https:", "wss:")}/nats`],
    credentials: { jwt: () => jwt, seed: Buffer.from(readFileSync(join(dataDir, "node.nkey"), "utf8").trim()) },
    name: "probe",
    inboxPrefix: inboxPrefix(digest),
    tls: { spkiPin },
    clock: systemClock,
    firstConnectMs: 3_000,
  });
  await expect(connectBus(options(createHash("sha256").update("x").digest("base64url")))).rejects.toMatchObject({
    code: "unavailable",
  });
  const bus = await connectBus(options(pin));
  expect(bus.status.kind).toBe("connected");
  await bus.close();
});

test("a renewed certificate of the same key needs nothing from the devices", async () => {
  await mesh.coordinators[0]?.stop();
  const before = read("cert.pem");
  writeCertificate("second");
  expect(read("cert.pem")).not.toBe(before);
  await mesh.restartCoordinator();
  const run = await mesh.createRun({ assistant: "hello", input: "/echo renewed", node: "alpha" });
  expect(await mesh.ended(run.id, 30_000)).toMatchObject({ state: "succeeded", output: "renewed" });
});
