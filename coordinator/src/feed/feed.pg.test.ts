import { until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import type { FeedEvent } from "@mesh/proto";
import { afterEach, beforeEach, expect, test } from "vitest";

import { refusal } from "../auth/testing/tenant.ts";
import { type BoardFixture, startBoard } from "../board/testing/board-fixture.ts";
import { touchFeed } from "./feed-object.ts";
import { dropOldFeed, feedBounds } from "./feed-store.ts";
import { recordNodeChanges } from "./node-feed.ts";

let board: BoardFixture;
let workspace: string;

beforeEach(async () => {
  board = await startBoard();
  workspace = board.fleet.defaultWorkspaceId;
});

afterEach(async () => {
  await board[Symbol.asyncDispose]();
});

const sql = (): BoardFixture["fleet"]["tenant"]["store"]["sql"] => board.fleet.tenant.store.sql;
const page = async (after = 0, call = board.admin): Promise<readonly FeedEvent[]> =>
  (await board.feed.listFeed({ workspace, after_seq: after, limit: 1000 }, call)).events;

test("F1, F3: changes are numbered densely and several of one object are one event with its newest data", async () => {
  const task = await board.create({ title: "a" });
  await board.tasks.updateTask({ task: task.id, revision: 0, title: "b" } as never, board.admin);
  await board.number();
  await board.create({ title: "c" });
  await board.number();
  const events = await page();
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1));
  expect(events.filter(({ object }) => object === task.id)).toMatchObject([
    { kind: "task.changed", data: { title: "b", revision: 2 } },
  ]);
});

test("F4: writers at once number every change once, and what was rolled back leaves nothing", async () => {
  await sql()
    .begin(async (tx) => {
      await touchFeed(tx, workspace, "thing", "never");
      throw new Error("rolled back");
    })
    .catch(() => undefined);
  const objects = Array.from({ length: 1200 }, (_, i) => `thing_${i}`);
  const writers = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (let i = 0; i < 20; i += 1) await board.writer.number();
    }),
  );
  for (let i = 0; i < objects.length; i += 100)
    await touchFeed(sql(), workspace, "thing", ...objects.slice(i, i + 100));
  await writers;
  await board.number();
  const events = [...(await page()), ...(await page(1000))].filter(({ kind }) => kind === "thing.changed");
  expect(events.map(({ object }) => object).toSorted()).toEqual(objects.toSorted());
  const all = [...(await page()), ...(await page(1000))];
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, i) => i + 1));
});

test("a cursor that is too old, or that the feed has not reached, gets one reset and goes on from now", async () => {
  for (let i = 0; i < 5; i += 1) {
    await touchFeed(sql(), workspace, "thing", `t${i}`);
    await board.number();
  }
  await dropOldFeed(sql(), 86_400_000, 2, 100);
  const bounds = await feedBounds(sql(), workspace);
  const last = bounds?.lastSeq ?? 0;
  expect(bounds?.firstSeq).toBe(last - 1);
  expect(await page(last - 2)).toHaveLength(2);
  for (const cursor of [0, last - 3, last + 10]) {
    const now = (await feedBounds(sql(), workspace))?.lastSeq;
    expect(await page(cursor)).toMatchObject([{ kind: "reset", seq: now, object: workspace }]);
    const stop = new AbortController();
    const stream = board.feed.followFeed({ workspace, after_seq: cursor }, { ...board.admin, signal: stop.signal });
    const seen: string[] = [];
    for await (const { event } of stream) {
      seen.push(`${event?.kind} ${event?.seq}`);
      if (seen.length === 2) break;
      await touchFeed(sql(), workspace, "later", `after ${cursor}`);
      await board.number();
    }
    stop.abort();
    expect(seen).toEqual([`reset ${now}`, `later.changed ${(now ?? 0) + 1}`]);
  }
});

test("events older than is kept go in bounded steps", async () => {
  await touchFeed(sql(), workspace, "thing", ...Array.from({ length: 50 }, (_, i) => `t${i}`));
  await board.number();
  await sql()`UPDATE feed_events SET at = now() - interval '8 days' WHERE seq <= 30`;
  const week = 7 * 86_400_000;
  const dropped: number[] = [];
  for (let i = 0; i < 5; i += 1) dropped.push(await dropOldFeed(sql(), week, 100_000, 12));
  expect(dropped.reduce((sum, n) => sum + n, 0)).toBe(30);
  expect(Math.max(...dropped)).toBeLessThanOrEqual(13);
  expect((await feedBounds(sql(), workspace))?.firstSeq).toBe(31);
});

test("devices enter the feeds of the workspaces they serve, when they change and when they leave", async () => {
  const device = board.fleet.device();
  const { node_id: id } = await board.fleet.join(device, await board.fleet.token());
  expect(await recordNodeChanges(sql())).toBe(1);
  expect(await recordNodeChanges(sql())).toBe(0);
  await board.number();
  expect((await page()).findLast(({ object }) => object === id)).toMatchObject({
    kind: "node.changed",
    data: { status: "offline" },
  });
  await sql()`UPDATE nodes SET draining = true WHERE id = ${id}`;
  expect(await recordNodeChanges(sql())).toBe(1);
  await sql()`UPDATE nodes SET workspace_ids = ARRAY['ws_other'] WHERE id = ${id}`;
  await recordNodeChanges(sql());
  await board.number();
  expect((await page()).findLast(({ object }) => object === id)?.kind).toBe("node.removed");
});

test("another workspace's feed is not found, and a membership that is lost ends the stream within 15 s", async () => {
  const clock = new FakeClock();
  await using other = await startBoard({ clock });
  const { tenant, defaultWorkspaceId: id } = other.fleet;
  const stranger = tenant.as(await tenant.user("bob", ["read"]));
  const listed = other.feed.listFeed({ workspace: id, after_seq: 0, limit: 0 }, stranger);
  expect((await refusal(listed)).code).toBe("not_found");
  const member = tenant.as(await tenant.user("mia", ["read"], { workspace: "default", role: "member" }));
  await other.create();
  await other.number();
  let seen = 0;
  const drain = async (): Promise<void> => {
    for await (const _ of other.feed.followFeed({ workspace: id, after_seq: 0 }, member)) seen += 1;
  };
  const following = refusal(drain());
  await until(() => seen > 0);
  await tenant.workspaces.removeMember({ workspace: "default", user: "mia" }, tenant.as(tenant.admin));
  let ended: Awaited<typeof following> | undefined;
  void following.then((end) => (ended = end));
  await until(async () => {
    await clock.advance(2_000);
    return ended !== undefined;
  });
  expect(ended?.code).toBe("not_found");
});

test("a person's inbox enters the feed as whose it is and how much is unread, without what is in it", async () => {
  const task = await board.create({ start: true });
  await board.ask(task.run_id ?? "", "c1", "Secret?");
  await board.keep();
  await board.number();
  const event = (await page()).findLast(({ kind }) => kind === "inbox.changed");
  expect(event?.data).toEqual({ user: "admin", unread: 1 });
});

test("a follower is woken by a hint, and finds what came without one", async () => {
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { event } of board.feed.followFeed(
      { workspace, after_seq: 0 },
      { ...board.admin, signal: stop.signal },
    )) {
      seen.push(event?.seq ?? 0);
    }
  })();
  await touchFeed(sql(), workspace, "thing", "a");
  await board.number();
  await until(() => seen.length > 0);
  stop.abort();
  await following;
});
