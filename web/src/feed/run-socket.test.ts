// @vitest-environment node
import type { RunEvent } from "@mesh/proto";
import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";

import { browserClock, type Clock } from "../app/clock.ts";
import { FakeMesh } from "../testing/fake-mesh.ts";
import { until } from "../testing/until.ts";
import { RunSocket } from "./run-socket.ts";

const open: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

const quick: Clock = { ...browserClock, after: (ms, work) => browserClock.after(Math.min(ms, 20), work) };
const quickPauses: Clock = { ...browserClock, after: (ms, work) => browserClock.after(ms >= 10_000 ? ms : 5, work) };

async function start(clock: Clock) {
  const mesh = new FakeMesh();
  const url = await mesh.listen();
  open.push(() => mesh.close());
  mesh.state.addTask();
  const run = mesh.state.startRun("T-1");
  const socket = new RunSocket({
    clock,
    fetch: (path, init) => fetch(new URL(path, url), init),
    connect: (path) => new WebSocket(new URL(path, url.replace("http", "ws"))) as unknown as globalThis.WebSocket,
  });
  const events: RunEvent[] = [];
  const counts = { ends: 0 };
  const errors: string[] = [];
  const follow = (id: string = run.id) => {
    const stop = socket.follow(id, 0, {
      onEvent: (event) => events.push(event),
      onEnd: () => (counts.ends += 1),
      onError: (message) => errors.push(message),
    });
    open.push(stop);
    return stop;
  };
  return { mesh, run, follow, events, counts, errors };
}

test("R1 a run is followed over breaks without a gap or a duplicate, until its end", async () => {
  const { mesh, run, follow, events, counts } = await start(quickPauses);
  for (let n = 0; n < 5; n += 1) mesh.state.emit(run.id, "log", { n });
  follow();
  for (let round = 0; round < 4; round += 1) {
    await until(`round ${round}`, () => events.length === mesh.state.eventsOf(run.id).length);
    mesh.cut();
    for (let n = 0; n < 5; n += 1) mesh.state.emit(run.id, "log", { round, n });
  }
  mesh.state.emit(run.id, "run.finished", { state: "succeeded" });
  await until("the end", () => counts.ends === 1);
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 26 }, (_, index) => index + 1));
});

test("R2 a proxy that takes the upgrade and never answers it: the run is followed by server-sent events", async () => {
  const { mesh, run, follow, events, counts } = await start(quick);
  mesh.hangsUpgrades = true;
  mesh.state.emit(run.id, "log", { n: 1 });
  mesh.state.emit(run.id, "run.finished", { state: "succeeded" });
  follow();
  await until("the end", () => counts.ends === 1);
  expect(events.map(({ seq }) => seq)).toEqual([1, 2]);
  expect(mesh.seen.some(({ path }) => path.includes("/events"))).toBe(true);
});
