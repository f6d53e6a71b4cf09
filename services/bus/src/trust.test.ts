import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { FakeClock } from "@mesh/kernel/testing";
import { decode, type User } from "@nats-io/jwt";
import { afterEach, beforeEach, expect, test } from "vitest";

import { createUserKey, isUserNkey, signWithSeed, verifyNkey } from "./nkey.ts";
import { withRevoked } from "./revocation.ts";
import { writeServerConfig } from "./server-config.ts";
import { nodeDigest } from "./subjects.ts";
import { createTrust, loadTrust, MAX_NODE_JWT_MS } from "./trust.ts";

const clock = new FakeClock();
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "yao-trust-"));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

test("T1: a trust is made once, readable by its owner only, and found again", () => {
  const made = createTrust(dir, clock);
  expect(createTrust(dir, clock).meshAccount).toBe(made.meshAccount);
  expect(loadTrust(dir, clock).meshAccount).toBe(made.meshAccount);
  expect(readdirSync(dir)).toEqual(["trust.json"]);
  expect(statSync(join(dir, "trust.json")).mode & 0o777).toBe(0o600);
});

test("T1: what a killed maker left behind is not taken for a trust", () => {
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, `trust.json.${process.pid}`), '{"operator":"SO');
  const trust = createTrust(dir, clock);
  expect(loadTrust(dir, clock).meshAccount).toBe(trust.meshAccount);
});

test("a missing or damaged trust says what to do", () => {
  expect(() => loadTrust(dir, clock)).toThrow(/copy the trust directory/);
  writeFileSync(join(dir, "trust.json"), '{"operator":"SOABC"}');
  expect(() => loadTrust(dir, clock)).toThrow(/damaged; restore it from a backup/);
  expect(() => createTrust(dir, clock)).toThrow(/damaged/);
});

test("T3: a node's JWT allows its own subjects and nothing wider", async () => {
  const { nkey } = createUserKey();
  const digest = nodeDigest(nkey);
  const { jwt, expiresAt } = await createTrust(dir, clock).issueNode({ nkey, digest, ttlMs: 3_600_000 });
  const claims = decode<User>(jwt);
  expect(claims.sub).toBe(nkey);
  expect(claims.exp).toBe(expiresAt / 1000);
  expect(expiresAt).toBe(clock.now() + 3_600_000);
  const allowed = [...(claims.nats.pub?.allow ?? []), ...(claims.nats.sub?.allow ?? [])];
  expect(allowed).toHaveLength(6);
  expect(allowed.every((subject) => subject.includes(digest))).toBe(true);
  expect(claims.nats.resp).toEqual({ max: 1, ttl: 30_000_000_000 });
  expect(claims.nats.allowed_connection_types).toEqual(["STANDARD", "WEBSOCKET"]);
});

test("a JWT is refused for a key that is none, and for another key's digest; its life is bounded", async () => {
  const trust = createTrust(dir, clock);
  const { nkey } = createUserKey();
  const digest = nodeDigest(nkey);
  await expect(trust.issueNode({ nkey: "Unonsense", digest, ttlMs: 1_000 })).rejects.toThrow(/public nkey/);
  await expect(trust.issueNode({ nkey: createUserKey().nkey, digest, ttlMs: 1_000 })).rejects.toThrow(
    /does not belong/,
  );
  const { expiresAt } = await trust.issueNode({ nkey, digest, ttlMs: Number.MAX_SAFE_INTEGER });
  expect(expiresAt).toBe(clock.now() + MAX_NODE_JWT_MS);
});

test("T2: a server's configuration holds no seed", async () => {
  const trust = createTrust(join(dir, "trust"), clock);
  const options = { dir: join(dir, "nats"), storeDir: join(dir, "store"), port: 4222, websocketPort: 0 };
  const text = readFileSync(await writeServerConfig(trust, options), "utf8");
  const seeds = Object.values(JSON.parse(readFileSync(join(dir, "trust", "trust.json"), "utf8")) as object).map(String);
  expect(seeds).toHaveLength(4);
  expect(seeds.some((seed) => text.includes(seed))).toBe(false);
  expect(text).toContain('listen: "127.0.0.1:4222"');
  expect(text).toContain('websocket { listen: "127.0.0.1:-1", no_tls: true }');
});

test("revocations keep what may still matter and forget what has expired anyway", () => {
  const now = clock.now();
  const first = withRevoked({}, "UA", now - MAX_NODE_JWT_MS - 60_000);
  const second = withRevoked(first, "UB", now - 1_000);
  expect(Object.keys(withRevoked(second, "UC", now))).toEqual(["UB", "UC"]);
});

test("a signature verifies with the key that made it and no other", () => {
  const key = createUserKey();
  const data = new TextEncoder().encode("renew");
  const signature = signWithSeed(key.seed, data);
  expect(isUserNkey(key.nkey)).toBe(true);
  expect(verifyNkey(key.nkey, data, signature)).toBe(true);
  expect(verifyNkey(createUserKey().nkey, data, signature)).toBe(false);
  expect(verifyNkey(key.nkey, new TextEncoder().encode("other"), signature)).toBe(false);
  expect(verifyNkey("U", data, signature)).toBe(false);
  expect(verifyNkey(key.nkey, data, new Uint8Array(3))).toBe(false);
});
