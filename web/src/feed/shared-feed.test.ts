// @vitest-environment node
import { BroadcastChannel } from "node:worker_threads";

import type { FeedEvent } from "@mesh/proto";
import { afterEach, expect, test } from "vitest";

import { browserClock } from "../app/clock.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { until } from "../testing/until.ts";
import { SharedFeed } from "./shared-feed.ts";

const open: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** The browser's locks as far as they are used: one holder per name, the others wait. */
class Locks {
  readonly #queues = new Map<string, Promise<unknown>>();

  request(name: string, options: { signal?: AbortSignal }, work: () => Promise<void>): Promise<void> {
    const before = this.#queues.get(name) ?? Promise.resolve();
    const turn = before.then(() => (options.signal?.aborted === true ? undefined : work()));
    this.#queues.set(
      name,
      turn.catch(() => undefined),
    );
    return turn;
  }
}

async function meshWithTabs(count: number) {
  const mesh = new FakeMesh();
  const url = await mesh.listen();
  open.push(() => mesh.close());
  const locks = new Locks();
  const tabs = Array.from({ length: count }, () => {
    const channel = new BroadcastChannel(`feed-${url}`);
    const events: FeedEvent[] = [];
    const counts = { holes: 0 };
    const state = { isOnline: false };
    const feed = new SharedFeed(
      {
        clock: browserClock,
        fetch: (path, init) => fetch(new URL(path, url), init),
        locks: locks as unknown as LockManager,
        channel: channel as unknown as globalThis.BroadcastChannel,
      },
      {
        onEvent: (event) => events.push(event),
        onHole: () => (counts.holes += 1),
        onOnline: (isOnline) => (state.isOnline = isOnline),
        onUnauthenticated: () => undefined,
      },
      { workspace: "ws_1", cursor: 0 },
    );
    feed.open();
    open.push(
      () => channel.close(),
      () => feed.close(),
    );
    return { feed, events, counts, state };
  });
  return { mesh, tabs };
}

test("T1 of eight tabs one has the connection, and all get every event", async () => {
  const { mesh, tabs } = await meshWithTabs(8);
  await until("one leader", () => tabs.some(({ feed }) => feed.isLeader) && mesh.feeds === 1);
  for (let n = 1; n <= 20; n += 1) mesh.state.tell("task.changed", `task_${n}`, {});
  await until("all events in all tabs", () => tabs.every(({ events }) => events.length === 20));
  expect(mesh.feeds).toBe(1);
  expect(tabs.filter(({ feed }) => feed.isLeader)).toHaveLength(1);
  expect(tabs.map(({ counts }) => counts.holes)).toEqual(tabs.map(() => 0));
});

test("T1 when the leader closes, another tab goes on after its own last event", async () => {
  const { mesh, tabs } = await meshWithTabs(2);
  await until("one leader", () => mesh.feeds === 1);
  mesh.state.tell("task.changed", "task_1", {});
  await until("first event", () => tabs.every(({ events }) => events.length === 1));
  const leader = tabs.find(({ feed }) => feed.isLeader);
  const other = tabs.find((tab) => tab !== leader);
  leader?.feed.close();
  mesh.state.tell("task.changed", "task_2", {});
  await until("the other one leads", () => other?.feed.isLeader === true && other.events.length === 2);
  expect(other?.events.map(({ seq }) => seq)).toEqual([1, 2]);
});

test("T2 a hole in the numbers is told: something was missed", async () => {
  const { mesh, tabs } = await meshWithTabs(1);
  await until("one leader", () => mesh.feeds === 1);
  mesh.state.feed.push({ seq: 1, at: "", kind: "task.changed", object: "lost", data: undefined });
  mesh.state.tell("task.changed", "task_2", {});
  await until("the hole", () => tabs[0]?.counts.holes === 1);
  expect(tabs[0]?.events.map(({ seq }) => seq)).toEqual([2]);
});
