// @vitest-environment node
import type { FeedEvent } from "@mesh/proto";
import fc from "fast-check";
import { afterEach, expect, test } from "vitest";

import { browserClock } from "../app/clock.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { until } from "../testing/until.ts";
import { FeedStream, type FeedStreamDeps, readFeedEvent } from "./feed-stream.ts";

const open: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** A clock whose waits between tries take no time: what is tested is the order, not the pace. */
const quick = { ...browserClock, after: (ms: number, work: () => void) => browserClock.after(Math.min(ms, 5), work) };

async function follow(clock: FeedStreamDeps["clock"], cursor = 0) {
  const mesh = new FakeMesh();
  const url = await mesh.listen();
  const events: FeedEvent[] = [];
  const online: boolean[] = [];
  const counts = { unauthenticated: 0 };
  const stream = new FeedStream(
    {
      clock,
      fetch: (path, init) => fetch(new URL(path, url), init),
      onEvent: (event) => events.push(event),
      onOnline: (isOnline) => online.push(isOnline),
      onAlive: () => undefined,
      onUnauthenticated: () => (counts.unauthenticated += 1),
    },
    "ws_1",
    cursor,
  );
  const done = stream.run();
  open.push(
    () => mesh.close(),
    () => stream.stop(),
  );
  return { mesh, events, online, stream, done, counts };
}

test("F1 a stream that is cut at random points hands out every event once, in order", async () => {
  // Waits are short, but the watch over a silent server must not be: only the pauses are quickened.
  const clock = {
    ...browserClock,
    after: (ms: number, work: () => void) => (ms > 9_000 ? browserClock.after(ms, work) : quick.after(ms, work)),
  };
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 25 }), async (cuts) => {
      const { mesh, events, stream, done } = await follow(clock);
      await until("the feed is open", () => mesh.feeds === 1);
      for (const [index, isCut] of cuts.entries()) {
        mesh.state.tell("task.changed", `task_${index}`, { id: `task_${index}` });
        if (isCut) mesh.cut();
      }
      await until("all events", () => events.length >= cuts.length);
      expect(events.map(({ seq }) => seq)).toEqual(cuts.map((_, index) => index + 1));
      stream.stop();
      await done;
    }),
    { numRuns: 15 },
  );
}, 60_000);

test("F1 a cursor resumes after what was seen", async () => {
  const { mesh, events } = await follow(browserClock, 2);
  for (let n = 1; n <= 4; n += 1) mesh.state.tell("task.changed", `task_${n}`, {});
  await until("the rest", () => events.length === 2);
  expect(events.map(({ seq }) => seq)).toEqual([3, 4]);
});

test("F2 a server that is silent for 40 s is given up, and the next try resumes", async () => {
  const clock = new ManualClock();
  const { mesh, events, online } = await follow(clock);
  await until("it is online", () => online.at(-1) === true);
  clock.advance(41_000);
  await until("it is offline", () => online.at(-1) === false);
  mesh.state.tell("task.changed", "task_1", {});
  await until("it waits for the next try", () => clock.waiting === 1);
  clock.advance(1_000);
  await until("what was missed", () => events.length === 1);
});

test("F3 waking tries at once instead of waiting", async () => {
  const clock = new ManualClock();
  const { mesh, online, stream } = await follow(clock);
  await until("it is online", () => online.at(-1) === true);
  mesh.cut();
  await until("it waits", () => online.at(-1) === false && clock.waiting === 1);
  stream.wake();
  await until("it is online again", () => online.at(-1) === true);
});

test("an expired session ends the stream and says so, once", async () => {
  const { mesh, online, done, counts, stream } = await follow(quick);
  await until("it is online", () => online.at(-1) === true);
  mesh.state.isLoggedIn = false;
  mesh.cut();
  await done;
  expect(counts.unauthenticated).toBe(1);
  stream.stop();
});

test("what is not a feed event is left alone", () => {
  expect(readFeedEvent({ id: "1", event: "", data: "no json" })).toBeUndefined();
  expect(readFeedEvent({ id: "1", event: "", data: '{"kind":"x"}' })).toBeUndefined();
  expect(readFeedEvent({ id: "1", event: "task.changed", data: '{"seq":1,"object":"t"}' })).toMatchObject({
    seq: 1,
    kind: "task.changed",
  });
});
