import { systemClock, until } from "@mesh/kernel";
import { startStopStress } from "@mesh/kernel/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { LeaderElector } from "./leader-elector.ts";
import type { StoreLog } from "./log.ts";
import { openStore, type Store } from "./store.ts";
import { type TestDatabase, testDatabase } from "./testing/index.ts";

const silent: StoreLog = { debug() {}, info() {}, warn() {}, error() {} };
let database: TestDatabase;
let store: Store;
const running: Candidate[] = [];

interface Candidate {
  readonly elector: LeaderElector;
  readonly changes: boolean[];
  stop(): Promise<void>;
}

function candidate(name: string): Candidate {
  const changes: boolean[] = [];
  const stop = new AbortController();
  const elector = new LeaderElector(
    { url: database.url, clock: systemClock, log: silent },
    { name, everyMs: 20, onChange: (isLeader) => changes.push(isLeader) },
  );
  const ended = elector.run(stop.signal);
  const made: Candidate = {
    elector,
    changes,
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
  running.push(made);
  return made;
}

async function cutSessionsOf(name: string): Promise<number> {
  const cut = await store.sql`
    SELECT pg_terminate_backend(activity.pid) FROM pg_stat_activity AS activity
    JOIN pg_locks AS lock ON lock.pid = activity.pid AND lock.locktype = 'advisory' AND lock.granted
    WHERE application_name = ${`yao ${name} election`}`;
  return cut.length;
}

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, maxConnections: 2 });
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()));
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

test("L1: of two electors one leads; the other follows when it stops", async () => {
  const first = candidate("pair");
  await until(() => first.elector.isLeader);
  const second = candidate("pair");
  await until(async () => (await sessions("pair")) === 2);
  expect(second.elector.isLeader).toBe(false);
  await first.stop();
  expect(first.elector.isLeader).toBe(false);
  await until(() => second.elector.isLeader);
  expect(first.changes).toEqual([true, false]);
  expect(second.changes).toEqual([true]);
});

test("L1: electors of different names do not compete", async () => {
  const one = candidate("sweeper");
  const other = candidate("relay");
  await until(() => one.elector.isLeader && other.elector.isLeader);
});

test("L1: through many cut connections the lock has one holder at most, and there is one leader again", async () => {
  const candidates = [candidate("many"), candidate("many"), candidate("many")];
  const leaders = (): number => candidates.filter((each) => each.elector.isLeader).length;
  const terms = (): number => candidates.reduce((sum, each) => sum + each.changes.filter(Boolean).length, 0);
  for (let round = 1; round <= 8; round += 1) {
    await until(() => terms() === round && leaders() === 1);
    // Exactly one: cutting is by lock, so a second holder would be cut too.
    expect(await cutSessionsOf("many")).toBe(1);
  }
});

test("L2: a leader steps down when its connection is cut, then leads again on a new one", async () => {
  const only = candidate("alone");
  await until(() => only.elector.isLeader);
  expect(await cutSessionsOf("alone")).toBe(1);
  await until(() => only.changes.length === 3);
  expect(only.changes).toEqual([true, false, true]);
  expect(only.elector.isLeader).toBe(true);
});

test("an elector without a database keeps trying and can be stopped", async () => {
  const warnings: object[] = [];
  const stop = new AbortController();
  const elector = new LeaderElector({
    url: "postgres://yao:x@127.0.0.1:1/yao",
    clock: systemClock,
    log: { ...silent, warn: (fields) => warnings.push(fields) },
  });
  const ended = elector.run(stop.signal);
  await until(() => warnings.length >= 2);
  expect(elector.isLeader).toBe(false);
  stop.abort();
  await ended;
});

test("starting and stopping at any moment ends cleanly and leaves no session", async () => {
  await startStopStress(
    () => new LeaderElector({ url: database.url, clock: systemClock, log: silent }, { name: "stress", everyMs: 2 }),
  );
  await until(async () => (await sessions("stress")) === 0);
});

async function sessions(name: string): Promise<number> {
  const rows = await store.sql`SELECT 1 FROM pg_stat_activity WHERE application_name = ${`yao ${name} election`}`;
  return rows.length;
}
