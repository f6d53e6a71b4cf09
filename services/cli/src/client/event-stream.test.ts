import { MeshError, systemClock, until } from "@mesh/kernel";
import { FakeClock } from "@mesh/kernel/testing";
import type { RunEvent } from "@mesh/proto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { StubGateway, type StubRun } from "../testing/stub-gateway.ts";
import { Client } from "./client.ts";
import { followRun, type FollowOptions } from "./event-stream.ts";

let gateway: StubGateway;

beforeEach(async () => {
  gateway = await new StubGateway().start();
});
afterEach(() => gateway.stop());

function run(count: number, state = "running"): StubRun {
  const stub = gateway.addRun({ id: "run_1", state, events: [] });
  gateway.emit(stub, ...Array.from({ length: count }, () => ({ kind: "log", data: {} })));
  return stub;
}

async function collect(options: Partial<FollowOptions> = {}): Promise<number[]> {
  const client = new Client(systemClock, { url: gateway.url, token: "t" });
  const seqs: number[] = [];
  const signal = new AbortController().signal;
  for await (const event of followRun(client, systemClock, "run_1", { signal, ...options })) seqs.push(event.seq);
  return seqs;
}

describe("following a run", () => {
  test("yields every event once and ends with the run", async () => {
    run(5, "succeeded");
    expect(await collect()).toEqual([1, 2, 3, 4, 5]);
  });

  test("starts after a cursor", async () => {
    run(5, "succeeded");
    expect(await collect({ afterSeq: 3 })).toEqual([4, 5]);
  });

  test("ends at once when the cursor is at the end of a finished run", async () => {
    run(5, "succeeded");
    expect(await collect({ afterSeq: 5 })).toEqual([]);
  });

  test("resumes from the last seq when the connection is cut again and again", async () => {
    gateway.cutAfter = 2;
    run(7, "succeeded");
    expect(await collect()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const cursors = gateway.requests("GET", "/v1/runs/run_1/events").map((request) => request.headers["last-event-id"]);
    expect(cursors).toEqual([undefined, "2", "4", "6"]);
  });

  test("does not repeat what the server repeats", async () => {
    const stub = run(0);
    stub.events.push(
      { seq: 1, kind: "log", data: {} },
      { seq: 1, kind: "log", data: {} },
      { seq: 2, kind: "log", data: {} },
    );
    stub.state = "succeeded";
    expect(await collect()).toEqual([1, 2]);
  });

  test("survives a restart of the coordinator", async () => {
    const stub = run(2);
    const states: boolean[] = [];
    const following = collect({ onConnection: (lost) => states.push(lost !== undefined) });
    await until(() => gateway.openStreams === 1);
    await gateway.stop();
    await until(() => states.length === 1);
    await gateway.start();
    gateway.emit(stub, { kind: "log", data: {} });
    gateway.finish(stub, "succeeded");
    expect(await following).toEqual([1, 2, 3, 4]);
    expect(states).toEqual([true, false]);
  });

  test("opens a silent connection again", async () => {
    const stub = run(1);
    const clock = new FakeClock();
    const client = new Client(clock, { url: gateway.url });
    const events: RunEvent[] = [];
    const following = (async () => {
      for await (const event of followRun(client, clock, "run_1", { signal: new AbortController().signal }))
        events.push(event);
    })();
    await until(() => events.length === 1);
    await clock.advance(45_000);
    await until(async () => {
      await clock.advance(100);
      return gateway.requests("GET", "/v1/runs/run_1/events").length === 2;
    });
    gateway.finish(stub, "succeeded");
    await following;
    expect(events.map((event) => event.seq)).toEqual([1, 2]);
  });

  test("throws at once what trying again cannot mend", async () => {
    await expect(collect()).rejects.toMatchObject({ code: "not_found" });
  });

  test("does not wait for a coordinator that was never there", async () => {
    await gateway.stop();
    const failure = await collect().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MeshError);
    expect((failure as MeshError).message).toBe(
      `no coordinator at ${gateway.url} — start one with \`yao up\`, or log in with \`yao login URL --token T\``,
    );
    await gateway.start();
  });
});
