import type { FeedEvent, Task } from "@mesh/proto";
import { QueryClient } from "@tanstack/react-query";
import { expect, test } from "vitest";

import { FakeState } from "../testing/fake-state.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { FeedApplier, isNewer } from "./apply.ts";

const state = new FakeState();
const task = state.addTask({ title: "First" });
const event = (kind: string, object: string, data: Readonly<Record<string, unknown>> | undefined): FeedEvent => ({
  seq: 1,
  at: "",
  kind,
  object,
  data,
});

function applier() {
  const client = new QueryClient();
  const clock = new ManualClock();
  return { client, clock, applier: new FeedApplier(client, clock) };
}

test("P1 a newer object takes the place of the older, whatever it is cached under; an older one does not", () => {
  const { client, applier: feed } = applier();
  client.setQueryData(["task", "T-1"], { task, feed_seq: 0 });
  client.setQueryData(["task", task.id], { task, feed_seq: 0 });
  feed.apply(event("task.changed", task.id, { ...task, title: "Second", revision: 2 }));
  feed.apply(event("task.changed", task.id, { ...task, title: "Late", revision: 1 }));
  const titles = ["T-1", task.id].map((id) => client.getQueryData<{ task: Task }>(["task", id])?.task.title);
  expect(titles).toEqual(["Second", "Second"]);
});

test("P1 objects in lists are patched in place, and a list that lacks one is loaded again", () => {
  const { client, clock, applier: feed } = applier();
  client.setQueryData(["nodes", "ws_1"], { nodes: [{ id: "node_1", name: "old" }] });
  feed.apply(event("node.changed", "node_1", { id: "node_1", name: "new" }));
  expect(client.getQueryData(["nodes", "ws_1"])).toEqual({ nodes: [{ id: "node_1", name: "new" }] });
  clock.advance(1_000);
  expect(client.getQueryState(["nodes", "ws_1"])?.isInvalidated).toBe(false);
  feed.apply(event("node.changed", "node_2", { id: "node_2" }));
  clock.advance(1_000);
  expect(client.getQueryState(["nodes", "ws_1"])?.isInvalidated).toBe(true);
});

test("P2 a storm of events loads again at most twice a second", () => {
  const { clock, applier: feed } = applier();
  for (let n = 0; n < 1_000; n += 1) feed.apply(event("inbox.changed", `inb_${n}`, undefined));
  expect(clock.waiting).toBe(1);
});

test("what is newer: by revision, else by time", () => {
  expect(isNewer({ revision: 3 }, { revision: 2 })).toBe(true);
  expect(isNewer({ revision: 1 }, { revision: 2 })).toBe(false);
  const [early, late] = [{ updated_at: "2026-01-01T00:00:00Z" }, { updated_at: "2026-01-02T00:00:00Z" }];
  expect([isNewer(late, early), isNewer(early, late), isNewer({}, {})]).toEqual([true, false, true]);
});

test("P1 of the same revision the one that comes later counts, whatever its clock says: runs change no revision", () => {
  const shown = { ...task, run_state: "running", revision: 2, updated_at: "2026-01-02T00:00:00Z" };
  const { client, applier: feed } = applier();
  client.setQueryData(["task", task.id], { task: shown, feed_seq: 0 });
  feed.apply(event("task.changed", task.id, { ...shown, run_state: "succeeded", updated_at: "2026-01-01T00:00:00Z" }));
  expect(client.getQueryData<{ task: Task }>(["task", task.id])?.task.run_state).toBe("succeeded");
});
