import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { rfc3339, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import { afterEach, beforeEach, expect, test } from "vitest";

import { type NodeRecord, readNodeFile } from "../join/node-file.ts";
import { loadOrCreateKey } from "../join/node-key.ts";
import { silentLog } from "../log.ts";
import { CredentialKeeper, NodeRemovedError } from "./credential-keeper.ts";

const DAY_MS = 24 * 3_600_000;
let dir: string;
let server: Server;
let clock: FakeClock;
let answers: { status: number; body: unknown }[];
let asked: number;
let renewed: string[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "yao-keeper-"));
  clock = new FakeClock();
  answers = [];
  asked = 0;
  renewed = [];
  server = createServer((_, response) => {
    asked += 1;
    const fresh = { jwt: `jwt-${asked}`, expires_at: rfc3339(clock.now() + DAY_MS), nats_urls: [], nats_path: "/nats" };
    const { status, body } = answers.shift() ?? { status: 200, body: { credentials: fresh } };
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(dir, { recursive: true, force: true });
});

function keeper(): CredentialKeeper {
  const record: NodeRecord = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    node_id: "node_1",
    name: "n",
    digest: "d".repeat(20),
    jwt: "jwt-0",
    issued_at: rfc3339(clock.now()),
    expires_at: rfc3339(clock.now() + DAY_MS),
    nats_urls: [],
    nats_path: "/nats",
    slots: 0,
  };
  const onRenewed = (next: NodeRecord): void => void renewed.push(next.jwt);
  return new CredentialKeeper(record, {
    dataDir: dir,
    key: loadOrCreateKey(dir),
    clock,
    log: silentLog,
    renewed: onRenewed,
  });
}

test("R1 credentials are renewed at half their life, again and again, and stored", async () => {
  const stop = new AbortController();
  const running = keeper().run(stop.signal);
  await clock.advance(DAY_MS / 2 - 60_000);
  expect(asked).toBe(0);
  for (let round = 1; round <= 3; round += 1) {
    await clock.advance(DAY_MS / 2 + 60_000);
    await until(() => renewed.length === round, { what: `renewal ${round}` });
  }
  expect(readNodeFile(dir)?.jwt).toBe("jwt-3");
  stop.abort();
  await running;
});

test("R1 a refused JWT is renewed at once, a refusal of an older one is old news", async () => {
  const stop = new AbortController();
  const subject = keeper();
  const running = subject.run(stop.signal);
  subject.refused("jwt-0");
  await until(() => renewed.length === 1, { what: "the renewal" });
  subject.refused("jwt-0");
  await clock.advance(120_000);
  expect(asked).toBe(1);
  stop.abort();
  await running;
});

test("R2 an unreachable or failing coordinator is asked again; a removed device ends", async () => {
  answers = [
    { status: 503, body: {} },
    { status: 401, body: { detail: "clock", code: "unauthenticated" } },
    { status: 403, body: { detail: "this device was removed", code: "permission_denied" } },
  ];
  const subject = keeper();
  const running = subject.run(new AbortController().signal);
  const ended = expect(running).rejects.toBeInstanceOf(NodeRemovedError);
  subject.refused("jwt-0");
  await until(async () => {
    await clock.advance(5_000);
    return asked === 3;
  });
  await ended;
});
